/** Owns the process of the watchdog: starts it, writes to it, and starts it again if it dies while it is needed. */
import * as Effect from "effect/Effect"
import * as FiberHandle from "effect/FiberHandle"
import { type ChildProcess, spawn } from "node:child_process"
import { execPath } from "node:process"
import { createInterface } from "node:readline"
import { crowdEnder } from "./crowdEnder.ts"
import { watchdogProgram } from "./watchdogProgram.ts"

const programFor = (processes: number): string =>
  `const fs = require("node:fs"), kill = process.kill.bind(process);
(${watchdogProgram})(fs, () => require("node:os").uptime() * 100, process, (${crowdEnder})(fs, kill, ${processes}))`

/** Small: it keeps a few names. */
const nodeOptions = ["--max-old-space-size=16", "--max-semi-space-size=1"]

/** How long to wait before it is started again: it may end at once each time. */
const pause = "1 second"

/**
 * The process, until the scope closes. It is started with the orders that are `known`, as arguments: it would not get them
 * if this process were killed before it could write them.
 */
export const makeWatchdogChild = ({ crowded, isNeeded, known, processes }: {
  readonly known: () => ReadonlyArray<string>
  readonly isNeeded: () => boolean
  /** How many processes a command may have. */
  readonly processes: number
  /** A command with this mark had more, and is being ended. */
  readonly crowded: (mark: string) => void
}) =>
  Effect.gen(function*() {
    let child: ChildProcess | undefined
    const later = yield* FiberHandle.makeRuntime<never>()

    /** Starts it unless it is there; whether it was started. */
    const start = (): boolean => {
      if (child !== undefined) return false
      // In a session of its own, so that what ends this process by its terminal does not end it. It sees no secrets.
      const started = spawn(execPath, [...nodeOptions, "-e", programFor(processes), "--", ...known()], {
        detached: true,
        env: {},
        cwd: "/",
        stdio: ["pipe", "pipe", "ignore"]
      })
      child = started
      createInterface(started.stdout).on("line", crowded)
      const gone = () => {
        if (child !== started) return
        child = undefined
        later(Effect.delay(Effect.sync(() => isNeeded() && start()), pause))
      }
      started.on("exit", gone).on("error", gone)
      started.stdin.on("error", gone)
      started.unref()
      // Otherwise this process could not end before its watchdog.
      if ("unref" in started.stdout && typeof started.stdout.unref === "function") started.stdout.unref()
      return true
    }

    yield* Effect.addFinalizer(() => Effect.sync(() => child?.stdin?.end()))
    return { start, tell: (line: string) => void child?.stdin?.write(`${line}\n`) }
  })
