/** Decides what is left to be seen of a tree when a run has ended. */
import type { SessionID } from "@skein/domain/Id"
import { reason } from "@skein/domain/Outcome"
import type { Usage } from "@skein/domain/Usage"
import type { AgentTree } from "@skein/view/AgentTree"
import { formatCost, formatCount, formatDuration } from "@skein/view/Numbers"
import { escapeLine } from "./Escape.ts"

/** How a run ended. */
export interface Ended {
  readonly sessionID?: SessionID
  readonly outcome: string
  readonly usage: Usage
  readonly error?: { readonly tag: string }
}

/** How many files are named. */
const named = { files: 8 }

/** Those that did not settle `continue` if the run was left on a server. */
const taskLines = (
  tree: AgentTree,
  reported: ReadonlySet<SessionID>,
  isLeft: boolean
): { readonly counted: ReadonlyArray<string>; readonly failed: ReadonlyArray<string> } => {
  const outcomes = new Map<string, number>()
  const failed: Array<string> = []
  for (const { agent, id, state, title } of tree.all.slice(1)) {
    const outcome = state.type === "settled" ? state.outcome.status : isLeft ? "continuing" : "unfinished"
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
    if (outcome === "completed" || outcome === "continuing" || reported.has(id)) continue
    const why = state.type === "settled" ? `: ${escapeLine(reason(state.outcome).slice(0, 200))}` : ""
    failed.push(`✗ ${escapeLine(agent)}  ${escapeLine(title.slice(0, 80))}  ${outcome.replaceAll("_", " ")}${why}`)
  }
  const tasks = [...outcomes.values()].reduce((sum, count) => sum + count, 0)
  const counts = [...outcomes].map(([outcome, count]) => `${count} ${outcome.replaceAll("_", " ")}`).join(", ")
  return { counted: tasks === 0 ? [] : [`${tasks} ${tasks === 1 ? "task" : "tasks"} (${counts})`], failed }
}

const fileLine = (files: ReadonlyArray<string>): ReadonlyArray<string> => {
  if (files.length === 0) return []
  const more = files.length - named.files
  const shown = files.slice(0, named.files).map((file) => escapeLine(file.slice(0, 200))).join(", ")
  return [`changed: ${shown}${more > 0 ? ` and ${more} more` : ""}`]
}

/** How to continue. If something went wrong, the line about that says it instead. */
const sessionLine = ({ error, outcome, sessionID }: Ended, way: string): ReadonlyArray<string> => {
  if (sessionID === undefined) return []
  const next = error === undefined || (outcome === "denied" && error.tag !== "denied")
    ? `, continue with: skein run -s ${sessionID}${way} "…"`
    : ""
  return [`session ${sessionID}${next}`]
}

/**
 * A few lines: what went wrong, the cost, the changed files, and how to continue. `told` are tasks whose failure is shown
 * above.
 */
export const summaryLines = (
  tree: AgentTree,
  result: Ended,
  { files, now, reported, way = "" }: {
    readonly files: ReadonlyArray<string>
    readonly now: number
    readonly reported: ReadonlySet<SessionID>
    /** The flags with which `skein run` reaches the session, each after a space. */
    readonly way?: string
  }
): ReadonlyArray<string> => {
  const { counted, failed } = taskLines(tree, reported, result.outcome === "left")
  const { cost, estimated, steps, tokens } = result.usage
  return [
    ...failed,
    [
      result.outcome.replaceAll("_", " "),
      formatDuration(now - tree.root.began),
      `${steps} ${steps === 1 ? "step" : "steps"}`,
      `${formatCount(tokens.input + tokens.output)} tokens${estimated === true ? " (estimated)" : ""}`,
      formatCost(cost),
      ...counted
    ].join(" · "),
    ...fileLine(files),
    ...sessionLine(result, way)
  ]
}
