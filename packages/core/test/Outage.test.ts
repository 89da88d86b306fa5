/** Proves that a process that lives through an outage of its storage is as good as one that was killed, and not worse. */
import { describe, expect, it } from "@effect/vitest"
import { Leases } from "@skein/core/Leases"
import type { ModelRequest } from "@skein/core/Provider"
import { Session } from "@skein/core/Session"
import { SessionStorage } from "@skein/core/SessionStorage"
import type { SessionID } from "@skein/domain/Id"
import { record } from "@skein/testing/RecordedEvents"
import * as Scripted from "@skein/testing/ScriptedProvider"
import { simulate } from "@skein/testing/Simulation"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { lastingStorage } from "./support/mortal.ts"
import { type Broken, makeOutages } from "./support/outages.ts"
import { callsMade, expectStill, resultOf, root, treeOf } from "./support/tree.ts"

const results = (request: ModelRequest) => request.messages.filter(({ role }) => role === "tool").length

/** A root with three subagents, one of them in the background, which make calls that must not be made twice. */
const scene = (acted: Array<string>) => {
  const act = SkeinTest.tool("act", ({ name }) =>
    Effect.as(
      Effect.suspend(() => {
        acted.push(String(name))
        return Effect.sleep(400)
      }),
      `acted ${name}`
    ), { effect: "never" })
  const task = (name: string, background: boolean) => ({
    tool: "task",
    input: { description: name, prompt: name, subagent_type: "worker", background }
  })
  const script = Scripted.make({
    build: (request) =>
      results(request) === 0
        ? { calls: [task("one", false), task("two", false), task("three", true)], delay: { first: 100 } }
        : { text: "the end", delay: { first: 500 } },
    worker: (request) => {
      const name = Scripted.lastText(request)
      const done = results(request)
      return done < 3
        ? { calls: [{ tool: "act", input: { name: `${name} ${done}` } }], delay: { first: 300 } }
        : { text: "well done", delay: { first: 200 } }
    }
  })
  return { act, script }
}

/** Resumes what nobody works in as soon as that is possible, as a server does, until nothing is unfinished. */
const resumed = (id: SessionID) =>
  Effect.gen(function*() {
    const [session, leases, storage] = yield* Effect.all([Session, Leases, SessionStorage])
    for (;;) {
      yield* Effect.sleep(500)
      const all = yield* Effect.either(storage.unfinished)
      if (Either.isLeft(all)) continue
      if (all.right.length === 0) return
      const due = yield* Effect.either(leases.due(all.right))
      if (Either.isRight(due) && due.right.length > 0) yield* Effect.either(session.resume(id))
    }
  })

const run = (what: Broken, from: number, length: number, seed: number) =>
  simulate(
    Effect.scoped(Effect.gen(function*() {
      const outages = makeOutages(yield* lastingStorage)
      const acted: Array<string> = []
      const { act, script } = scene(acted)
      const layer = SkeinTest.layer(script, {
        agents: [SkeinTest.agent("worker")],
        tools: [act],
        storage: outages.layer
      })
      return yield* Effect.provide(
        Effect.gen(function*() {
          const { id } = yield* root()
          const events = yield* record({ rootID: id })
          const prompted = yield* Effect.fork(Effect.either(Session.prompt(id, "Go")))
          yield* Effect.sleep(from)
          yield* outages.begin(what, length)
          const answer = yield* prompted
          yield* resumed(id)
          const session = yield* Session
          yield* session.untilIdle(id)
          yield* Effect.sleep(60_000)
          yield* expectStill(id, script)
          const storage = yield* SessionStorage
          const { rows } = yield* storage.runs({ rootID: id })
          const calls = (yield* Effect.forEach(yield* treeOf(id), (each) => callsMade(each.id))).flat()
          return {
            answer,
            acted: acted.toSorted(),
            requests: script.requests.length,
            outcomes: rows.map(({ outcome }) => outcome?.status),
            told: ["subagent.completed", "subagent.failed"].map((type) => events.of(type as "subagent.failed").length),
            calls: calls.map((call) => resultOf(call).replaceAll(/ses_\w+/g, "ses")).toSorted(),
            charged: (yield* session.get(id)).usage.subtree.steps
          }
        }),
        layer
      )
    })),
    { seed }
  )

describe("a process whose storage is away", () => {
  const healthy = run("all", 0, 0, 1)

  it("has this much to do if it is not", () => {
    expect(healthy.answer).toMatchObject(Either.right({ text: "the end" }))
    expect(healthy.acted).toHaveLength(9)
    expect(healthy.told).toEqual([3, 0])
    expect(healthy.charged).toBe(healthy.requests)
  })

  it.each(["all", "commits"] as const)("for 20 seconds loses, repeats and forgets nothing (%s)", (what) => {
    for (let from = 0; from < 4_000; from += 550) {
      const { answer, ...facts } = run(what, from, 20_000, from)
      const { answer: _, ...expected } = healthy
      expect(facts, `from ${from}`).toEqual(expected)
      expect(answer).toMatchObject(Either.right({ text: "the end" }))
    }
  })

  it.each(["all", "commits"] as const)("for too long continues as after a crash once it is back (%s)", (what) => {
    for (let from = 0; from < 4_000; from += 550) {
      for (const length of [30_150, 45_000]) {
        const { acted, answer, calls, outcomes, told } = run(what, from, length, from + length)
        const at = `from ${from} for ${length}`
        expect(outcomes, at).toEqual(["completed", "completed", "completed"])
        expect(told, at).toEqual([3, 0])
        expect(new Set(acted).size, `${at}: an effect was doubled`).toBe(acted.length)
        expect(calls.join("\n"), at).not.toMatch(/stopped|caller|no space|not be reached/)
        if (Either.isLeft(answer)) expect(answer.left, at).toMatchObject({ _tag: "StorageError", reason: /busy|full/ })
      }
    }
  })

  it.each(["damaged", "odd", "damaged reads"] as const)(
    "and %s, stops what it does, and nothing of it is an outcome",
    (what) => {
      for (let from = 0; from < 4_000; from += 270) {
        const { acted, calls, outcomes, told } = run(what, from, 1_000, from)
        const at = `from ${from}`
        expect(outcomes, at).toEqual(["completed", "completed", "completed"].slice(0, outcomes.length))
        expect(told, at).toEqual([outcomes.length, 0])
        expect(new Set(acted).size, `${at}: an effect was doubled`).toBe(acted.length)
        expect(calls.join("\n"), at).not.toMatch(/stopped|caller|damaged|no such table/)
      }
    }
  )
})
