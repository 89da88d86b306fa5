import { describe, expect, it } from "@effect/vitest"
import { Provider } from "@skein/core/Provider"
import { Session } from "@skein/core/Session"
import { SessionStorage, type Write } from "@skein/core/SessionStorage"
import { StorageError } from "@skein/core/StorageError"
import type { SessionID } from "@skein/domain/Id"
import { record } from "@skein/testing/RecordedEvents"
import * as Scripted from "@skein/testing/ScriptedProvider"
import { simulate } from "@skein/testing/Simulation"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/TestClock"
import { bounded, madeFor, readIn } from "./support/bounded.ts"
import { expectStill, messagesOf, root } from "./support/tree.ts"

type Services = Layer.Layer.Success<ReturnType<typeof SkeinTest.layer>> | Scope.Scope

const use = <A, E>(
  script: Scripted.Scripted,
  program: Effect.Effect<A, E, Services>,
  options: SkeinTest.SkeinTestOptions = {}
) => Effect.provide(Effect.scoped(program), SkeinTest.layer(script, options))

const tooLong = Scripted.fault("context_overflow", { status: 400, message: "400 context_length_exceeded" })

const long = (words: string) => `${words} ${"y".repeat(4_000)}`

/** Three answers and then those of a test, by a model whose context size is unknown. */
const talked = (...steps: ReadonlyArray<Scripted.ScriptedStep | string>) => [
  ...["one", "two", "three"].map(long),
  ...steps
]

/** A session in which three prompts were answered. */
const begun = Effect.gen(function*() {
  const { id } = yield* root()
  for (const prompt of ["Keep to the rules", "2", "3"]) yield* Session.prompt(id, prompt)
  return id
})

const compactions = (id: SessionID) =>
  Effect.map(messagesOf(id), (all) => all.filter(({ parts }) => parts.some((part) => part.type === "compaction")))

