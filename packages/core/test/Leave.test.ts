import { describe, expect, it } from "@effect/vitest"
import { Session } from "@skein/core/Session"
import { SessionStorage } from "@skein/core/SessionStorage"
import { record } from "@skein/testing/RecordedEvents"
import * as Scripted from "@skein/testing/ScriptedProvider"
import { simulate } from "@skein/testing/Simulation"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import { lonely } from "./support/mortal.ts"
import { callsMade, expectStill, messagesOf, resultOf, root } from "./support/tree.ts"

const agents = [SkeinTest.agent("worker", { permission: [{ permission: "task", pattern: "*", action: "allow" }] })]
const reads = SkeinTest.tool("reads", () => Effect.as(Effect.sleep(50), "read"), { effect: "safe" })

const task = (description: string) => ({
  tool: "task",
  input: { description, prompt: description, subagent_type: "worker", background: true }
})

/** A root with three background tasks, one of which has its own; each first calls a tool. */
const script = () =>
  Scripted.make({
    build: (request) =>
      JSON.stringify(request.messages).includes("Background task accepted")
        ? { text: "told", delay: { first: 20 } }
        : { text: "I begin", calls: ["a", "b", "outer"].map(task) },
    worker: (request) => {
      const all = JSON.stringify(request.messages)
      if (!all.includes("\"read\"")) {
        const inner = all.includes("outer") ? [task("inner")] : []
        return { text: "hm", calls: [{ tool: "reads" }, ...inner], delay: { first: 30 } }
      }
      return { text: "done", delay: { first: 30 } }
    }
  })

const lasting = Effect.map(Layer.build(SessionStorage.layerMemory), (context) => Layer.succeedContext(context))

/** Prompts, leaves after this many milliseconds, and continues in the same process or another one. */
const leftAfter = (after: number, where: "here" | "elsewhere", logged: Array<string>) =>
  Effect.scoped(Effect.gen(function*() {
    const inner = yield* lasting
    const stack = (name: string, scripted: Scripted.Scripted) =>
      Effect.provide(
        SkeinTest.layer(scripted, {
          agents,
          tools: [reads],
          storage: inner,
          owner: lonely(name),
          config: { limits: { concurrency: 2, subagent_depth: 2 } }
        })
      )
    const resume = (id: Parameters<typeof messagesOf>[0], scripted: Scripted.Scripted) =>
      Effect.gen(function*() {
        const session = yield* Session
        yield* session.resume(id)
        yield* session.untilIdle(id)
        const storage = yield* SessionStorage
        const { rows } = yield* storage.runs({ rootID: id })
        expect(rows.map(({ description, outcome }) => [description, outcome?.status]).toSorted()).toEqual(
          [["a", "completed"], ["b", "completed"], ["inner", "completed"], ["outer", "completed"]]
        )
        const texts = JSON.stringify(yield* Effect.forEach([id, ...rows.map(({ taskID }) => taskID)], messagesOf))
        for (const run of rows) expect(texts.split(`run_id=\\"${run.id}\\"`), run.description).toHaveLength(2)
        yield* expectStill(id, scripted)
      })
    const first = script()
    const left = yield* Effect.gen(function*() {
      const events = yield* record()
      const { id } = yield* root()
      yield* Session.prompt(id, "Go")
      yield* Effect.sleep(after)
      const runs = yield* Effect.flatMap(Session, (session) => session.leave(id))
      const ends = [...events.of("subagent.failed"), ...events.of("session.error")]
      expect(ends).toEqual([])
      expect(first.open.now).toBe(0)
      if (where === "here") yield* resume(id, first)
      return { id, runs }
    }).pipe(
      stack("first", first),
      Effect.provide(Logger.replace(
        Logger.defaultLogger,
        Logger.make(({ logLevel, message }) => {
          if (LogLevel.greaterThanEqual(logLevel, LogLevel.Error)) logged.push(String(message))
        })
      ))
    )
    if (where === "elsewhere") {
      const second = script()
      yield* resume(left.id, second).pipe(stack("second", second))
    }
    return left.runs.length
  }))

describe("a tree that is left while background tasks work", () => {
  it.each(["here", "elsewhere"] as const)("loses and repeats nothing, at any time, and continues %s", (where) => {
    const logged: Array<string> = []
    const counts = new Set<number>()
    for (let after = 0; after <= 480; after += 40) {
      counts.add(simulate(leftAfter(after, where, logged), { seed: after }))
    }
    // It was left with all of them working, with some, and with none.
    expect(counts.size).toBeGreaterThan(2)
    expect(counts).toContain(0)
    expect(logged).toEqual([])
  })
})

describe("the calls of one answer whose tree is left", () => {
  const names = ["a", "b", "c", "d", "e", "f"]

  /** Six calls, of which two work at a time; leaves after 100 ms, and continues in another process. */
  const callsLeft = (duration: number) =>
    simulate(
      Effect.scoped(Effect.gen(function*() {
        const inner = yield* lasting
        const begun: Array<string> = []
        const acts = (process: string, lasts: number) =>
          names.map((name) =>
            SkeinTest.tool(name, () =>
              Effect.gen(function*() {
                begun.push(`${process} ${name}`)
                yield* Effect.sleep(lasts)
                return `${name} is done`
              }), { effect: "never" })
          )
        const script = Scripted.make({
          build: ({ messages }) =>
            messages.some(({ role }) => role === "tool") ? "the end" : { calls: names.map((tool) => ({ tool })) }
        })
        const stack = (name: string, lasts: number) =>
          Effect.provide(SkeinTest.layer(script, {
            tools: acts(name, lasts),
            storage: inner,
            owner: lonely(name),
            config: { limits: { concurrency: 2 } }
          }))
        const { id, took } = yield* Effect.gen(function*() {
          const { id } = yield* root()
          yield* Effect.fork(Effect.exit(Session.prompt(id, "Go")))
          yield* Effect.sleep(100)
          const before = yield* Clock.currentTimeMillis
          yield* Effect.flatMap(Session, (session) => session.leave(id))
          return { id, took: (yield* Clock.currentTimeMillis) - before }
        }).pipe(stack("first", duration))
        const results = yield* Effect.gen(function*() {
          const session = yield* Session
          yield* session.resume(id)
          yield* session.untilIdle(id)
          yield* expectStill(id, script)
          return (yield* callsMade(id)).map(resultOf)
        }).pipe(stack("second", 0))
        return { begun, results, took }
      })),
      { seed: 1 }
    )

  const begunBy = ["first a", "first b", "second c", "second d", "second e", "second f"]

  it("end if they have begun and take less than a second; the others are made by the next process", () => {
    const { begun, results } = callsLeft(600)
    expect(begun.toSorted()).toEqual(begunBy)
    expect(results).toEqual(names.map((name) => `${name} is done`))
  })

  it("are interrupted after a second, and only of those that have begun the outcome is unknown", () => {
    const { begun, results, took } = callsLeft(60_000)
    expect(took).toBeLessThan(1_100)
    expect(begun.toSorted()).toEqual(begunBy)
    expect(results.slice(0, 2).every((result) => result.includes("outcome unknown"))).toBe(true)
    expect(results.slice(2)).toEqual(names.slice(2).map((name) => `${name} is done`))
  })
})
