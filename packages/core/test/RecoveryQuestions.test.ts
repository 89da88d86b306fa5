/** Proves that an answer to an agent's question is never asked for again once it was acknowledged. */
import { describe, expect, it } from "@effect/vitest"
import { unanswered } from "@skein/core/Control"
import { Question } from "@skein/core/Question"
import { Session } from "@skein/core/Session"
import { SessionStorage } from "@skein/core/SessionStorage"
import { define } from "@skein/core/Tool"
import type { SessionID } from "@skein/domain/Id"
import { record } from "@skein/testing/RecordedEvents"
import * as Scripted from "@skein/testing/ScriptedProvider"
import type * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import { touch } from "./support/asking.ts"
import { generations, go, resumed } from "./support/generations.ts"
import { callsMade, expectStill, resultOf } from "./support/tree.ts"

/** A tool that asks two questions, one after the other. */
const makeWonder = () => {
  let questions: typeof Question.Service | undefined
  const wonder = define<{ readonly n: number }>({
    name: "wonder",
    describe: () => Effect.succeed("Asks"),
    title: () => "Wonders",
    parameters: Schema.Struct({ n: Schema.Number }),
    authorise: () => Effect.succeed([]),
    effect: "safe",
    waits: true,
    execute: (_, context) =>
      Effect.forEach(
        ["first", "second"],
        (question) => questions!.ask(context, { question, options: [], multiple: false })
      ).pipe(
        Effect.map((answers) => ({ title: "asked", output: answers.flat().join(", "), metadata: {} })),
        Effect.orDie
      )
  })
  return { wonder, ready: Effect.map(Question, (service) => void (questions = service)) }
}

/** Answers a question once it is asked, in one step with what follows: a process may die in between. */
const answer = (question: string, words: string) =>
  Effect.gen(function*() {
    const service = yield* Question
    for (;;) {
      const request = (yield* service.pending()).find((each) => each.question === question)
      if (request !== undefined) return yield* service.reply(request.id, [words])
      yield* Effect.sleep(10)
    }
  })

const askedIn = (id: SessionID) => Effect.map(callsMade(id), (calls) => calls.map(resultOf))

describe("a question of a process that has ended is closed", () => {
  const wonders = () => {
    const { ready, wonder } = makeWonder()
    return { tools: () => [touch, wonder], ready }
  }

  it.each<[string, string, SkeinTest.SkeinTestOptions]>([
    ["rules now allow the call", "touch", { rules: { edit: "allow" } }],
    ["its tool is not offered any more", "touch", { rules: { edit: "deny" } }],
    ["nobody is asked any more", "touch", { asks: "nobody" }],
    ["nobody can answer an agent any more", "wonder", { asks: "nobody" }]
  ])("once %s", (_, tool, now) => {
    const [first, second] = [wonders(), wonders()]
    const input = tool === "touch" ? { path: "src/a" } : { n: 1 }
    const events = Effect.flatMap(SessionStorage, (storage) => storage.events({ after: 0 }))
    generations({
      options: { asks: "person" },
      tools: first.tools,
      scripts: { build: [Scripted.call(tool, input), "never"] },
      dies: 1_000,
      program: Effect.zipRight(first.ready, go)
    }, {
      options: now,
      tools: second.tools,
      scripts: { build: ["I see"] },
      program: (id) =>
        Effect.gen(function*() {
          yield* second.ready
          expect(yield* unanswered(id)).toHaveLength(1)
          yield* resumed(id)
          const types = (yield* events).flatMap(({ event: { type } }) =>
            /^(?:permission|question)/.exec(type) ? type : []
          )
          expect(types.filter((type) => type.endsWith(".replied"))).toHaveLength(1)
          // Nor does it come back with the next turn.
          const session = yield* Session
          yield* session.prompt(id, "Again")
          expect(yield* unanswered(id)).toEqual([])
        })
    })
  })
})

describe("a question of an agent", () => {
  it("is not asked again if its answer was stored before the crash", () => {
    const [first, second] = [makeWonder(), makeWonder()]
    generations({
      options: { asks: "person" },
      tools: () => [first.wonder],
      scripts: { build: [Scripted.call("wonder", { n: 1 }), "I see"] },
      dies: 1_000,
      program: Effect.zipRight(
        first.ready,
        Effect.zip(Effect.zipRight(answer("first", "blue"), Effect.sleep(100)), go, { concurrent: true })
      )
    }, {
      options: { asks: "person" },
      tools: () => [second.wonder],
      scripts: { build: ["I see"] },
      program: (id, script) =>
        Effect.gen(function*() {
          yield* second.ready
          const events = yield* record()
          const waiting = yield* Effect.fork(resumed(id))
          yield* answer("second", "red")
          expect((yield* Fiber.join(waiting))?.text).toBe("I see")
          expect(yield* askedIn(id)).toEqual(["blue, red"])
          expect(events.of("question.asked").map(({ properties }) => properties.question)).toEqual(["second"])
          yield* expectStill(id, script)
        }).pipe(Effect.scoped)
    })
  })

  it("is asked again if nobody answered before the crash", () => {
    const [first, second] = [makeWonder(), makeWonder()]
    generations({
      options: { asks: "person" },
      tools: () => [first.wonder],
      scripts: { build: [Scripted.call("wonder", { n: 1 }), "I see"] },
      dies: 1_000,
      program: Effect.zipRight(first.ready, go)
    }, {
      options: { asks: "person" },
      tools: () => [second.wonder],
      scripts: { build: ["I see"] },
      program: (id) =>
        Effect.gen(function*() {
          yield* second.ready
          const waiting = yield* Effect.fork(resumed(id))
          yield* answer("first", "blue")
          yield* answer("second", "red")
          yield* Fiber.join(waiting)
          expect(yield* askedIn(id)).toEqual(["blue, red"])
        })
    })
  })
})
