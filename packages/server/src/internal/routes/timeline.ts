/** Reads when each agent of a tree did what: from messages, runs and the questions in the log. */
import type { Span } from "@skein/api/Output"
import { findSession } from "@skein/core/SessionLookup"
import { SessionStorage } from "@skein/core/SessionStorage"
import { listed } from "@skein/core/Snapshots"
import type { SessionID } from "@skein/domain/Id"
import type { TaskRun } from "@skein/domain/Outcome"
import { historyOf } from "@skein/view/AgentHistory"
import { Timeline } from "@skein/view/Timeline"
import * as Effect from "effect/Effect"
import { asProblem } from "./toProblem.ts"

/** How many sessions are read in parallel. */
const readers = 4

const asking = ["permission.asked", "permission.replied", "question.asked", "question.replied"] as const

const spanOfQueue = ({ id, state, time }: TaskRun): ReadonlyArray<Span> => {
  const end = time.started ?? time.settled
  if (state !== "queued" && end === time.created) return []
  const start = time.created
  return [{ id: `slot-${id}`, kind: "slot", start, ...(end === undefined ? {} : { end }), label: "waits for a slot" }]
}

/** The timeline of the tree that a session is in. Events after its `seq` may already be in it, and do no harm. */
export const readTimeline = Effect.fnUntraced(function*(id: string) {
  const storage = yield* SessionStorage
  const { rootID } = yield* asProblem(findSession(id))
  const { last: seq } = yield* asProblem(storage.eventRange(rootID))
  const { rows: sessions } = yield* asProblem(storage.sessions({ rootID }))
  const { rows: runs } = yield* asProblem(storage.runs({ rootID }))
  const timeline = new Timeline()
  for (const run of runs) for (const span of spanOfQueue(run)) timeline.put(run.taskID, span)
  for (const { event } of yield* asProblem(storage.events({ after: 0, rootID, types: asking }))) timeline.see(event)
  const read = Effect.fnUntraced(function*(sessionID: SessionID) {
    const { rows } = yield* asProblem(storage.messages(sessionID))
    for (const { info, parts } of rows) timeline.read(info, parts)
    return historyOf(sessionID, rows)
  })
  const known = yield* Effect.forEach(sessions, (session) => read(session.id), { concurrency: readers })
  for (const session of yield* asProblem(Effect.forEach(sessions, listed))) {
    timeline.now(session.id, session.status, session.turn?.began ?? session.time.created)
  }
  return { rootID, seq, sessions: known.map((each) => ({ ...each, spans: timeline.of(each.sessionID) })) }
})
