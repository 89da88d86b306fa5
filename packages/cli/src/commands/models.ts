/** Declares `skein models`. */
import { command } from "../CommandSpec.ts"
import { directoryFlags, listingFlags, verboseFlags } from "../internal/sharedFlags.ts"

/** Lists the models, and which are ready to use. */
export const models = command({
  name: "models",
  summary: "Lists the models, and which are ready to use",
  flags: { ...listingFlags, ...directoryFlags, ...verboseFlags },
  load: () => import("../internal/list/models.ts").then(({ listModels }) => listModels)
})
