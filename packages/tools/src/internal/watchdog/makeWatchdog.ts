/** Keeps what the watchdog has to know: the commands, and until when their trees are held. */
import type { SessionID } from "@skein/domain/Id"
import * as Effect from "effect/Effect"
import * as FiberHandle from "effect/FiberHandle"
import { type ChildProcess, spawn } from "node:child_process"
import { uptime } from "node:os"
import { execPath } from "node:process"
import { createInterface } from "node:readline"
import { unwatched, type WatchdogPort } from "../../Tracked.ts"
import { look } from "../process/processes.ts"
import { crowdedText, crowdFinder, mostProcesses, watchdogProgram } from "./watchdogProgram.ts"

const programFor = (processes: number): string =>
  `const fs = require("node:fs");
(${watchdogProgram})(fs, () => require("node:os").uptime() * 100, process, (${crowdFinder})(fs, ${processes}))`

/** Small: it keeps a few names. */
const nodeOptions = ["--max-old-space-size=16", "--max-semi-space-size=1"]

/** How long to wait before it is started again: it may end at once each time. */
const pause = "1 second"

/**
 * The process, until the scope closes. It is started with the orders that are `known`, as arguments: it would not get them
 * if this process were killed before it could write them.
 */
const makeWatchdogChild = ({ crowded, isNeeded, known, processes }: {
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

interface Watched {
  readonly rootID: SessionID | undefined
  process: string | undefined
  /** Whether its tree was not held for a moment. */
  hasLapsed: boolean
  /** Whether it was ended for its many processes. */
  isCrowded: boolean
}

/** The end of a time from now on, on the clock of the machine, as the program counts it. */
const endIn = (milliseconds: number): number => Math.round(uptime() * 100 + milliseconds / 10)

const isOver = (end: number | undefined): boolean => end !== undefined && uptime() * 100 >= end

/**
 * Makes it. A tree counts as held for `leaseLength` milliseconds when its first command begins; without that, as long as
 * this process lives.
 */
export const makeWatchdog = ({ isForStrays = false, leaseLength, processes = mostProcesses }: {
  readonly leaseLength?: number
  /** Whether it leaves commands alone that end with this process anyway. */
  readonly isForStrays?: boolean
  /** How many processes a command may have. */
  readonly processes?: number
}) =>
  Effect.gen(function*() {
    const watched = new Map<string, Watched>()
    /** Until when the trees of commands are held. */
    const ends = new Map<SessionID, number>()
    const { start, tell } = yield* makeWatchdogChild({
      known: () => [...watched].flatMap(([mark, each]) => introduction(mark, each)),
      isNeeded: () => watched.size > 0,
      processes,
      crowded: (mark) => {
        const each = watched.get(mark)
        if (each !== undefined) each.isCrowded = true
      }
    })
    const introduction = (mark: string, { process, rootID }: Watched): ReadonlyArray<string> => [
      `+ ${mark} ${rootID ?? "-"} ${rootID === undefined ? "-" : ends.get(rootID)}`,
      ...(process === undefined ? [] : [process])
    ]

    const forget = (mark: string, rootID: SessionID | undefined) => {
      watched.delete(mark)
      tell(`- ${mark}`)
      if (rootID !== undefined && ![...watched.values()].some((each) => each.rootID === rootID)) ends.delete(rootID)
    }

    return {
      watch: (mark, tree, endsItself = false) => {
        if (isForStrays && endsItself) return Effect.succeed(unwatched)
        const rootID = leaseLength === undefined ? undefined : tree
        return Effect.acquireRelease(
          Effect.sync(() => {
            const each: Watched = { rootID, process: undefined, hasLapsed: false, isCrowded: false }
            if (rootID !== undefined && leaseLength !== undefined && !ends.has(rootID)) {
              ends.set(rootID, endIn(leaseLength))
            }
            watched.set(mark, each)
            if (!start()) introduction(mark, each).forEach(tell)
            return {
              started: (pid: number) => {
                each.process = `p ${mark} ${pid} ${look(pid)?.began ?? "-"}`
                tell(each.process)
              },
              hasLapsed: () => each.hasLapsed || (rootID !== undefined && isOver(ends.get(rootID))),
              exceeded: () => each.isCrowded ? crowdedText(processes) : undefined
            }
          }),
          () => Effect.sync(() => forget(mark, rootID))
        )
      },
      extend: (rootID, left) => {
        if (!ends.has(rootID)) return
        if (isOver(ends.get(rootID))) {
          for (const each of watched.values()) if (each.rootID === rootID) each.hasLapsed = true
        }
        const end = endIn(left)
        ends.set(rootID, end)
        start()
        tell(`= ${rootID} ${end}`)
      }
    } satisfies WatchdogPort
  })
