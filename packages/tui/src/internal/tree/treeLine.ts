/** Decides how the line of one agent looks: who it is, what it does, and what that took, as much of it as fits. */
import { reason } from "@skein/domain/Outcome"
import { activityOf, type Phase, phaseOf, timesOf } from "@skein/view/Activity"
import type { AgentNode } from "@skein/view/AgentNode"
import { formatCost, formatCount, formatDuration } from "@skein/view/Numbers"
import { tokensOf } from "@skein/view/UsageSum"
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
export interface Frame {
  readonly columns: number
  readonly rows: number
  readonly now: number
}

const glyphs: Record<Tone, string> = { active: "●", waiting: "○", done: "✓", failed: "✗" }

const tones: Record<Phase, Tone> = {
  asking: "waiting",
  working: "active",
  retrying: "waiting",
  waiting: "waiting",
  interrupted: "waiting",
  failed: "failed",
  done: "done"
}

/** What an agent is about, for those who colour it. */
export const toneOf = (node: AgentNode): Tone => {
  // An agent that waits for its tasks counts as active, as they do.
  const isAbove = node.state.type === "working" && node.asks.size === 0
  return isAbove ? "active" : tones[phaseOf(node)]
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
