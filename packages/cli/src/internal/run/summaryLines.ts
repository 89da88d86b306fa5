/** Decides what is left to be seen of a tree when a run has ended. */
import { formatDuration } from "../duration.ts"
import { escapeLine } from "../escape.ts"
import type { AgentTree } from "../tree/agentTree.ts"
import { formatCost, formatCount } from "../tree/treeLine.ts"
import type { RunResult } from "./result.ts"

/** How many tasks that did not complete are named, and how many files. */
const named = { tasks: 5, files: 8 }

const taskLines = (
  tree: AgentTree
): { readonly told: ReadonlyArray<string>; readonly failed: ReadonlyArray<string> } => {
  const outcomes = new Map<string, number>()
  const failed: Array<string> = []
  for (const { agent, state, title } of tree.all.slice(1)) {
    const outcome = state.type === "settled" ? state.outcome : "unfinished"
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
    if (outcome === "completed") continue
    const why = state.type === "settled" ? `: ${escapeLine(state.reason.slice(0, 200))}` : ""
    failed.push(`✗ ${escapeLine(agent)}  ${escapeLine(title.slice(0, 80))}  ${outcome.replaceAll("_", " ")}${why}`)
  }
  const tasks = [...outcomes.values()].reduce((sum, count) => sum + count, 0)
  const told = [...outcomes].map(([outcome, count]) => `${count} ${outcome.replaceAll("_", " ")}`).join(", ")
  const more = failed.length - named.tasks
  return {
    told: tasks === 0 ? [] : [`${tasks} ${tasks === 1 ? "task" : "tasks"} (${told})`],
    failed: [...failed.slice(0, named.tasks), ...(more > 0 ? [`✗ and ${more} more`] : [])]
  }
}

const fileLine = (files: ReadonlyArray<string>): ReadonlyArray<string> => {
  if (files.length === 0) return []
  const more = files.length - named.files
  const shown = files.slice(0, named.files).map((file) => escapeLine(file.slice(0, 200))).join(", ")
  return [`changed: ${shown}${more > 0 ? ` and ${more} more` : ""}`]
}

/** How to go on; where something went wrong, the line that says so says this too. */
const sessionLine = ({ error, outcome, sessionID }: RunResult): ReadonlyArray<string> => {
  if (sessionID === undefined) return []
  const next = error === undefined || outcome === "denied" ? `, go on with: skein run -s ${sessionID} "…"` : ""
  return [`session ${sessionID}${next}`]
}

/** A few lines: what went wrong, what it took, what was changed, and how to go on. */
export const summaryLines = (
  tree: AgentTree,
  result: RunResult,
  files: ReadonlyArray<string>,
  now: number
): ReadonlyArray<string> => {
  const { failed, told } = taskLines(tree)
  const { cost, steps, tokens } = result.usage
  return [
    ...failed,
    [
      result.outcome.replaceAll("_", " "),
      formatDuration(now - tree.root.began),
      `${steps} ${steps === 1 ? "step" : "steps"}`,
      `${formatCount(tokens.input + tokens.output)} tokens`,
      cost === "unknown" ? "cost unknown" : formatCost(cost),
      ...told
    ].join(" · "),
    ...fileLine(files),
    ...sessionLine(result)
  ]
}
