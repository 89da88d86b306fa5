/** Declares `skein init`. */
import { command } from "../CommandSpec.ts"
import { directoryFlags, verboseFlags } from "../internal/sharedFlags.ts"

/** Begins the config of a project. */
export const init = command({
  name: "init",
  summary: "Creates skein.json for this project, with a schema for editors",
  details: "Overwrites nothing, and lists the files of OpenCode and Claude Code that Skein reads here as well.",
  flags: { ...directoryFlags, ...verboseFlags },
  load: () => import("../internal/create/project.ts").then(({ initProject }) => initProject)
})
