/** Starts the process of the watchdog, and starts it again if it ended while there are commands. */
import type { SessionID } from "@skein/domain/Id"
import * as Effect from "effect/Effect"
import { type ChildProcess, spawn } from "node:child_process"
import { uptime } from "node:os"
import { execPath } from "node:process"
import type { WatchdogPort } from "../../WatchdogPort.ts"
import { look } from "../processes.ts"
import { watchdogProgram } from "./watchdogProgram.ts"

const program = `(${watchdogProgram})(require("node:fs"), () => require("node:os").uptime() * 100, process)`

/** Small: it keeps a few names. */
const nodeOptions = ["--max-old-space-size=16", "--max-semi-space-size=1"]

interface Watched {
  readonly rootID: SessionID | undefined
  process: string | undefined
  /** Whether its tree was not held for a moment. */
  hasLapsed: boolean
}

/** The end of a time from now on, on the clock of the machine, as the program counts it. */
const endIn = (milliseconds: number): number => Math.round(uptime() * 100 + milliseconds / 10)

const isOver = (end: number | undefined): boolean => end !== undefined && uptime() * 100 >= end

/**
 * Makes it. A tree counts as held for `leaseLength` milliseconds when its first command begins; without that, as long as
 * this process lives.
 */
export const makeWatchdog = ({ leaseLength }: { readonly leaseLength?: number }) =>
  Effect.gen(function*() {
    const watched = new Map<string, Watched>()
    /** Until when the trees of commands are held. */
    const ends = new Map<SessionID, number>()
    let child: ChildProcess | undefined

    const tell = (line: string) => void child?.stdin?.write(`${line}\n`)
    const introduce = (mark: string, { process, rootID }: Watched) => {
      tell(`+ ${mark} ${rootID ?? "-"} ${rootID === undefined ? "-" : ends.get(rootID)}`)
      if (process !== undefined) tell(process)
    }

    const start = () => {
      if (child !== undefined) return
      // In a session of its own, so that what ends this process by its terminal does not end it. It sees no secrets.
      const started = spawn(execPath, [...nodeOptions, "-e", program], {
        detached: true,
        env: {},
        cwd: "/",
        stdio: ["pipe", "ignore", "ignore"]
      })
      child = started
      const gone = () => {
        if (child === started) child = undefined
      }
      started.on("exit", gone).on("error", gone)
      started.stdin.on("error", gone)
      started.unref()
      for (const [mark, each] of watched) introduce(mark, each)
    }

    const forget = (mark: string, rootID: SessionID | undefined) => {
      watched.delete(mark)
      tell(`- ${mark}`)
      if (rootID !== undefined && ![...watched.values()].some((each) => each.rootID === rootID)) ends.delete(rootID)
    }

    yield* Effect.addFinalizer(() => Effect.sync(() => child?.stdin?.end()))

    return {
      watch: (mark, tree) => {
        const rootID = leaseLength === undefined ? undefined : tree
        return Effect.acquireRelease(
          Effect.sync(() => {
            const each: Watched = { rootID, process: undefined, hasLapsed: false }
            if (rootID !== undefined && leaseLength !== undefined && !ends.has(rootID)) {
              ends.set(rootID, endIn(leaseLength))
            }
            watched.set(mark, each)
            if (child === undefined) start()
            else introduce(mark, each)
            return {
              started: (pid: number) => {
                each.process = `p ${mark} ${pid} ${look(pid)?.began ?? "-"}`
                tell(each.process)
              },
              hasLapsed: () => each.hasLapsed || (rootID !== undefined && isOver(ends.get(rootID)))
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
