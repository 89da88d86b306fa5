/** Bounds the processes of commands, also of one that had its crowd before anybody looked. */
import { expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as TestClock from "effect/TestClock"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { crowdFinder, makeWatchCrowd } from "../../src/internal/watchdog/crowds.ts"

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
  return {
    readFileSync: (file: string) => files[file] ?? "",
    readdirSync: () => pids
  } as unknown as Parameters<typeof crowdFinder>[0]
}

const commands = new Map([["mark", { pid: 10, began: "400" }]])

it("finds a command that had too many processes before the first look", () => {
  expect(crowdFinder(machine(300), 200)(commands)).toEqual([{ mark: "mark", groups: new Set([10]) }])
})

it("leaves others alone, and reads no processes while there are too few for a crowd", () => {
  expect(crowdFinder(machine(150), 200)(commands)).toEqual([])
  let reads = 0
  const counting = { ...machine(60, 150), readdirSync: () => (reads++, []) } as unknown as Parameters<
    typeof crowdFinder
  >[0]
  crowdFinder(counting, 200)(commands)
  expect(reads).toBe(0)
})
