/**
 * Leaves a tree to other processes: calls that have begun get a moment to end, and the others are handed over as not begun.
 * Answers that are still arriving end here, and what has arrived is charged: the next process counts no crash.
 */
import type { SessionID } from "@skein/domain/Id"
import type { ToolPart } from "@skein/domain/Part"
import * as Effect from "effect/Effect"
import { Leases } from "../../Leases.ts"
import { elapsed } from "../../MonotonicClock.ts"
import { SessionStorage } from "../../SessionStorage.ts"
import type { Write } from "../../Write.ts"
import { endAnswers } from "../conversation/closeTurn.ts"
import type { Live } from "../live/Live.ts"
import { SessionTable } from "../live/SessionTable.ts"
import { Recovery } from "../tasks/Recovery.ts"

/** How long to wait for the calls that have begun, in milliseconds. After that they are interrupted. */
const grace = 1_000

/** How often to look whether they have ended, in milliseconds. */
const pace = 20

/** Whether a session makes no call but those that wait: for tasks, for people, or because nothing may begin any more. */
const isQuiet = ({ run }: Live): boolean => run.calls === 0 || run.waitsInAllCalls

const allBelow = (live: Live, table: typeof SessionTable.Service): ReadonlyArray<Live> => [
  live,
  ...table.below(live.info.id).flatMap((child) => allBelow(child, table))
]

/** A call that the next holder may make, because it has not begun. */
const unbegun = (part: ToolPart): ReadonlyArray<Write> =>
  part.intent === undefined ? [] : [{ _tag: "Part", part: { ...part, intent: { ...part.intent, begun: false } } }]

/** Leaves what this process has in memory. */
const leaveLive = Effect.fnUntraced(function*(root: Live) {
  const table = yield* SessionTable
  const leases = yield* Leases
  const clock = yield* Effect.clock
  const end = elapsed(clock) + grace
  const quiet: Effect.Effect<void> = Effect.suspend(() =>
    allBelow(root, table).every(isQuiet) || elapsed(clock) >= end
      ? Effect.void
      : Effect.zipRight(Effect.sleep(pace), quiet)
  )
  const last = () => [
    ...allBelow(root, table).flatMap(({ history }) => history.unbegun).flatMap(unbegun),
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
