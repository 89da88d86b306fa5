import { describe, expect, it } from "@effect/vitest"
import type { ModelRequest } from "@skein/core/Provider"
import { Session } from "@skein/core/Session"
import { SessionStorage } from "@skein/core/SessionStorage"
import * as Scripted from "@skein/testing/ScriptedProvider"
import { seeds } from "@skein/testing/Seeds"
import { simulate } from "@skein/testing/Simulation"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Random from "effect/Random"
import { makeRecordedStorage } from "./support/storage.ts"
import { expectStill, messagesOf, root } from "./support/tree.ts"

const quick = SkeinTest.tool("quick", ({ ms }) => Effect.as(Effect.sleep(Number(ms)), "done"))

const words = (request: ModelRequest): ReadonlyArray<string> =>
  request.messages.flatMap((message) =>
    message.role === "user" ? message.content.map((part) => part.type === "text" ? part.text : "") : []
  )

/** Answers with everything said so far, sometimes after a call. */
const make = () => {
  const script = Scripted.make({
    build: (request) =>
      Effect.map(Random.nextIntBetween(0, 4), (n) =>
        n === 0
          ? Scripted.call("quick", { ms: 1, at: request.origin.step })
          : { text: words(request).join(" "), delay: { first: n - 1 } })
  })
  // A commit takes time, so that a prompt can arrive while the end of a turn is being stored.
  return {
    script,
    layer: SkeinTest.layer(script, { tools: [quick], storage: makeRecordedStorage({ latency: 2 }).layer })
  }
}

/** Prompts one session from several sides at times that the seed decides. */
const program = (callers: number) => {
  const { layer, script } = make()
  return Effect.gen(function*() {
    const { id } = yield* root()
    let running = 0
    const answers = yield* Effect.forEach(
      Array.from({ length: callers }, (_, i) => i),
      (i) =>
        Effect.gen(function*() {
          yield* Effect.sleep(yield* Random.nextIntBetween(0, 40))
          running++
          const turn = yield* Session.prompt(id, `<${i}>`)
          running--
          return turn
        }),
      { concurrency: "unbounded" }
    )
    expect(running).toBe(0)
    answers.forEach((turn, i) => expect(turn.text, `the answer to ${i}`).toContain(`<${i}>`))
    expect(script.open.most, "one loop at a time").toBe(1)
    const said = (yield* messagesOf(id)).flatMap(({ info, parts }) =>
      info.role === "user" ? parts.flatMap((part) => part.type === "text" ? [part.text] : []) : []
    )
    expect(said.toSorted(), "each prompt once").toEqual(Array.from({ length: callers }, (_, i) => `<${i}>`).toSorted())
    yield* expectStill(id, script)
  }).pipe(Effect.provide(layer))
}

describe("prompts from several sides", () => {
  it("are each answered, once, by one loop, at any time", () => {
    for (const seed of seeds(1, 150)) {
      simulate(program(2 + seed % 4), { seed, everywhere: seed % 2 === 0, maxSlice: seed % 3 === 0 ? 20 : 200 })
    }
  }, 60_000)

  it("start nothing if they are withdrawn before they are read", () => {
    const script = Scripted.make({
      build: [Scripted.call("quick", { ms: 50 }), { text: "one", delay: { first: 50 } }, "next"]
    })
    simulate(
      Effect.gen(function*() {
        const storage = yield* SessionStorage
        const { id } = yield* root()
        const one = yield* Effect.fork(Session.prompt(id, "one"))
        yield* Effect.sleep(60)
        const two = yield* Effect.fork(Session.prompt(id, "two"))
        yield* Effect.sleep(10)
        yield* Fiber.interrupt(two)
        expect((yield* Fiber.join(one)).text).toBe("one")
        yield* Effect.sleep("1 hour")
        expect(script.requests).toHaveLength(2)
        expect((yield* storage.inbox(id)).rows).toMatchObject([{ kind: "note", parts: [{ text: "two" }] }])
        yield* Session.prompt(id, "three")
        expect(words(script.requests[2]!)).toEqual(["one", "two", "three"])
      }).pipe(Effect.provide(SkeinTest.layer(script, { tools: [quick] }))),
      { seed: 1 }
    )
  })

  it("at the same moment share a turn", () => {
    const counts = Array.from({ length: 20 }, (_, seed) => {
      const script = Scripted.make({ build: ["both", "both"] })
      simulate(
        Effect.gen(function*() {
          const { id } = yield* root()
          const one = yield* Effect.fork(Session.prompt(id, "one"))
          const two = yield* Effect.fork(Session.prompt(id, "two"))
          expect((yield* Fiber.join(one)).text).toBe("both")
          expect((yield* Fiber.join(two)).info.id).toBe((yield* Fiber.join(one)).info.id)
        }).pipe(Effect.provide(SkeinTest.layer(script))),
        { seed }
      )
      return script.requests.length
    })
    // Which one is stored before the first request depends on the scheduler: the other is read at the next step.
    expect(counts.every((count) => count === 1 || count === 2)).toBe(true)
    expect(counts).toContain(1)
  })

  it("are answered while other callers give up", () => {
    for (const seed of seeds(1, 150)) {
      const { layer, script } = make()
      const impatient = Effect.gen(function*() {
        const { id } = yield* root()
        const others = yield* Effect.forEach(
          Array.from({ length: 4 }, (_, i) => i),
          (i) =>
            Effect.gen(function*() {
              yield* Effect.sleep(yield* Random.nextIntBetween(0, 30))
              const asking = Session.prompt(id, `<${i}>`)
              const turn = i === 0
                ? yield* asking
                : yield* Effect.timeoutOption(asking, yield* Random.nextIntBetween(0, 30))
              return turn
            }),
          { concurrency: "unbounded" }
        )
        expect(others[0]).toMatchObject({ text: expect.stringContaining("<0>") })
        yield* expectStill(id, script)
      })
      simulate(Effect.provide(impatient, layer), { seed })
    }
  }, 60_000)
})
