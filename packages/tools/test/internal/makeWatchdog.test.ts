import { expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { type ChildProcess, spawn } from "node:child_process"
import { readdirSync, readFileSync } from "node:fs"
import { makeWatchdog } from "../../src/internal/watchdog/makeWatchdog.ts"

const read = (file: string): string => {
  try {
    return readFileSync(file, "latin1")
  } catch {
    return ""
  }
}

/** The watchdogs of this process. */
const watchdogs = () =>
  readdirSync("/proc").map(Number).filter((pid) =>
    pid > 0 && new RegExp(`^PPid:\\s+${process.pid}$`, "m").test(read(`/proc/${pid}/status`))
    && read(`/proc/${pid}/cmdline`).includes("SKEIN_GROUP=")
  )

const until = (isSo: () => boolean): Effect.Effect<void> =>
  Effect.suspend(() => isSo() ? Effect.void : Effect.zipRight(Effect.sleep("10 millis"), until(isSo)))

it.live.skipIf(process.platform !== "linux")(
  "is started again if it is killed while a command runs that has no lease",
  () =>
    Effect.gen(function*() {
      yield* Effect.scoped(Effect.gen(function*() {
        const { watch } = yield* makeWatchdog({})
        yield* watch("mark", undefined)
        yield* until(() => watchdogs().length === 1)
        const [first = 0] = watchdogs()
        process.kill(first, "SIGKILL")
        yield* until(() => watchdogs().some((pid) => pid !== first))
        expect(watchdogs()).toHaveLength(1)
      }))
      yield* until(() => watchdogs().length === 0)
    })
)

/** Bash in a session of its own, marked as a command. It stays until it is killed. */
const command = (mark: string, script: string) =>
  Effect.acquireRelease(
    Effect.sync(() =>
      spawn("bash", ["-c", script], {
        detached: true,
        env: { PATH: process.env["PATH"], SKEIN_GROUP: mark },
        stdio: "ignore"
      })
    ),
    ({ pid = 0 }) => Effect.try(() => process.kill(-pid, "SIGKILL")).pipe(Effect.ignore)
  )

const ended = (child: ChildProcess) =>
  Effect.async<NodeJS.Signals | null>((resume) => {
    if (child.exitCode !== null || child.signalCode !== null) resume(Effect.succeed(child.signalCode))
    child.once("exit", (_, signal) => resume(Effect.succeed(signal)))
  })

/** How many processes have this mark. */
const countOf = (mark: string) =>
  readdirSync("/proc").filter((pid) =>
    /^\d+$/.test(pid) && read(`/proc/${pid}/environ`).includes(`SKEIN_GROUP=${mark}`)
    && !/^State:\s+[ZX]/m.test(read(`/proc/${pid}/status`))
  ).length

/** Scripts that start many processes. */
const crowds = {
  "in its group": "for i in {1..600}; do sleep 300 & done; wait",
  "in sessions of their own, without a parent": "for i in {1..600}; do (setsid sleep 300 &) ; done; sleep 300"
}

for (const [where, script] of Object.entries(crowds)) {
  it.live.skipIf(process.platform !== "linux")(
    `ends a command with too many processes ${where}, with all of them, and no other`,
    () =>
      Effect.gen(function*() {
        const { watch } = yield* makeWatchdog({ processes: 200 })
        const one = yield* watch("crowded1mark", undefined)
        const other = yield* watch("small1mark", undefined)
        const small = yield* command("small1mark", "sleep 300 & sleep 300; true")
        other.started(small.pid ?? 0)
        yield* until(() => countOf("small1mark") === 3)
        const crowded = yield* command("crowded1mark", script)
        one.started(crowded.pid ?? 0)
        expect(yield* ended(crowded)).toBe("SIGKILL")
        expect(one.exceeded()).toBe("It had more than 200 processes.")
        yield* until(() => countOf("crowded1mark") === 0)
        expect([other.exceeded(), countOf("small1mark")]).toEqual([undefined, 3])
      }).pipe(Effect.scoped)
  )
}
