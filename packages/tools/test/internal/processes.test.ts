import { expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { type ChildProcess, spawn } from "node:child_process"
import { isThere, look, signalStrays } from "../../src/internal/process/processes.ts"
import { gone } from "../support/processes.ts"

const sleeper = Effect.acquireRelease(
  Effect.async<ChildProcess>((resume) => {
    const child = spawn("sleep", ["9999"], { stdio: "ignore" })
    child.once("spawn", () => resume(Effect.succeed(child)))
  }),
  (child) => Effect.sync(() => child.kill("SIGKILL"))
)

it.scoped("a signal reaches a process, and not another one that has its number by now", () =>
  Effect.gen(function*() {
    const [one, two] = yield* Effect.all([sleeper, sleeper])
    const strayOf = ({ pid = 0 }: ChildProcess) => ({ pid, began: look(pid)?.began ?? "" })
    const earlier = { ...strayOf(one), began: "1" }
    expect(isThere(earlier)).toBe(false)
    signalStrays([earlier, strayOf(two)], "SIGKILL")
    yield* gone(two.pid ?? 0)
    expect(isThere(strayOf(one))).toBe(true)
  }))
