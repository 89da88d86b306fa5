import { describe, expect, it } from "@effect/vitest"
import { Bus } from "@skein/core/Bus"
import { Permission } from "@skein/core/Permission"
import { Session } from "@skein/core/Session"
import * as Scripted from "@skein/testing/ScriptedProvider"
import { seeds, share } from "@skein/testing/Seeds"
import { simulate } from "@skein/testing/Simulation"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as FiberId from "effect/FiberId"
import { makeRecordedStorage } from "./support/storage.ts"
import { callsMade, expectStill, resultOf, root } from "./support/tree.ts"

/** Stops a session as soon as it publishes that a call runs; returns which calls had an effect, and their results. */
const stopped = (seed: number, asks: boolean) => {
  const acted: Array<string> = []
  const storage = makeRecordedStorage({ latency: seed % 4 })
  const act = SkeinTest.tool("act", ({ name }) => {
    acted.push(String(name))
    return Effect.never
  }, {
    effect: "never",
    authorise: () => Effect.succeed(asks ? [{ permission: "act", patterns: ["*"], always: [], metadata: {} }] : [])
  })
  const script = Scripted.make({ build: [Scripted.call("act", ...["a", "b", "c"].map((name) => ({ name })))] })
  const program = Effect.gen(function*() {
    const bus = yield* Bus
    const [session, permission] = yield* Effect.all([Session, Permission])
    const { id } = yield* root()
    const runs = Deferred.unsafeMake<void>(FiberId.none)
    yield* bus.listen({ all: true }, ({ properties, type }) => {
      if (type !== "message.part.updated" || !("part" in properties) || properties.part.type !== "tool") return
      if (properties.part.state.status === "running") Deferred.unsafeDone(runs, Effect.void)
    })
    yield* Effect.forkScoped(Effect.either(session.prompt(id, "Go")))
    const answering = Effect.forever(Effect.gen(function*() {
      yield* Effect.sleep(1)
      // The stop may have withdrawn it at this moment.
      for (const { id: question } of yield* permission.pending()) {
        yield* Effect.either(permission.reply(question, "once"))
      }
    }))
    yield* Effect.forkScoped(answering)
    yield* Deferred.await(runs)
    if (seed % 2 === 0) yield* Effect.sleep(seed % 5)
    yield* session.stop(id)
    yield* expectStill(id, script)
    return (yield* callsMade(id)).map((part) => ({
      name: JSON.stringify(part.state.input).slice(9, 10),
      said: resultOf(part)
    }))
  })
  const layer = SkeinTest.layer(script, {
    tools: [act],
    asks: "person",
    storage: storage.layer,
    config: { limits: { concurrency: 1 + seed % 3 } }
  })
  const calls = simulate(program.pipe(Effect.scoped, Effect.provide(layer)), { seed, maxSlice: 60 })
  return { acted, calls }
}

describe("a call that is stopped just when it begins", () => {
  it.each([false, true])("says whether it had any effect (with a question first: %s)", (asks) => {
    const counts = { ran: 0, not: 0 }
    for (const seed of seeds(1, 150)) {
      const { acted, calls } = stopped(seed, asks)
      expect(calls).toHaveLength(3)
      for (const call of calls) {
        const ran = acted.includes(call.name)
        counts[ran ? "ran" : "not"]++
        expect(call.said, `${seed}: ${call.name}`).toMatch(ran ? /outcome is unknown/ : /was not run/)
      }
    }
    expect(Math.min(counts.ran, counts.not)).toBeGreaterThan(share(20))
  }, 30_000)
})
