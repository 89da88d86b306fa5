/** Bounds the processes of commands, also of one that had its crowd before anybody looked. */
import { expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as TestClock from "effect/TestClock"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { makeWatchCrowd } from "../../src/internal/crowd.ts"
import { crowdEnder } from "../../src/internal/watchdog/crowdEnder.ts"

it.scoped.skipIf(process.platform !== "linux")(
  "a command is watched that already has too many processes",
  () =>
    Effect.gen(function*() {
      const child = yield* Effect.acquireRelease(
        Effect.sync(() =>
          spawn("bash", ["-c", "for i in {1..60}; do sleep 300 & done; echo ready; wait"], {
            detached: true,
            stdio: ["ignore", "pipe", "ignore"]
          })
        ),
        ({ pid = 0 }) => Effect.sync(() => process.kill(-pid, "SIGKILL"))
      )
      yield* Effect.promise(() => once(child.stdout, "data"))
      const watching = yield* Effect.fork(makeWatchCrowd(40)(child.pid ?? 0))
      yield* TestClock.adjust("500 millis")
      expect(Option.isSome(yield* Fiber.poll(watching))).toBe(true)
    })
)

/** A machine with one command, whose leader is the process 10, and this many processes in it. */
const machine = (size: number, threads = size + 100) => {
  const files: Record<string, string> = { "/proc/loadavg": `0.00 0.00 0.00 1/${threads} 1\n` }
  const pids = Array.from({ length: size }, (_, at) => String(10 + at))
  for (const pid of pids) files[`/proc/${pid}/stat`] = `${pid} (sleep) S 1 10 10 ${"0 ".repeat(15)}500 0\n`
  const said: Array<string> = []
  const killed: Array<number> = []
  const fs = {
    readFileSync: (file: string) => files[file] ?? "",
    readdirSync: () => pids,
    writeSync: (_: number, text: string) => said.push(text)
  }
  return {
    fs: fs as unknown as Parameters<typeof crowdEnder>[0],
    kill: (pid: number): true => (killed.push(pid), true),
    said,
    killed
  }
}

const commands = new Map([["mark", { pid: 10, began: "400" }]])

it("the watchdog ends a command that had too many processes before its first look", () => {
  const { fs, kill, killed, said } = machine(300)
  expect(crowdEnder(fs, kill, 200)(commands)).toEqual(["mark"])
  expect({ killed, said }).toEqual({ killed: [-10], said: ["mark\n"] })
})

it("the watchdog leaves others alone, and reads no processes while there are too few for a crowd", () => {
  const few = machine(150)
  expect(crowdEnder(few.fs, few.kill, 200)(commands)).toEqual([])
  const calm = machine(60, 150)
  let reads = 0
  const counting = { ...calm.fs, readdirSync: () => (reads++, []) } as unknown as Parameters<typeof crowdEnder>[0]
  crowdEnder(counting, calm.kill, 200)(commands)
  expect({ reads, killed: [...few.killed, ...calm.killed] }).toEqual({ reads: 0, killed: [] })
})
