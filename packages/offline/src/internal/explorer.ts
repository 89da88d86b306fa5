/** The surveying subagent: looks at its part, then reports. */
import type { Brief } from "./brief.ts"
import type { Turn } from "./conversation.ts"
import { conclude } from "./findings.ts"
import { gather } from "./gathered.ts"
import { lookAround, lookCloser, mostRounds, unseen } from "./looking/exploring.ts"
import { ownerIndex } from "./modules.ts"
import { writePart } from "./partReport.ts"
import type { Decision, Toolbox } from "./toolbox.ts"

/** The next step of an agent that surveys a part. */
export const explorePart = (brief: Brief, turn: Turn, tools: Toolbox): Decision => {
  if (turn.rounds.length === 0) {
    const look = lookAround(brief, tools, false)
    if (look.length > 0) return { text: `Looking at ${brief.label}.`, calls: look }
  }
  const calls = turn.rounds.flat()
  const found = gather(calls, tools.directory, brief.modules.flatMap((module) => module.files))
  const owner = ownerIndex(brief.all)
  const files = found.files.filter((file) => brief.modules.some((module) => module.path === owner(file)))
  if (turn.rounds.length < mostRounds) {
    const closer = lookCloser(brief, tools, turn.rounds, files, owner)
    if (closer.length > 0) return { text: "Reading what tells most.", calls: closer }
  }
  return { text: writePart(conclude(brief, found, [...found.notes, ...unseen(brief, tools, calls, files)])), calls: [] }
}
