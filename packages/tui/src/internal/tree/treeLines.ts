/** Decides how a tree of agents looks: a line for each that fits, those at work first, and a count of the others. */
import type { SessionID } from "@skein/domain/Id"
import { reason } from "@skein/domain/Outcome"
import { activityOf, type Phase, phaseOf, timesOf } from "@skein/view/Activity"
import type { AgentNode } from "@skein/view/AgentNode"
import { type AgentTree, tokensOf } from "@skein/view/AgentTree"
import { formatCost, formatCount, formatDuration } from "@skein/view/Numbers"
import { escapeLine } from "../../Escape.ts"
import { fit, widthOf } from "../../Width.ts"

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
interface Frame {
  readonly columns: number
  readonly rows: number
  readonly now: number
}

const glyphs: Record<Tone, string> = { active: "●", waiting: "○", done: "✓", failed: "✗" }

const toneOfPhase: Record<Phase, Tone> = {
  asking: "waiting",
  working: "active",
  retrying: "waiting",
  waiting: "waiting",
  interrupted: "waiting",
  failed: "failed",
  done: "done"
}

/** What an agent is about, for those who colour it. */
const toneOf = (node: AgentNode): Tone => {
  // An agent that waits for its tasks counts as active, as they do.
  const isAbove = node.state.type === "working" && node.asks.size === 0
  return isAbove ? "active" : toneOfPhase[phaseOf(node)]
}

/** From so many columns on there is room for all figures, and for those without steps. */
const roomy = { all: 110, most: 76 }

/** The least that the activity and the name of the task keep where both are long, in columns. */
const least = { activity: 24, title: 16 }

const figuresOf = (node: AgentNode, { columns, now }: Frame, isShort = false): string => {
  const { cost } = node.usage
  const tokens = tokensOf(node.usage)
  const { steps } = node.own
  const { waited, worked } = timesOf(node, now)
  const isQueued = node.state.type === "queued"
  return [
    ...(steps === 0 || columns < roomy.all ? [] : [`${steps} ${steps === 1 ? "step" : "steps"}`]),
    ...(tokens === 0 ? [] : [`${formatCount(tokens)}${isShort || columns < roomy.most ? "" : " tokens"}`]),
    // What the whole tree costs stands at its root, also where there is little room.
    ...(cost === "unknown" || cost === "0" || ((isShort || columns < roomy.most) && node.parentID !== undefined)
      ? []
      : [formatCost(cost)]),
    ...(waited < 1_000 || (columns < roomy.most && !isQueued) ? [] : [`${formatDuration(waited)} queued`]),
    // Before it begins, there is nothing but the waiting.
    ...(isQueued && steps === 0 && waited >= 1_000 ? [] : [formatDuration(worked)])
  ].join(" · ")
}

const clean = (text: string): string => escapeLine(text.slice(0, 300))

/** Task and activity in so many columns: the name of the task gives way first, but for its beginning. */
const fitBoth = (title: string, activity: string, room: number): string => {
  const words = [title, activity].filter((text) => text !== "").join("  ")
  if (title === "" || activity === "" || widthOf(words) <= room) return fit(words, room)
  const forTitle = Math.max(
    Math.min(least.title, room - 2 - Math.min(widthOf(activity), least.title)),
    room - 2 - Math.min(widthOf(activity), Math.max(least.activity, room * 0.6))
  )
  // Where there is not even room for that much, what it does counts.
  if (room < 18) return fit(activity, room)
  const cut = fit(title, Math.min(widthOf(title), Math.floor(forTitle)))
  return `${cut}  ${fit(activity, room - widthOf(cut) - 2)}`
}

/** The line; `place` is its place in the queue. */
export const agentLine = (node: AgentNode, branch: string, place: number | undefined, frame: Frame): TreeLine => {
  const { columns, now } = frame
  const tone = toneOf(node)
  const name = `${branch}${glyphs[tone]} ${clean(node.agent)}  `
  const words = { title: clean(node.title), activity: clean(activityOf(node, { place, now, why: reason })) }
  const needed = widthOf(words.title) + 2 + widthOf(words.activity)
  // The last column stays free: a terminal may go to the next line as soon as it is written.
  const roomBeside = (figures: string) => columns - 1 - widthOf(name) - widthOf(figures) - 2
  const figures = figuresOf(node, frame)
  const isWhole = columns >= roomy.all || node.parentID === undefined || roomBeside(figures) >= needed
  const right = isWhole ? figures : figuresOf(node, frame, true)
  const room = roomBeside(right)
  if (room < 8) {
    return { tone, agent: node.agent, text: fit(`${name}${words.activity || words.title}`.trimEnd(), columns - 1) }
  }
  const text = fitBoth(words.title, words.activity, room)
  return { tone, agent: node.agent, text: `${name}${text}${" ".repeat(room - widthOf(text) + 2)}${right}` }
}

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
