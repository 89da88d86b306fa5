import { describe, expect, it } from "@effect/vitest"
import type { PartID } from "@skein/domain/Id"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as FiberId from "effect/FiberId"
import * as Scheduler from "effect/Scheduler"
import type { Restore } from "../../src/Fibers.ts"
import { Rest, SessionCalls } from "../../src/internal/governor/SessionCalls.ts"
import type { Slot } from "../../src/Slot.ts"
import { unwatched } from "../support/governed.ts"

/** Rests of calls; `rings` continues them, and `notes` says how they ended. */
const makeLeavers = () => {
  const notes: Array<string> = []
  const rings = new Map<string, () => void>()
  const rest = (name: string, isReady = false): Rest<string, string, never> => {
    let isOver = isReady
    let resume = () => {}
    return new Rest(
      (ring) => {
        rings.set(name, () => {
          isOver = true
          resume()
          ring()
        })
        if (isReady) ring()
      },
      Effect.matchCauseEffect(
        Effect.interruptible(Effect.async<void>((done) => {
          resume = () => done(Effect.void)
          if (isOver) resume()
        })),
        {
          onFailure: (cause) => {
            notes.push(`${name} is interrupted`)
            return Effect.failCause(cause)
          },
          onSuccess: () => {
            notes.push(`${name} ends`)
            return Effect.succeed(`rest of ${name}`)
          }
        }
      )
    )
  }
  return { notes, rest, rings }
}

type Body = (name: string, restore: Restore) => Effect.Effect<string | Rest<string, string, never>, string>

const slot = { give: () => {}, hold: Effect.void, isHeld: () => true } as unknown as Slot

const all = (names: ReadonlyArray<string>, body: Body) => {
  const calls = new SessionCalls({ ...unwatched, slot: () => slot })
  const taken = names.map((name) => calls.take(name as PartID, false, false))
  return calls.make(taken, ({ id }, _, restore) => body(id, restore))
}

describe("calls in parallel", () => {
  it.effect("continue without being asked twice, and give their results in order", () =>
    Effect.gen(function*() {
      const { notes, rest, rings } = makeLeavers()
      const fiber = yield* Effect.fork(
        all(["a", "b", "c"], (name) => Effect.sync(() => name === "b" ? name : rest(name)))
      )
      yield* Effect.yieldNow()
      yield* Effect.yieldNow()
      rings.get("c")?.()
      rings.get("c")?.()
      yield* Effect.yieldNow()
      rings.get("a")?.()
      expect(yield* Fiber.join(fiber)).toEqual(["rest of a", "b", "rest of c"])
      expect(notes).toEqual(["c ends", "a ends"])
    }))

  it.effect("continue at once if nothing is left to wait for", () =>
    Effect.gen(function*() {
      const { rest } = makeLeavers()
      const running = all(["a", "b"], (name) => Effect.sync(() => rest(name, true)))
      expect(yield* running).toEqual(["rest of a", "rest of b"])
    }))

  it.effect("are interrupted by the first failure, which waits for their ends, even if they are parked", () =>
    Effect.gen(function*() {
      const { notes, rest } = makeLeavers()
      const running = all(["a", "b", "c"], (name, restore) => {
        if (name === "a") return Effect.sync(() => rest(name))
        if (name === "b") return Effect.zipRight(Effect.yieldNow(), Effect.fail("failed"))
        return Effect.onInterrupt(restore(Effect.never), () => Effect.sync(() => notes.push("c is interrupted")))
      })
      const exit = yield* Effect.exit(running)
      expect(Exit.isFailure(exit) ? [...Cause.failures(exit.cause)] : []).toEqual(["failed"])
      expect(notes.toSorted()).toEqual(["a is interrupted", "c is interrupted"])
    }))

  it.effect("fail with the failure of a rest", () =>
    Effect.gen(function*() {
      const running = all(["a", "b"], (name) =>
        Effect.sync(() => name === "a" ? new Rest((ring) => ring(), Effect.fail("failed")) : name))
      expect(yield* Effect.flip(running)).toBe("failed")
    }))

  it.effect("lose none that is parked when they are interrupted, at any operation", () => {
    const isDoneBefore = (operation: number) => {
      const { notes, rest } = makeLeavers()
      const left: Array<string> = []
      let operations = 0
      let target: Fiber.RuntimeFiber<unknown, unknown> | undefined
      const interrupts: Scheduler.Scheduler = {
        shouldYield: () => {
          if (target !== undefined && operations++ === operation) target.unsafeInterruptAsFork(FiberId.none)
          return false
        },
        scheduleTask: (task, priority) => Scheduler.defaultScheduler.scheduleTask(task, priority)
      }
      const body: Body = (name, restore) =>
        Effect.zipRight(
          restore(Effect.void),
          Effect.sync(() => {
            left.push(name)
            return rest(name, name === "b")
          })
        )
      return Effect.gen(function*() {
        const fiber = yield* Effect.fork(all(["a", "b", "c"], body))
        target = fiber
        // Long after the last operation, they only wait.
        for (let time = 0; time < 20; time++) yield* Effect.yieldNow()
        yield* Fiber.interrupt(fiber)
        expect(notes.map((note) => note.slice(0, 1)).toSorted()).toEqual(left.toSorted())
        return operations < operation
      }).pipe(Effect.withScheduler(interrupts))
    }
    return Effect.gen(function*() {
      let operation = 0
      while (!(yield* isDoneBefore(operation))) operation++
      expect(operation).toBeGreaterThan(50)
    })
  })
})
