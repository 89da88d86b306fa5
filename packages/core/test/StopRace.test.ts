/** Proves that a stop reaches a prompt at every operation between its storing and its turn. */
import { expect, it } from "@effect/vitest"
import { Session } from "@skein/core/Session"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { none } from "effect/FiberId"
import * as Scheduler from "effect/Scheduler"

it.live("a prompt that is stored when its session is stopped does not start a turn afterwards", () => {
  let started = Deferred.unsafeMake<void>(none)
  const build = () => {
    Deferred.unsafeDone(started, Effect.void)
    return Scripted.text("Well", { hangs: true })
  }
  return Effect.gen(function*() {
    const session = yield* Session
    for (let operation = 0;; operation++) {
      started = Deferred.unsafeMake<void>(none)
      const stopping = Deferred.unsafeMake<void>(none)
      let isStored = false
      let passed = 0
      let target: Fiber.RuntimeFiber<unknown, unknown> | undefined
      const pauses: Scheduler.Scheduler = {
        shouldYield: (fiber) => {
          if (fiber !== target || !isStored || passed++ !== operation) return false
          Deferred.unsafeDone(stopping, Effect.void)
          return 0
        },
        scheduleTask: (task, priority) => Scheduler.defaultScheduler.scheduleTask(task, priority)
      }
      const { id } = yield* session.create({ directory: "/" })
      const onStored = () => {
        isStored = true
      }
      const stopper = yield* Effect.fork(Effect.zipRight(Deferred.await(stopping), session.stop(id)))
      const prompting = yield* Effect.fork(
        Effect.withScheduler(Effect.zipRight(Effect.yieldNow(), session.prompt(id, "Go", { onStored })), pauses)
      )
      target = prompting
      yield* Effect.race(Fiber.await(stopper), Deferred.await(started))
      const isPaused = yield* Deferred.isDone(stopping)
      if (isPaused) yield* Fiber.join(stopper)
      else yield* Effect.zipRight(Fiber.interrupt(stopper), session.stop(id))
      for (let wait = 0; wait < 20; wait++) yield* Effect.yieldNow()
      expect((yield* session.status(id)).type, `stopped at operation ${operation}`).toBe("idle")
      yield* Fiber.interrupt(prompting)
      if (isPaused) continue
      // Its turn has begun before so many operations.
      expect(operation).toBeGreaterThan(10)
      return
    }
  }).pipe(Effect.provide(SkeinTest.layer({ build })))
})
