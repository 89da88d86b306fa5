/** Decides how the line of one agent looks: who it is, what it does, and what that took, as much of it as fits. */
import { formatCount } from "../count.ts"
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

/** An amount of USD in few characters: `$0.0012`, `$0.35`, `$12.40`. */
export const formatCost = (cost: string): string => {
  const amount = Number(cost)
  if (amount > 0 && amount < 0.0001) return "<$0.0001"
  return `$${amount === 0 ? "0" : amount < 0.1 ? amount.toFixed(4) : amount.toFixed(2)}`
}

/** What an agent is about, for those who colour it. */
export const toneOf = ({ asks, state }: AgentNode): Tone => {
  if (state.type === "settled") return state.outcome === "completed" ? "done" : "failed"
  return asks.size > 0 || state.type !== "working" ? "waiting" : "active"
}

/** What it does now, or why it does nothing. */
const activityOf = ({ asks, calls, state }: AgentNode, place: number | undefined, now: number): string => {
  const [ask] = asks.values()
  if (ask !== undefined) return `asks: ${ask}`
  switch (state.type) {
    case "settled":
      return state.outcome === "completed" ? "" : `${state.outcome.replaceAll("_", " ")}: ${state.reason}`
    case "queued":
      return place === undefined ? "queued" : `queued, place ${place}`
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

/** From so many columns on there is room for all figures, and for those without steps. */
const roomy = { all: 110, most: 76 }

/** The least that the activity and the name of the task keep where both are long, in columns. */
const least = { activity: 24, title: 16 }

const figuresOf = (
  { ended, queued, queuedSince, ...node }: AgentNode,
  { columns, now }: Frame,
  isShort = false
): string => {
  const { cost, tokens: { input, output } } = node.usage
  const tokens = input + output
  const waited = queued + (queuedSince === undefined ? 0 : Math.max(0, now - queuedSince))
  const elapsed = Math.max(0, (ended ?? now) - node.began - waited)
  const isQueued = node.state.type === "queued"
  return [
    ...(node.steps === 0 || columns < roomy.all ? [] : [`${node.steps} ${node.steps === 1 ? "step" : "steps"}`]),
    ...(tokens === 0 ? [] : [`${formatCount(tokens)}${isShort || columns < roomy.most ? "" : " tokens"}`]),
    // What the whole tree costs stands at its root, also where there is little room.
    ...(cost === "unknown" || cost === "0" || ((isShort || columns < roomy.most) && node.parentID !== undefined)
      ? []
      : [formatCost(cost)]),
    ...(waited < 1_000 || (columns < roomy.most && !isQueued) ? [] : [`${formatDuration(waited)} queued`]),
    // Before it begins, there is nothing but the waiting.
    ...(isQueued && node.steps === 0 && waited >= 1_000 ? [] : [formatDuration(elapsed)])
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
  const words = { title: clean(node.title), activity: clean(activityOf(node, place, now)) }
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
