import { describe, expect, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as FiberId from "effect/FiberId"
import * as Scheduler from "effect/Scheduler"
import { allOf, type Leave, type Rest } from "../../src/internal/fibers.ts"

/** Effects that leave their fibers; `rings` continues them, and `notes` says how they ended. */
const makeLeavers = () => {
  const notes: Array<string> = []
  const rings = new Map<string, () => void>()
  const rest = (name: string, isReady = false): Rest<string, string, never> => {
    let isOver = isReady
    let resume = () => {}
    return {
      onReady: (ring) => {
        rings.set(name, () => {
          isOver = true
          resume()
          ring()
        })
        if (isReady) ring()
      },
      effect: Effect.matchCauseEffect(
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
    }
  }
  return { notes, rest, rings }
}

type Body = (name: string, leave: Leave<string, string, never>) => Effect.Effect<string, string>

const all = (names: ReadonlyArray<string>, body: Body) => allOf(names, body)

describe("effects in parallel", () => {
  it.effect("continue without being asked twice, and give their results in order", () =>
    Effect.gen(function*() {
      const { notes, rest, rings } = makeLeavers()
      const fiber = yield* Effect.fork(all(["a", "b", "c"], (name, leave) =>
        Effect.sync(() => {
          if (name !== "b") leave(rest(name))
          return name
        })))
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
      const running = all(["a", "b"], (name, leave) => Effect.sync(() => (leave(rest(name, true)), name)))
      expect(yield* running).toEqual(["rest of a", "rest of b"])
    }))

  it.effect("are interrupted by the first failure, which waits for their ends, even if they have left", () =>
    Effect.gen(function*() {
      const { notes, rest } = makeLeavers()
      const running = all(["a", "b", "c"], (name, leave) => {
        if (name === "a") return Effect.sync(() => (leave(rest(name)), name))
        if (name === "b") return Effect.zipRight(Effect.yieldNow(), Effect.fail("failed"))
        return Effect.onInterrupt(Effect.never, () => Effect.sync(() => notes.push("c is interrupted")))
      })
      const exit = yield* Effect.exit(running)
      expect(Exit.isFailure(exit) ? [...Cause.failures(exit.cause)] : []).toEqual(["failed"])
      expect(notes.toSorted()).toEqual(["a is interrupted", "c is interrupted"])
    }))

  it.effect("fail with the failure of a rest", () =>
    Effect.gen(function*() {
      const running = all(["a", "b"], (name, leave) =>
        Effect.sync(() => {
          if (name === "a") leave({ onReady: (ring) => ring(), effect: Effect.fail("failed") })
          return name
        }))
      expect(yield* Effect.flip(running)).toBe("failed")
    }))

  it.effect("lose none that has left when they are interrupted, at any operation", () => {
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
      const body: Body = (name, leave) =>
        Effect.uninterruptible(Effect.sync(() => {
          left.push(name)
          leave(rest(name, name === "b"))
          return name
        }))
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
