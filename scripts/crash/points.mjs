// @ts-check
// The points at which the program is killed, how often the script reaches each, and by which step.

/** @type {Readonly<Record<string, { readonly times: number, readonly variant?: import("./script.mjs").Variant }>>} */
export const points = {
  user_msg_before_commit: { times: 3 },
  user_msg_after_commit: { times: 3 },
  ack_sent: { times: 60 },
  before_provider: { times: 12 },
  first_chunk: { times: 12 },
  mid_text: { times: 30 },
  mid_tool_args: { times: 20 },
  intent_before_commit: { times: 10 },
  intent_after_commit: { times: 10 },
  before_spawn: { times: 5 },
  after_spawn: { times: 5 },
  effect_done_before_exit: { times: 5 },
  exit_before_result_commit: { times: 12 },
  result_committed_before_publish: { times: 40 },
  published: { times: 40 },
  perm_before_commit: { times: 1, variant: { asks: true } },
  perm_pending: { times: 1, variant: { asks: true } },
  perm_reply_committed: { times: 1, variant: { asks: true } },
  child_created_before_link: { times: 2 },
  child_running: { times: 2 },
  child_done_before_parent_result: { times: 2 },
  bg_done_committed: { times: 1 },
  wake_sent_before_mark: { times: 1 },
  compaction_before_commit: { times: 1, variant: { compacts: true } },
  compaction_after_commit: { times: 1, variant: { compacts: true } },
  migration_step: { times: 20 },
  write_tmp_before_rename: { times: 1 },
  shutdown_drain: { times: 1 }
}
