/** Decides how a tree of agents looks: a line for each that fits, those at work first, and a count of the others. */
import type { SessionID } from "@skein/domain/Id"
import type { AgentNode } from "@skein/view/AgentNode"
import type { AgentTree } from "@skein/view/AgentTree"
import { fit } from "../../Width.ts"
import { agentLine, type Frame, toneOf, type TreeLine } from "./treeLine.ts"

/** The states in which agents are counted, the most urgent first. */
const kinds = ["waiting for you", "at work", "trying again", "queued", "failed", "done"] as const

const kindOf = ({ asks, state }: AgentNode): typeof kinds[number] => {
  if (state.type === "settled") return state.outcome.status === "completed" ? "done" : "failed"
  if (asks.size > 0) return "waiting for you"
  switch (state.type) {
    case "working":
    case "elsewhere":
      return "at work"
    case "retry":
      return "trying again"
    case "queued":
      return "queued"
    case "away":
    case "stuck":
    case "interrupted":
    case "idle":
      return "done"
  }
}

const restLine = (hidden: ReadonlyArray<AgentNode>, { columns }: Frame): TreeLine => {
  const counts = new Map<string, number>()
  for (const node of hidden) counts.set(kindOf(node), (counts.get(kindOf(node)) ?? 0) + 1)
  const counted = kinds.flatMap((kind) => counts.has(kind) ? [`${counts.get(kind)} ${kind}`] : [])
  const tones = new Set(hidden.map(toneOf))
  const tone = (["active", "waiting", "failed"] as const).find((each) => tones.has(each)) ?? "done"
  return { tone, text: fit(`… and ${hidden.length} more: ${counted.join(", ")}`, columns - 1) }
}

/** The agents in the order in which they get lines: by urgency, those in the queue by their places, else as they began. */
const ranked = (all: ReadonlyArray<AgentNode>, places: ReadonlyMap<SessionID, number>): ReadonlyArray<AgentNode> => {
  const urgency = new Map(kinds.map((kind, rank) => [kind, rank]))
  const rankOf = (node: AgentNode) => urgency.get(kindOf(node)) ?? 0
  return all.toSorted((a, b) => rankOf(a) - rankOf(b) || (places.get(a.id) ?? 0) - (places.get(b.id) ?? 0))
}

/** Whether a task ended before the present turn of the root, or its last one, began. */
export const isPast = ({ ended, state }: AgentNode, { root }: AgentTree): boolean =>
  state.type === "settled" && ended !== undefined && ended < root.began

/** The agents that get a line, each with all above it. */
const chosen = (
  { all, places, root }: AgentTree,
  limit: number,
  first: AgentNode = root,
  candidates = all
): ReadonlySet<AgentNode> => {
  const byId = new Map(all.map((node) => [node.id, node]))
  const kept = new Set<AgentNode>([root])
  for (const node of [first, ...ranked(candidates, places)]) {
    const line: Array<AgentNode> = []
    let each: AgentNode | undefined = node
    while (each !== undefined && !kept.has(each)) {
      line.push(each)
      each = each.parentID === undefined ? undefined : byId.get(each.parentID)
    }
    if (kept.size + line.length <= limit) { for (const kin of line) kept.add(kin) }
    if (kept.size >= limit) break
  }
  return kept
}

const walk = (
  node: AgentNode,
  kept: ReadonlySet<AgentNode>,
  visit: (node: AgentNode, branch: string) => void,
  branch = "",
  below = ""
): void => {
  visit(node, branch)
  const children = node.children.filter((child) => kept.has(child))
  children.forEach((child, i) => {
    const isLast = i === children.length - 1
    walk(child, kept, visit, `${below}${isLast ? "└─ " : "├─ "}`, `${below}${isLast ? "   " : "│  "}`)
  })
}

/** The tree in at most `rows` lines. Of earlier turns, only what still runs gets lines; the rest is counted. */
export const treeLines = (tree: AgentTree, frame: Frame): ReadonlyArray<TreeLine> => {
  const { all, places, root } = tree
  const present = all.filter((node) => node === root || !isPast(node, tree))
  const isWhole = all.length <= frame.rows && present.length === all.length
  const kept = isWhole ? new Set(all) : chosen(tree, Math.max(1, frame.rows - 1), root, present)
  const lines: Array<TreeLine> = []
  walk(root, kept, (node, branch) => void lines.push(agentLine(node, branch, places.get(node.id), frame)))
  const hidden = isWhole || frame.rows < 2 ? [] : all.filter((node) => !kept.has(node))
  return hidden.length === 0 ? lines : [...lines, restLine(hidden, frame)]
}

/** An agent that gets a line, and the branch that leads to it. */
interface Listed {
  readonly node: AgentNode
  readonly branch: string
}

/**
 * The agents that get one of `limit` lines, in the order of the lines; the one of this id always does. `rest` counts the
 * others in a further line, where there are any.
 */
export const agentsIn = (
  tree: AgentTree,
  limit: number,
  id: SessionID
): { readonly agents: ReadonlyArray<Listed>; readonly rest?: (frame: Frame) => TreeLine } => {
  const { all, root } = tree
  const isWhole = all.length <= limit
  const kept = isWhole ? new Set(all) : chosen(tree, Math.max(1, limit - 1), tree.node(id))
  const agents: Array<Listed> = []
  walk(root, kept, (node, branch) => void agents.push({ node, branch }))
  return isWhole ? { agents } : { agents, rest: (frame) => restLine(all.filter((node) => !kept.has(node)), frame) }
}
