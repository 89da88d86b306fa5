/** Declares `skein models`. */
import { command } from "../CommandSpec.ts"
import { directoryFlags, formatFlags, verboseFlags } from "./listing.ts"

/** Lists the models, and which can be used. */
export const models = command({
  name: "models",
  summary: "Lists the models, and which can be used",
  flags: { ...formatFlags, ...directoryFlags, ...verboseFlags },
  load: () => import("../internal/list/models.ts").then(({ listModels }) => listModels)
})
