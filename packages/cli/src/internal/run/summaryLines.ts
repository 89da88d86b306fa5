/** Decides what is left to be seen of a tree when a run has ended. */
import { formatDuration } from "../duration.ts"
import { escapeLine } from "../escape.ts"
import type { AgentTree } from "../tree/agentTree.ts"
import { formatCount } from "../tree/treeLine.ts"
import type { RunResult } from "./result.ts"

/** How many tasks that did not complete are named. */
const named = 5

/** A few lines: what went wrong, and what it took. */
export const summaryLines = (tree: AgentTree, result: RunResult, now: number): ReadonlyArray<string> => {
  const outcomes = new Map<string, number>()
  const failed: Array<string> = []
  for (const node of tree.all) {
    if (node === tree.root) continue
    const outcome = node.state.type === "settled" ? node.state.outcome : "unfinished"
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
    if (outcome !== "completed") {
      failed.push(
        `✗ ${escapeLine(node.agent)}  ${escapeLine(node.title.slice(0, 80))}  ${outcome.replaceAll("_", " ")}`
      )
    }
  }
  const tasks = [...outcomes.values()].reduce((sum, count) => sum + count, 0)
  const { cost, steps, tokens } = result.usage
  const told = [...outcomes].map(([outcome, count]) => `${count} ${outcome.replaceAll("_", " ")}`).join(", ")
  return [
    ...failed.slice(0, named),
    ...(failed.length > named ? [`✗ and ${failed.length - named} more`] : []),
    [
      ...(tasks === 0 ? [] : [`${tasks} ${tasks === 1 ? "task" : "tasks"} (${told})`]),
      `${steps} ${steps === 1 ? "step" : "steps"}`,
      `${formatCount(tokens.input + tokens.output)} tokens`,
      cost === "unknown" ? "cost unknown" : `$${cost}`,
      formatDuration(now - tree.root.began)
    ].join(" · ")
  ]
}
