/** Ends a run with its answer while subagents are at work in the background: they are left for the next prompt or resume. */
import { Session } from "@skein/core/Session"
import { SessionStorage } from "@skein/core/SessionStorage"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { InterruptedTask } from "./result.ts"

/** Whether anything of the tree is still under way: a task, news that nobody has read, or a turn that news has begun. */
const isAtWork = Effect.fnUntraced(function*({ id, rootID }: SessionInfo) {
  const storage = yield* SessionStorage
  const { rows } = yield* storage.runs({ rootID, unsettled: true })
  if (rows.length > 0 || (yield* storage.inbox(id)).rows.length > 0) return true
  const turn = Option.getOrUndefined(yield* storage.session(id))?.turn
  return turn !== undefined && turn.ended === undefined
})

/** Leaves what is under way in the tree of this session, and gives the tasks that are interrupted by that. */
export const leaveBackground = Effect.fnUntraced(function*(current: SessionInfo) {
  if (!(yield* isAtWork(current))) return []
  const left = yield* Effect.flatMap(Session, (session) => session.leave(current.id))
  return left.map((run): InterruptedTask => ({
    task_id: run.taskID,
    run_id: run.id,
    agent: run.agent,
    description: run.description
  }))
})
