/** Declares `skein sessions prune`. */
import { command } from "../CommandSpec.ts"
import { pruneFlags } from "../internal/prune/flags.ts"

/** Removes what is old. */
export const prune = command({
  name: "prune",
  summary: "Removes old events, long tool outputs and, with --older-than, sessions",
  details: "Skein keeps events and long tool outputs for 30 days. `skein run` prunes them once a day.",
  flags: pruneFlags,
  load: () => import("../internal/prune/execute.ts").then(({ executePrune }) => executePrune)
})
