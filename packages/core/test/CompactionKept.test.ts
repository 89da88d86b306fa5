import { describe, expect, it } from "@effect/vitest"
import { Provider } from "@skein/core/Provider"
import { Session } from "@skein/core/Session"
import { SessionStorage } from "@skein/core/SessionStorage"
import type { SessionID } from "@skein/domain/Id"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as TestClock from "effect/TestClock"
import { bounded, madeFor, readIn } from "./support/bounded.ts"
import { callsMade, childrenOf, messagesOf, resultOf, root } from "./support/tree.ts"

type Services = Layer.Layer.Success<ReturnType<typeof SkeinTest.layer>> | Scope.Scope

const echo = SkeinTest.tool("echo", ({ words }) => Effect.succeed(`said ${String(words)} ${"x".repeat(3_000)}`))
const picture = {
  ...SkeinTest.tool("picture", () => Effect.succeed("")),
  execute: () =>
    Effect.succeed({
      title: "picture",
      output: "x".repeat(3_000),
      metadata: {},
      attachments: [{ mime: "image/png", filename: "a.png", url: `data:image/png;base64,${"A".repeat(9_000)}` }]
    })
}

const use = <A, E>(script: Scripted.Scripted, program: Effect.Effect<A, E, Services>) =>
  Effect.provide(
    Effect.scoped(program),
    SkeinTest.layer(script, {
      tools: [echo, picture],
      agents: [SkeinTest.agent("worker")],
      rules: { echo: "allow", picture: "allow", task: "allow" }
    })
  )

const tooLong = Scripted.fault("context_overflow")
const long = (words: string) => `${words} ${"y".repeat(4_000)}`

const lastAsked = (script: Scripted.Scripted): string => {
  const last = madeFor(script, "turn").findLast(({ origin }) => origin.path.length === 1)
  return last === undefined ? "" : readIn(last)
}

