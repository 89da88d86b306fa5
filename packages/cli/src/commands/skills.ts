/** Declares `skein skills`. */
import { command } from "../CommandSpec.ts"
import { directoryFlags, listingFlags, verboseFlags } from "../internal/sharedFlags.ts"

/** Lists the skills. */
export const skills = command({
  name: "skills",
  summary: "Lists the skills, and the files that cannot be used",
  flags: { ...listingFlags, ...directoryFlags, ...verboseFlags },
  load: () => import("../internal/list/skills.ts").then(({ listSkills }) => listSkills)
})