describe("a conversation that its model rejects as too long", () => {
  it.effect("is summarised once, and sent again", () => {
    const script = Scripted.make({ build: talked(tooLong, "well") })
    return use(
      script,
      Effect.gen(function*() {
        const id = yield* begun
        expect((yield* Session.prompt(id, "4")).text).toBe("well")
        expect(script.requests.map(({ origin }) => origin.purpose)).toEqual(
          ["turn", "turn", "turn", "turn", "compaction", "turn"]
        )
        const last = script.requests.at(-1)
        expect(last === undefined ? "" : readIn(last)).toMatch(/What was said\..*Keep to the rules.*"4"/)
        yield* expectStill(id, script)
      })
    )
  })

  it.effect("ends after three tries as ContextOverflow, and keeps everything", () => {
    const script = Scripted.make({ build: talked(tooLong), compaction: ["1", "2", "3", "4"] })
    return use(
      script,
      Effect.gen(function*() {
        const events = yield* record()
        const id = yield* begun
        const before = yield* messagesOf(id)
        const error = yield* Effect.flip(Session.prompt(id, "4"))
        expect(error).toMatchObject({ _tag: "ContextOverflow", id, model: "scripted/model" })
        expect(error.message).toContain(
          "A model with a larger context can continue it."
        )
        expect(madeFor(script, "compaction").length).toBeLessThanOrEqual(3)
        expect(madeFor(script, "turn").length).toBeLessThanOrEqual(3 + 1 + 3)
        expect(events.of("session.error").map(({ properties }) => properties.error.tag)).toEqual(["ContextOverflow"])
        expect((yield* messagesOf(id)).slice(0, before.length)).toEqual(before)
        yield* expectStill(id, script)
      })
    )
  })

  it.effect("counts leaving out tool outputs as a try", () => {
    const reading = (file: number) => Scripted.call("read", { file })
    const script = Scripted.make({ build: [...Array.from({ length: 12 }, (_, file) => reading(file)), tooLong] })
    const read = SkeinTest.tool("read", () => Effect.succeed("x".repeat(8_000)))
    return use(
      script,
      Effect.gen(function*() {
        const { id } = yield* root()
        const error = yield* Effect.flip(Session.prompt(id, "Read all"))
        expect(error).toMatchObject({ _tag: "ContextOverflow", tries: 3 })
        const after = script.requests.slice(12)
        // Once without outputs, once with a summary, and then nothing is left to remove.
        expect(after.map(({ origin }) => origin.purpose)).toEqual(["turn", "turn", "compaction", "turn"])
        expect(after.map((request) => readIn(request).includes("was left out to save room"))).toEqual(
          [false, true, false, false]
        )
      }),
      { tools: [read], rules: { read: "allow" } }
    )
  })

  it.effect("counts a summary that is no shorter as a try, and does not store it", () => {
    const script = Scripted.make({
      build: ["one", "two", "three", tooLong],
      compaction: ["z".repeat(9_000)]
    })
    return use(
      script,
      Effect.gen(function*() {
        const id = yield* begun
        const error = yield* Effect.flip(Session.prompt(id, "4"))
        expect(error).toMatchObject({ _tag: "ContextOverflow", tries: 3 })
        expect(error.message).toContain("its summary is not shorter")
        expect(madeFor(script, "compaction")).toHaveLength(3)
        // A request of the same length is not sent again.
        expect(madeFor(script, "turn")).toHaveLength(4)
        expect(yield* compactions(id)).toEqual([])
      })
    )
  })

  it.effect("ends immediately if there is nothing to summarise, or no model that can", () => {
    const nothing = Scripted.make({ build: [tooLong] })
    const nobody = Scripted.make({
      build: talked(tooLong),
      compaction: [Scripted.fault("auth", { message: "No key." })]
    })
    return Effect.gen(function*() {
      const error = yield* use(
        nothing,
        Effect.flatMap(root(), ({ id }) => Effect.flip(Session.prompt(id, "a very long prompt")))
      )
      expect(error.message).toContain("there is nothing left in it to summarise")
      expect(nothing.requests).toHaveLength(1)
      const other = yield* use(nobody, Effect.flatMap(begun, (id) => Effect.flip(Session.prompt(id, "4"))))
      expect(other).toMatchObject({ _tag: "ContextOverflow", message: expect.stringContaining("No key.") })
      expect(madeFor(nobody, "compaction")).toHaveLength(1)
    })
  })

  it.effect("is given to the summarising model in parts if it exceeds its context as well", () => {
    const script = Scripted.make({
      build: talked(tooLong, "well"),
      compaction: bounded(2_000, ["Short."])
    })
    return use(
      script,
      Effect.gen(function*() {
        const id = yield* begun
        expect((yield* Session.prompt(id, "4")).text).toBe("well")
        const sizes = madeFor(script, "compaction").map((request) => readIn(request).length)
        expect(sizes.length).toBeGreaterThan(1)
        expect(sizes.length).toBeLessThanOrEqual(4)
        expect(Math.max(...sizes)).toBe(sizes[0])
      })
    )
  })

  it.effect("stays as it is if compaction is off, and the error says how to compact by hand", () => {
    const script = Scripted.make({ build: talked(tooLong, "well") })
    return use(
      script,
      Effect.gen(function*() {
        const id = yield* begun
        const error = yield* Effect.flip(Session.prompt(id, "4"))
        expect(error).toMatchObject({ _tag: "ContextOverflow", tries: 0 })
        expect(error.message).toContain(`\`skein sessions compact ${id}\``)
        expect(madeFor(script, "compaction")).toEqual([])
      }),
      { config: { compaction: { auto: false } } }
    )
  })

  it.effect("goes to the agent's next model if it cannot be shortened for the first", () => {
    const small = Scripted.make({ lead: [tooLong] }, { modelID: "small" })
    const large = Scripted.make({ lead: ["read it all"] }, { modelID: "large" })
    const refs = ["small", "large"].map((modelID) => ({ providerID: "scripted", modelID }))
    const lead = SkeinTest.agent("lead", { mode: "primary", model: refs })
    return Effect.gen(function*() {
      const { id } = yield* root({ agent: "lead" })
      expect((yield* Session.prompt(id, "Go")).text).toBe("read it all")
    }).pipe(
      Effect.provide(SkeinTest.layer({ layer: Provider.layerModels([small.model, large.model]) }, { agents: [lead] }))
    )
  })
})

describe("the cost of a summary", () => {
  it.effect("is charged to budgets: if it exhausts one, the model is not asked again", () => {
    const script = Scripted.make({
      build: talked(tooLong, "well"),
      compaction: [{ text: "Short.", tokens: { input: 999_900, output: 0 } }]
    })
    return use(
      script,
      Effect.gen(function*() {
        const id = yield* begun
        const error = yield* Effect.flip(Session.prompt(id, "4", { budget: { tokens: 1_000_000 } }))
        expect(error).toMatchObject({ _tag: "BudgetExhausted", which: "tokens", text: "" })
        expect(script.requests.at(-1)?.origin.purpose).toBe("compaction")
        // It was paid for, so it is kept.
        expect(yield* compactions(id)).toHaveLength(1)
        expect((yield* Effect.flatMap(Session, (session) => session.get(id))).budget?.spent.tokens).toBe(999_900)
      })
    )
  })
})

