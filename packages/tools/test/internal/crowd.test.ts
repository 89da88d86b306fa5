/** Bounds the processes of commands, also of one that had its crowd before anybody looked. */
import { expect, it } from "vitest"
import { crowdFinder } from "../../src/internal/watchdog/watchdogProgram.ts"

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
