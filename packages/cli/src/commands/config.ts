/** Declares `skein config`. */
import { command } from "../CommandSpec.ts"
import { directoryFlags, formatFlags, verboseFlags } from "./listing.ts"

/** Shows the settings that hold here, each with its origin. */
export const config = command({
  name: "config",
  summary: "Shows the settings that hold here, each with its origin",
  flags: { ...formatFlags, ...directoryFlags, ...verboseFlags },
  load: () => import("../internal/list/config.ts").then(({ showConfig }) => showConfig)
})
