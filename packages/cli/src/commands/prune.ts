/** Declares `skein sessions prune`. */
import { command } from "../CommandSpec.ts"
import { pruneFlags } from "../internal/prune/flags.ts"

/** Removes what is old. */
export const prune = command({
  name: "prune",
  summary: "Removes old events, long texts and, if asked, old sessions",
  details:
    "Events, and tool outputs too long for a model, are kept for 30 days; `skein run` looks after that once a day.",
  flags: pruneFlags,
  load: () => import("../internal/prune/execute.ts").then(({ executePrune }) => executePrune)
})
