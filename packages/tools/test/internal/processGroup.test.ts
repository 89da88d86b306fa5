import { expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/TestClock"
import { type ChildProcess, spawn } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { markedBy } from "../../src/internal/process/processes.ts"
import { processGroup } from "../../src/internal/process/processGroup.ts"
import { gone, isAlive, pidIn } from "../support/processes.ts"

const start = (environment: Readonly<Record<string, string>>) =>
  Effect.acquireRelease(
    Effect.async<ChildProcess>((resume) => {
      const child = spawn("sleep", ["9999"], {
        stdio: "ignore",
        detached: true,
        env: { ...process.env, ...environment }
      })
      child.once("spawn", () => resume(Effect.succeed(child)))
    }),
    (child) => Effect.sync(() => child.kill("SIGKILL"))
  )

it.scoped("looks at newer processes alone while numbers are not used again, and then at all", () =>
  Effect.gen(function*() {
    const environment = markedBy("test0mark", {})
    const clock = yield* Effect.clock
    const kill = (leader: ChildProcess) =>
      processGroup({ pid: leader.pid ?? 0, mark: "test0mark", ended: Effect.never, clock })
    const older = (yield* start(environment)).pid ?? 0
    const first = yield* start(environment)
    yield* kill(first).kill
    yield* gone(first.pid ?? 0)
    expect(isAlive(older)).toBe(true)
    const second = kill(yield* start(environment))
    yield* TestClock.adjust("6 seconds")
    yield* second.kill
    yield* gone(older)
  }))

it.scoped("has ended once it was killed, however long the system takes to free its memory", () =>
  Effect.gen(function*() {
    const directory = yield* Effect.acquireRelease(
      Effect.sync(() => fs.mkdtempSync(path.join(os.tmpdir(), "skein-group-"))),
      (made) => Effect.sync(() => fs.rmSync(made, { recursive: true }))
    )
    const file = path.join(directory, "pid")
    const large =
      `Buffer.alloc(3e8, 1); require("fs").writeFileSync(process.argv[1], process.pid + "\\n"); setInterval(() => {}, 9e6)`
    const leader = spawn("sh", [
      "-c",
      `"$@" & exec sleep 9999`,
      "sh",
      process.execPath,
      "-e",
      `globalThis.kept = ${large}`,
      file
    ], {
      stdio: "ignore",
      detached: true
    })
    const group = processGroup({
      pid: leader.pid ?? 0,
      mark: "test1mark",
      ended: Effect.never,
      clock: yield* Effect.clock
    })
    const pid = yield* pidIn(file)
    yield* group.kill
    expect([pid, leader.pid ?? 0].filter(isAlive)).toEqual([])
  }))
