/** Decides how a tree of agents looks: a line for each that fits, and a count of those that do not. */
import { formatDuration } from "../duration.ts"
import { escapeLine } from "../escape.ts"
import { fit, widthOf } from "../terminal/width.ts"
import type { AgentNode } from "./agentTree.ts"

/** What a line is about, for those who colour it. */
type Tone = "active" | "waiting" | "done" | "failed"

/** A line of the tree. */
export interface TreeLine {
  readonly tone: Tone
  /** The agent that it is about, where it is about one. */
  readonly agent?: string
  readonly text: string
}

/** How much room there is, and when it is. */
export interface Frame {
  readonly columns: number
  readonly rows: number
  readonly now: number
}

const glyphs: Record<Tone, string> = { active: "●", waiting: "○", done: "✓", failed: "✗" }

/** A count in few characters: `950`, `4.2k`, `1.3M`. */
export const formatCount = (count: number): string => {
  if (count < 1_000) return String(count)
  if (count < 999_500) return `${(count / 1_000).toFixed(count < 9_950 ? 1 : 0)}k`
  return `${(count / 1_000_000).toFixed(1)}M`
}

const toneOf = ({ asks, state }: AgentNode): Tone => {
  if (state.type === "settled") return state.outcome === "completed" ? "done" : "failed"
  return asks.size > 0 || state.type !== "working" ? "waiting" : "active"
}

const doing = ({ asks, calls, state }: AgentNode, now: number): string => {
  const [ask] = asks.values()
  if (ask !== undefined) return `waits for your answer: ${ask}`
  switch (state.type) {
    case "settled":
      return state.outcome === "completed" ? "" : state.outcome.replaceAll("_", " ")
    case "queued":
      return `queued, place ${state.position}`
    case "retry":
      return `retry ${state.attempt} in ${formatDuration(state.next - now)}: ${state.message}`
    case "working": {
      const [first, ...others] = [...calls.values()].filter(({ tool }) => tool !== "task")
      if (first !== undefined) {
        return `${first.tool} ${first.title}${others.length === 0 ? "" : ` and ${others.length} more`}`.trim()
      }
      return calls.size > 0 ? "waits for its subagents" : state.what
    }
  }
}

const figures = (node: AgentNode, now: number): string =>
  [
    ...(node.steps === 0 ? [] : [`${node.steps} ${node.steps === 1 ? "step" : "steps"}`]),
    ...(node.tokens === 0 ? [] : [`${formatCount(node.tokens)} tokens`]),
    formatDuration((node.ended ?? now) - node.began)
  ].join(" · ")

const lineOf = (node: AgentNode, branch: string, { columns, now }: Frame): TreeLine => {
  const tone = toneOf(node)
  const what = doing(node, now)
  const left = `${branch}${glyphs[tone]} ${
    [node.agent, node.title, what].filter((text) => text !== "").map((text) => escapeLine(text.slice(0, 300))).join(
      "  "
    )
  }`
  const right = figures(node, now)
  // The last column stays free: a terminal may go to the next line as soon as it is written.
  const room = columns - 1 - widthOf(right) - 2
  if (room < 24) return { tone, agent: node.agent, text: fit(left, columns - 1) }
  const cut = fit(left, room)
  return { tone, agent: node.agent, text: `${cut}${" ".repeat(room - widthOf(cut) + 2)}${right}` }
}

/** Whether anything at or below an agent still goes on. */
const isActive = (node: AgentNode): boolean => node.state.type !== "settled" || node.children.some(isActive)

const walk = (
  node: AgentNode,
  keep: (child: AgentNode) => boolean,
  visit: (node: AgentNode, branch: string) => void,
  branch = "",
  below = ""
): void => {
  visit(node, branch)
  const children = node.children.filter(keep)
  children.forEach((child, i) => {
    const isLast = i === children.length - 1
    walk(child, keep, visit, `${below}${isLast ? "└─ " : "├─ "}`, `${below}${isLast ? "   " : "│  "}`)
  })
}

const count = (node: AgentNode): { done: number; failed: number } => {
  const total = { done: 0, failed: 0 }
  const visit = (each: AgentNode): void => {
    if (each.state.type === "settled") total[each.state.outcome === "completed" ? "done" : "failed"]++
    for (const child of each.children) visit(child)
  }
  visit(node)
  return total
}

const restLine = (hidden: ReadonlyArray<AgentNode>, { columns }: Frame): TreeLine => {
  const queued = hidden.filter(({ state }) => state.type === "queued").length
  const text = `… and ${hidden.length} more at work${queued === 0 ? "" : `, ${queued} of them queued`}`
  return { tone: "waiting", text: fit(text, columns - 1) }
}

/** The tree from a node on in at most `rows` lines. Where they are too many, those that have ended go first. */
export const treeLines = (root: AgentNode, frame: Frame): ReadonlyArray<TreeLine> => {
  const all: Array<TreeLine> = []
  const total = count(root)
  const settled = total.done + total.failed
  const draw = (keep: (node: AgentNode) => boolean, limit: number) => {
    const lines: Array<TreeLine> = []
    const hidden: Array<AgentNode> = []
    walk(root, keep, (node, branch) => {
      if (lines.length < limit) lines.push(lineOf(node, branch, frame))
      else hidden.push(node)
    })
    return { lines, hidden }
  }
  const whole = draw(() => true, frame.rows)
  if (whole.hidden.length === 0) return whole.lines
  const summary = settled === 0 ? [] : [{
    tone: total.failed === 0 ? "done" as const : "failed" as const,
    text: fit(
      `${glyphs.done} ${total.done} done${total.failed === 0 ? "" : `, ${glyphs.failed} ${total.failed} failed`}`,
      frame.columns - 1
    )
  }]
  const limit = Math.max(1, frame.rows - summary.length)
  const active = draw(isActive, limit)
  if (active.hidden.length > 0) {
    const fewer = draw(isActive, Math.max(1, limit - 1))
    all.push(...fewer.lines, restLine(fewer.hidden, frame))
  } else all.push(...active.lines)
  return [...all, ...summary].slice(0, Math.max(1, frame.rows))
}