describe("a session that is stopped during compaction", () => {
  it.effect("closes the request, stays unchanged, and continues with the next prompt", () => {
    const script = Scripted.make({
      build: talked(tooLong, tooLong, "well"),
      compaction: [{ hangs: true }, "Short."]
    })
    return use(
      script,
      Effect.gen(function*() {
        const session = yield* Session
        const id = yield* begun
        const first = yield* Effect.fork(Effect.flip(session.prompt(id, "4")))
        yield* TestClock.adjust(10)
        expect([script.open.now, (yield* session.status(id)).type]).toEqual([1, "compacting"])
        yield* session.stop(id)
        expect(script.open.now).toBe(0)
        expect((yield* Fiber.join(first))._tag).toBe("SessionStopped")
        expect(yield* compactions(id)).toEqual([])
        yield* expectStill(id, script)
        expect((yield* session.prompt(id, "5")).text).toBe("well")
        expect(yield* compactions(id)).toHaveLength(1)
        yield* expectStill(id, script)
      })
    )
  })
})

describe("a process that dies during compaction", () => {
  const lost = new StorageError({ operation: "commit", reason: "full", message: "The disk is gone." })
  const isCompaction = (writes: ReadonlyArray<Write>) =>
    writes.some((write) => write._tag === "Part" && write.part.type === "compaction")

  /** Storage of a process that dies right before or right after the commit of a summary. */
  const dying = (inner: Layer.Layer<SessionStorage>, when: "before" | "after") => {
    let isDead = false
    return Layer.effect(
      SessionStorage,
      Effect.map(SessionStorage, (storage) => ({
        ...storage,
        // Another process continues when the lease of this one has expired.
        mail: Effect.succeed(undefined),
        commit: (writes: ReadonlyArray<Write>) =>
          Effect.suspend(() => {
            if (isDead) return Effect.fail(lost)
            if (!isCompaction(writes)) return storage.commit(writes)
            isDead = true
            return when === "before" ? Effect.fail(lost) : Effect.zipRight(storage.commit(writes), Effect.fail(lost))
          })
      }))
    ).pipe(Layer.provide(inner))
  }

  for (const [when, count] of [["before", 0], ["after", 1]] as const) {
    const left = count === 0 ? "none of the summary" : "all of it"
    it(`${when} it is stored leaves ${left}, and the conversation continues`, () => {
      const compaction = [{ text: "Short.", tokens: { input: 700, output: 0 } }]
      const first = Scripted.make({ build: talked(tooLong), compaction })
      const second = Scripted.make({ build: ["well"] })
      const program = Effect.gen(function*() {
        const inner = Layer.succeedContext(yield* Layer.build(SessionStorage.layerMemory))
        const scope = yield* Scope.make()
        const context = yield* Layer.buildWithScope(SkeinTest.layer(first, { storage: dying(inner, when) }), scope)
        const id = yield* Effect.provide(
          Effect.tap(begun, (id) => Effect.flip(Session.prompt(id, "4"))),
          context
        )
        yield* Scope.close(scope, Exit.void)
        yield* Effect.sleep("5 minutes")
        yield* Effect.gen(function*() {
          const found = yield* compactions(id)
          expect(found).toHaveLength(count)
          for (const { parts } of found) expect(parts.map(({ type }) => type)).toEqual(["compaction", "text"])
          // What it cost is stored as soon as it has been answered.
          const { usage } = yield* Effect.flatMap(Session, (session) => session.get(id))
          expect(usage.own.tokens.input).toBe(30 + 700)
          const all = JSON.stringify(yield* messagesOf(id))
          for (const words of ["one", "two", "three"]) expect(all).toContain(`"${long(words)}"`)
          expect((yield* Session.prompt(id, "5")).text).toBe("well")
          const asked = second.requests.map(readIn).join()
          expect(asked.includes("one yyy")).toBe(count === 0)
          expect(asked.includes("Short.")).toBe(count === 1)
        }).pipe(Effect.provide(SkeinTest.layer(second, { storage: inner })))
      })
      simulate(Effect.scoped(program), { seed: 1 })
    })
  }
})
