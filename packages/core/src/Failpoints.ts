/** Owns the points at which tests crash the program. In production nothing happens there. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"

/** The points, in the order in which a prompt passes them. */
export const failpoints = [
  "user_msg_before_commit",
  "user_msg_after_commit",
  "ack_sent",
  "before_provider",
  "first_chunk",
  "mid_text",
  "mid_tool_args",
  "intent_before_commit",
  "intent_after_commit",
  "before_spawn",
  "after_spawn",
  "effect_done_before_exit",
  "exit_before_result_commit",
  "result_committed_before_publish",
  "published",
  "perm_before_commit",
  "perm_pending",
  "perm_reply_committed",
  "child_created_before_link",
  "child_running",
  "child_done_before_parent_result",
  "bg_done_committed",
  "wake_sent_before_mark",
  "compaction_before_commit",
  "compaction_after_commit",
  "migration_step",
  "draft_page_committed",
  "write_tmp_before_rename",
  "shutdown_drain"
] as const

/** The name of a point. */
export type FailpointName = typeof failpoints[number]

/** What happens at the points: nothing, unless a test provides it. */
export class Failpoints extends Context.Reference<Failpoints>()("@skein/core/Failpoints", {
  defaultValue: (): { readonly hit: (name: FailpointName) => void } => ({ hit: () => {} })
}) {}

/** Reports that the program reached a point. */
export const failpoint = (name: FailpointName): Effect.Effect<void> =>
  Effect.map(Failpoints, (points) => points.hit(name))
