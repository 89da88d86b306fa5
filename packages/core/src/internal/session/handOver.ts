/** Hands a tree over to another process while it works: between two steps, so that nothing is interrupted. */
import type { SessionID } from "@skein/domain/Id"
import * as Effect from "effect/Effect"
import { Answerer } from "../../Answerer.ts"
import { Leases } from "../../Leases.ts"
import { elapsed } from "../../MonotonicClock.ts"
import type { Live } from "../live/Live.ts"
import { SessionTable } from "../live/SessionTable.ts"
import { Recovery } from "../tasks/Recovery.ts"

/** How often to look whether all loops pause, in milliseconds. */
const pace = 20

type Table = typeof SessionTable.Service

const every = (live: Live, table: Table, is: (live: Live) => boolean): boolean =>
  is(live) && table.below(live.info.id).every((child) => every(child, table, is))

/** Whether its calls only wait for its tasks. Calls that wait for something else, such as a person, may not be interrupted. */
const waitsForTasks = ({ run, tasks }: Live): boolean =>
  run.waitsInAllCalls && tasks.running.filter(({ row }) => !row.background).length >= run.calls

/** Whether a session is between two steps. Its tasks have not begun, or have loops of their own. */
const isBetweenSteps = (live: Live): boolean => {
  const { pause, run, running, tasks } = live
  if (run.sideFibers.length > 0) return false
  if (tasks.running.some((task) => task.hasBegun && task.live.running === undefined)) return false
  return running === undefined || pause.has(live.info.id) || running.slot.isWaiting() || waitsForTasks(live)
}

/** Whether no session of the tree makes a call now, except to wait for its tasks. */
const makesNoCall = (live: Live): boolean => live.run.calls === 0 || waitsForTasks(live)

/** The root of a tree that works here, if nothing ties the tree to this process. */
const movable = (rootID: SessionID, table: Table, answerer: typeof Answerer.Service): Live | undefined => {
  const root = table.peek(rootID)
  // Work below a root without a turn was begun by a client of this process, which waits for it.
  const isAtWork = root?.running !== undefined && root.isRecovered && !root.isLeaving
  // Only this process answers its questions in that way.
  return isAtWork && !root.clock.isAsking && !answerer.isSet(rootID) ? root : undefined
}

/** Whether a tree may be handed over now. */
export const isMovable = Effect.fnUntraced(function*(rootID: SessionID) {
  const table = yield* SessionTable
  const root = movable(rootID, table, yield* Answerer)
  return root !== undefined && every(root, table, makesNoCall)
})

/**
 * Lets the loops of a tree pause before their next steps, and releases the tree once all of them do. Returns false, and the
 * loops continue, if that takes longer than `patience` milliseconds, or if a person is asked meanwhile.
 */
export const handOver = Effect.fn("Session.handOver")(function*(rootID: SessionID, patience: number) {
  const table = yield* SessionTable
  const leases = yield* Leases
  const recovery = yield* Recovery
  const answerer = yield* Answerer
  const clock = yield* Effect.clock
  const root = movable(rootID, table, answerer)
  if (root === undefined || !every(root, table, makesNoCall)) return false
  const end = elapsed(clock) + patience
  const isSame = () => movable(rootID, table, answerer) === root
  const isQuiet = () => isSame() && every(root, table, isBetweenSteps)
  const drained: Effect.Effect<boolean> = Effect.suspend(() => {
    if (isQuiet()) return Effect.succeed(true)
    if (!isSame() || elapsed(clock) >= end) return Effect.succeed(false)
    return Effect.zipRight(Effect.sleep(pace), drained)
  })
  // From the last look on nothing else runs until the lease is dropped.
  const left = Effect.suspend(() => isQuiet() ? Effect.as(leases.leave(rootID), true) : Effect.succeed(false))
  return yield* Effect.acquireUseRelease(
    Effect.sync(() => root.pause.begin()),
    () => Effect.flatMap(drained, (isDrained) => isDrained ? recovery.instead(rootID, left) : Effect.succeed(false)),
    () => root.pause.end
  )
})
