/** Declares `skein init`. */
import { command } from "../CommandSpec.ts"
import { directoryFlags, verboseFlags } from "../internal/sharedFlags.ts"

/** Begins the config of a project. */
export const init = command({
  name: "init",
  summary: "Begins the config of this project: skein.json, with a schema for editors",
  details: "Writes over nothing, and says which files of OpenCode and Claude Code are read here as well.",
  flags: { ...directoryFlags, ...verboseFlags },
  load: () => import("../internal/create/project.ts").then(({ initProject }) => initProject)
})
