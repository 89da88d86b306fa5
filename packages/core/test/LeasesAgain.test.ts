/** Proves that what ends late of a tree that was lost changes nothing in it, although this process has the tree again. */
import { expect, it } from "@effect/vitest"
import { Session } from "@skein/core/Session"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import { run, sharedBy, stack } from "./support/sharedStorage.ts"
import { root } from "./support/tree.ts"

it("as a request waits for a lease that turns out to be lost, and the next holder has let go", () => {
  run((inner) =>
    Effect.gen(function*() {
      const latch = yield* Effect.makeLatch(true)
      const act = SkeinTest.tool("act", () => Effect.onInterrupt(Effect.never, () => Effect.sleep(1_000)), {
        effect: "never"
      })
      const frozen = Scripted.make({
        build: [{ calls: [{ tool: "act" }] }, { text: "later", delay: { first: 5_000 } }]
      })
      const first = yield* stack(frozen, sharedBy(inner, latch), { tools: [act] })
      const second = yield* stack(Scripted.make({ build: ["the end"] }), sharedBy(inner), { tools: [act] })
      const { id } = yield* Effect.provide(root(), first)
      const [here, there] = [yield* Effect.provide(Session, first), yield* Effect.provide(Session, second)]
      yield* Effect.fork(Effect.either(here.prompt(id, "Go")))
      yield* Effect.sleep(4_000)
      yield* latch.close
      yield* Effect.sleep(2_000)
      const waiting = yield* Effect.fork(Effect.either(here.prompt(id, "And I?")))
      expect((yield* there.prompt(id, "Mine!")).text).toBe("the end")
      yield* Effect.sleep(1_000)
      const { turn, usage } = yield* there.get(id)
      expect(turn).toMatchObject({ ended: { how: "completed" } })
      yield* latch.open
      yield* Effect.sleep(3_000)
      const now = yield* there.get(id)
      expect(now.usage.own.steps).toBeGreaterThanOrEqual(usage.own.steps)
      expect(now.turn?.ended?.how).not.toBe("stopped")
      const end = yield* waiting
      if (end._tag === "Right") expect(end.right.text).toBe("later")
      else expect(end.left).toMatchObject({ reason: "held" })
    })
  )
})
