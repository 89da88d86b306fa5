/** Proves that the recovery of a tree ends with an error when the tree is lost meanwhile. */
import { expect, it } from "@effect/vitest"
import { Session } from "@skein/core/Session"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import { lonely, slowed } from "./support/mortal.ts"
import { makeOutages } from "./support/outages.ts"
import { run, sharedBy, stack } from "./support/sharedStorage.ts"
import { root } from "./support/tree.ts"

const hangs = { text: "never", delay: { first: 3_600_000 } }

const task = (description: string) => ({
  tool: "task",
  input: { description, prompt: description, subagent_type: "worker", background: true }
})

it.each([5, 45, 85, 125, 165])("to an outage that begins after %i ms", (after) => {
  run((inner) =>
    Effect.gen(function*() {
      const scripts = { build: [{ calls: ["a", "b", "c"].map(task) }, hangs], worker: [hangs, hangs, hangs] }
      const first = yield* stack(Scripted.make(scripts), sharedBy(inner), { owner: lonely("first") })
      const { id } = yield* Effect.provide(root(), first)
      yield* Effect.fork(Effect.either(Effect.provide(Session.prompt(id, "Go"), first)))
      yield* Effect.sleep(1_000)
      const outages = makeOutages(inner)
      const script = Scripted.make({ build: () => hangs, worker: () => hangs })
      const second = yield* stack(script, slowed(outages.layer, { answers: 10 }), { owner: lonely("second") })
      const session = yield* Effect.provide(Session, second)
      const resuming = yield* Effect.fork(Effect.either(session.resume(id)))
      yield* Effect.sleep(after)
      yield* outages.begin("all", 30_500)
      const before = script.requests.length
      yield* Effect.sleep(20_000)
      const end = yield* Effect.timeoutOption(Fiber.join(resuming), 1_000)
      expect(Option.getOrThrow(end)).toMatchObject({ _tag: "Left", left: { _tag: "StorageError" } })
      expect(script.requests.length).toBe(before)
    })
  )
})
