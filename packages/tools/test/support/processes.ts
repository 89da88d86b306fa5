/** Real processes under the test clock. */
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as TestClock from "effect/TestClock"
import * as fs from "node:fs"

/** Lets what is outside of Effect go on. */
export const turn = Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))

/** A moment for other processes, without looking again at once. */
const moment = Effect.promise(() => new Promise((resolve) => setTimeout(resolve, 5)))

/** Lets real processes and the test clock go on together until a fiber ends; gives what it ended with. */
export const elapse = <A, E>(fiber: Fiber.Fiber<A, E>): Effect.Effect<A, E> =>
  Effect.gen(function*() {
    let exit = yield* Fiber.poll(fiber)
    while (Option.isNone(exit)) {
      yield* turn
      yield* TestClock.adjust("50 millis")
      exit = yield* Fiber.poll(fiber)
    }
    return yield* exit.value
  })

/** Whether a process is there. */
export const isAlive = (pid: number): boolean => {
  try {
    // One that has ended and waits for its parent to look counts as gone.
    return !/^State:\s+[ZX]/m.test(fs.readFileSync(`/proc/${pid}/status`, "utf8"))
  } catch {
    return false
  }
}

/** Ends when a process has. */
export const gone = (pid: number): Effect.Effect<void> =>
  Effect.suspend(() => (isAlive(pid) ? Effect.zipRight(moment, gone(pid)) : Effect.void))

/** The number in a file, once a whole line is there. */
export const pidIn = (path: string): Effect.Effect<number> =>
  Effect.suspend(() => {
    const text = fs.existsSync(path) ? fs.readFileSync(path, "utf8") : ""
    return text.endsWith("\n") ? Effect.succeed(Number(text)) : Effect.zipRight(moment, pidIn(path))
  })