describe("a summary", () => {
  it.effect("contains the user's words, open todos, and the ids of tasks, whatever the model wrote", () => {
    const background = { description: "Look on", prompt: "Wait", subagent_type: "worker", background: true }
    const script = Scripted.make({
      build: [
        Scripted.call("task", { description: "Find it", prompt: "Find", subagent_type: "worker" }),
        Scripted.call("task", background),
        long("one"),
        long("two"),
        tooLong,
        "well"
      ],
      worker: (request) =>
        readIn(request).includes("Wait") ? { text: "late", delay: { first: 600_000 } } : "It is here.",
      compaction: ["Nothing of note."]
    })
    return use(
      script,
      Effect.gen(function*() {
        const storage = yield* SessionStorage
        const { id } = yield* root()
        const talking = yield* Effect.fork(Effect.gen(function*() {
          yield* Session.prompt(id, "Answer in rhymes.\nAlways.")
          yield* Session.prompt(id, "2")
          yield* storage.commit([{
            _tag: "Todos",
            sessionID: id,
            todos: [
              { content: "Write the poem", status: "in_progress", priority: "high" },
              { content: "Done before", status: "completed", priority: "low" }
            ]
          }])
          return yield* Session.prompt(id, "3")
        }))
        yield* TestClock.adjust("1 second")
        expect((yield* Fiber.join(talking)).text).toBe("well")
        const text = lastAsked(script)
        expect(text).toContain("Nothing of note.")
        expect(text).toContain("Answer in rhymes.\\n  Always.")
        expect(text).toContain("- Write the poem (in_progress)")
        expect(text).not.toContain("Done before")
        const [one, two] = yield* childrenOf(id)
        expect(text).toContain(`- task_id ${one?.id} (worker), completed: Find it`)
        expect(text).toContain(`- task_id ${two?.id} (worker), at work in the background: Look on`)
      })
    )
  })

  it.effect("is written in pieces if the conversation exceeds the context of the summarising model", () => {
    const small = Scripted.make({ compaction: bounded(2_900, ["First half.", "Both halves."]) }, {
      modelID: "small",
      limit: { context: 3_000, output: 100 }
    })
    const script = Scripted.make({
      build: [...["one", "two", "three", "four", "five", "six"].map(long), tooLong, "well"]
    })
    const model = [{ providerID: "scripted", modelID: "small" }]
    return Effect.gen(function*() {
      const { id } = yield* root()
      for (const prompt of ["1", "2", "3", "4", "5", "6"]) yield* Session.prompt(id, prompt)
      expect((yield* Session.prompt(id, "7")).text).toBe("well")
      const asked = small.requests.map(readIn)
      expect(asked.length).toBeGreaterThan(1)
      expect(asked[0]).toContain("one yyy")
      expect(asked[1]).toContain("The summary so far:\\nFirst half.")
      expect(asked.at(-1)).not.toContain("one yyy")
      expect(lastAsked(script)).toContain("Both halves.")
    }).pipe(
      Effect.provide(
        SkeinTest.layer(
          { layer: Provider.layerModels([script.model, small.model]) },
          { agents: [SkeinTest.agent("compaction", { hidden: true, prompt: "Summarise.", model })] }
        )
      )
    )
  })

  it.effect("does not replace unanswered messages: they are sent unchanged, however long they are", () => {
    const script = Scripted.make({ build: [long("one"), long("two"), tooLong, "well"] })
    const prompt = `three ${"z".repeat(9_000)}`
    return use(
      script,
      Effect.gen(function*() {
        const { id } = yield* root()
        for (const each of ["1", "2"]) yield* Session.prompt(id, each)
        expect((yield* Session.prompt(id, prompt)).text).toBe("well")
        expect(lastAsked(script)).toContain(`{"type":"text","text":"${prompt}"}`)
        expect(madeFor(script, "compaction").map(readIn).join()).not.toContain("three zzz")
      })
    )
  })

  it.effect("does not reset loop detection", () => {
    const same = Scripted.call("echo", { words: "a" })
    const script = Scripted.make({ build: [long("one"), long("two"), same, same, tooLong, same, "done"] })
    return use(
      script,
      Effect.gen(function*() {
        const { id } = yield* root()
        yield* Session.prompt(id, "1")
        yield* Session.prompt(id, "2")
        expect((yield* Session.prompt(id, "3")).end).toBe("denied")
        expect(madeFor(script, "compaction")).toHaveLength(1)
        const calls = (yield* callsMade(id)).map(resultOf)
        expect(calls.map((text) => text.slice(0, 6))).toEqual(["said a", "said a", expect.not.stringMatching(/^said/)])
        expect(calls[2]).toContain("doom_loop (echo)")
      })
    )
  })

  it.effect("is what a fork continues from, without requesting another summary", () => {
    const script = Scripted.make({ build: [long("one"), long("two"), long("three"), tooLong, "four", "five"] })
    return use(
      script,
      Effect.gen(function*() {
        const session = yield* Session
        const { id } = yield* root()
        for (const prompt of ["1", "2", "3", "4"]) yield* session.prompt(id, prompt)
        const kept = (of: SessionID) =>
          Effect.map(messagesOf(of), (all) => {
            const part = all.flatMap(({ parts }) => parts).find(({ type }) => type === "compaction")
            return all.findIndex(({ info }) => part?.type === "compaction" && info.id === part.keptFrom)
          })
        const fork = yield* session.fork(id)
        expect(yield* kept(fork.id)).toBe(yield* kept(id))
        expect(yield* kept(id)).toBeGreaterThan(0)
        yield* session.prompt(fork.id, "4b")
        expect(lastAsked(script)).toContain("What was said.")
        expect(lastAsked(script)).not.toContain("one yyy")
        expect(madeFor(script, "compaction")).toHaveLength(1)
      })
    )
  })
})

describe("outputs that are left out of requests", () => {
  it.effect("do not include those of subagents, and images are left out with them", () => {
    const limit = { context: 12_000, output: 1_000 }
    const finding = Scripted.tasks({ worker: "Find" })
    const looking = { calls: [{ tool: "picture", input: { n: 1 } }] }
    const saying = (n: number) => Scripted.call("echo", { words: `${n}` })
    const script = Scripted.make({
      build: bounded(20_000, [finding, looking, ...[1, 2, 3, 4, 5, 6, 7].map(saying), "done"]),
      worker: [`It is here. ${"z".repeat(2_000)}`]
    }, { limit })
    return use(
      script,
      Effect.gen(function*() {
        const { id } = yield* root()
        yield* Session.prompt(id, "Go")
        expect(madeFor(script, "compaction")).toEqual([])
        const text = lastAsked(script)
        expect(text).toContain("It is here. zzz")
        expect(text).toContain("[The file a.png was left out to save room.]")
        expect(text).not.toContain("AAAA")
        expect(text).toContain("[The output of picture {\\\"n\\\":1} (3000 characters) was left out")
        expect(text).toContain("said 7 xxx")
        expect(JSON.stringify(yield* messagesOf(id))).toContain("AAAA")
      })
    )
  })
})
