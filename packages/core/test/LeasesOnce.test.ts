/** Proves that a process acquires a tree once at a time, whatever else it does with the tree. */
import { expect, it } from "@effect/vitest"
import { Leases } from "@skein/core/Leases"
import { Session } from "@skein/core/Session"
import { SessionStorage } from "@skein/core/SessionStorage"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import { slowed } from "./support/mortal.ts"
import { run, sharedBy, stack } from "./support/sharedStorage.ts"
import { root } from "./support/tree.ts"

it("also if a reader forgets the past of the tree meanwhile", () => {
  run((inner) =>
    Effect.gen(function*() {
      const first = yield* stack(Scripted.make({}), sharedBy(inner))
      const second = yield* stack(Scripted.make({}), slowed(sharedBy(inner), { answers: 10 }))
      const { id } = yield* Effect.provide(root(), first)
      const session = yield* Effect.provide(Session, second)
      const leases = yield* Effect.provide(Leases, second)
      yield* session.get(id)
      yield* Effect.sleep(1_000)
      const lease = Effect.map(inner.lease(id), Option.getOrThrow)
      const { epoch } = yield* lease
      yield* Effect.fork(session.get(id))
      yield* Effect.sleep(2)
      yield* Effect.fork(leases.hold(id, Effect.sleep(10_000)))
      yield* Effect.sleep(9)
      yield* leases.hold(id, Effect.void)
      yield* Effect.sleep(2_000)
      const { epoch: present, owner } = yield* lease
      expect({ present, owner: owner !== undefined }).toEqual({ present: epoch + 1, owner: true })
    })
  )
})

it("and not before the last of those ended who used it when it was lost", () => {
  run((inner) =>
    Effect.gen(function*() {
      const only = yield* stack(Scripted.make({ build: ["again"] }), sharedBy(inner))
      const { id } = yield* Effect.provide(root(), only)
      const leases = yield* Effect.provide(Leases, only)
      const session = yield* Effect.provide(Session, only)
      const storage = yield* Effect.provide(SessionStorage, only)
      const info = yield* session.get(id)
      const checked = yield* Effect.makeLatch(false)
      // It has looked whether the tree is held, and its commit comes late.
      const late = storage.commit([{ _tag: "Session", info: { ...info, title: "too late" } }])
      const holder = yield* Effect.fork(leases.hold(id, Effect.zipRight(checked.await, late)))
      yield* Effect.sleep(100)
      yield* leases.leave(id)
      expect(yield* Effect.flip(Effect.provide(Session.prompt(id, "Go on"), only))).toMatchObject({ reason: "held" })
      expect(yield* leases.due([id])).toEqual([])
      yield* checked.open
      expect(yield* Effect.flip(Fiber.join(holder))).toMatchObject({ reason: "held" })
      expect((yield* Effect.provide(Session.prompt(id, "Go on"), only)).text).toBe("again")
      expect((yield* session.get(id)).title).not.toBe("too late")
    })
  )
})
