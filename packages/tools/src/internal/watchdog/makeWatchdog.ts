/** Keeps what the watchdog has to know: the commands, and until when their trees are held. */
import type { SessionID } from "@skein/domain/Id"
import * as Effect from "effect/Effect"
import { uptime } from "node:os"
import { unwatched, type WatchdogPort } from "../../WatchdogPort.ts"
import { crowdedText, mostProcesses } from "../crowd.ts"
import { look } from "../processes.ts"
import { makeWatchdogChild } from "./watchdogChild.ts"

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
