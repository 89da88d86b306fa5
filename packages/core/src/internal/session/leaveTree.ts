/**
 * Leaves a tree to other processes. While it works, it is handed over between two steps. At the end of a process, calls
 * that have begun get a moment to end, and the others are handed over as not begun. Answers that are still arriving end
 * here, and what has arrived is charged: the next process counts no crash.
 */
import type { SessionID } from "@skein/domain/Id"
import * as Effect from "effect/Effect"
import { Answerer } from "../../Answerer.ts"
import { Journal } from "../../Journal.ts"
import { Leases } from "../../Leases.ts"
import { elapsed } from "../../MonotonicClock.ts"
import { SessionStorage } from "../../SessionStorage.ts"
import type { Write } from "../../Write.ts"
import { endAnswers } from "../conversation/closeTurn.ts"
import type { Live } from "../live/Live.ts"
import { SessionTable } from "../live/SessionTable.ts"
import { hasBegun } from "../live/TaskList.ts"
import { Recovery } from "../tasks/Recovery.ts"

/** How often to look whether all loops pause, or all calls have ended, in milliseconds. */
const pace = 20

type Table = typeof SessionTable.Service

const every = (live: Live, table: Table, is: (live: Live) => boolean): boolean =>
  is(live) && table.below(live.info.id).every((child) => every(child, table, is))

/** Whether a session is between two steps. Its tasks have not begun, or have loops of their own. */
const isBetweenSteps = (live: Live): boolean => {
  const { pause, run, running, tasks } = live
  if (run.sideFibers.size > 0) return false
  if (tasks.running.some((task) => hasBegun(task) && task.live.running === undefined)) return false
  return running === undefined || pause.has(live.info.id) || running.slot.isWaiting() ||
    (live.calls.size > 0 && live.calls.allParked)
}

/** Whether a session makes no call, but those that another process can continue. Others may not be interrupted. */
const makesNoCall = (live: Live): boolean => live.calls.allParked

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

/** How long to wait for the calls that have begun, in milliseconds. After that they are interrupted. */
const grace = 1_000

/** Whether a session makes no call but those that wait: for tasks, for people, or because nothing may begin any more. */
const isQuiet = ({ calls }: Live): boolean => calls.size === 0 || calls.allWait

const allBelow = (live: Live, table: typeof SessionTable.Service): ReadonlyArray<Live> => [
  live,
  ...table.below(live.info.id).flatMap((child) => allBelow(child, table))
]

/** The calls that the next holder may make, because they have not begun. */
const unbegun = ({ calls, messages = [] }: Live): ReadonlyArray<Write> =>
  messages.flatMap(({ parts }) =>
    parts.flatMap((part): ReadonlyArray<Write> =>
      part.type === "tool" && part.state.status === "running" && part.intent !== undefined && calls.isUnbegun(part.id)
        ? [{ _tag: "Part", part: { ...part, intent: { ...part.intent, begun: false } } }]
        : []
    )
  )

/** Leaves what this process has in memory. */
const leaveLive = Effect.fnUntraced(function*(root: Live) {
  const table = yield* SessionTable
  const leases = yield* Leases
  const clock = yield* Effect.clock
  const end = elapsed(clock) + grace
  const journal = yield* Journal
  const quiet: Effect.Effect<void> = Effect.suspend(() =>
    allBelow(root, table).every((live) => isQuiet(live) && !journal.owes(live.info.id)) || elapsed(clock) >= end
      ? Effect.void
      : Effect.zipRight(Effect.sleep(pace), quiet)
  )
  const last = () => [
    ...allBelow(root, table).flatMap(unbegun),
    ...allBelow(root, table).flatMap((live) => endAnswers(live, live.messages ?? [], clock.unsafeCurrentTimeMillis()))
      .filter((entry) => entry._tag !== "Fact" && entry._tag !== "DeleteSession")
  ]
  yield* Effect.acquireUseRelease(
    Effect.sync(() => {
      root.pause.begin()
      root.pause.leave()
    }),
    () => Effect.zipRight(quiet, leases.leave(root.info.id, last)),
    () => Effect.zipRight(root.pause.stay, root.pause.end)
  )
})

/** Ends what runs here of a tree, without storing an end. Returns the background runs that are left. */
export const leaveTree = Effect.fn("Session.leave")(function*(id: SessionID) {
  const table = yield* SessionTable
  const storage = yield* SessionStorage
  const leases = yield* Leases
  const { rootID } = (yield* table.open(id)).info
  const leaving = Effect.suspend(() => {
    const root = table.peek(rootID)
    return root === undefined ? leases.leave(rootID) : leaveLive(root)
  })
  yield* (yield* Recovery).instead(rootID, leaving)
  const { rows } = yield* storage.runs({ rootID, unsettled: true })
  return rows.filter(({ background }) => background)
})
