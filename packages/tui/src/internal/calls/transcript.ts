/** Gathers what the main agent says and does, in order, as lines that are printed permanently. */
import type { Event } from "@skein/domain/Event"
import type { SessionID } from "@skein/domain/Id"
import type { MessageWithParts, Part, ReasoningPart, ToolPart } from "@skein/domain/Part"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import { formatCount, formatDuration } from "@skein/view/Numbers"
import { failureOf } from "../../CallFailure.ts"
import { subjectOf } from "../../CallOutcome.ts"
import { escapeLine, escapeWords } from "../../Escape.ts"
import type { Style } from "../../Style.ts"
import { fit } from "../../Width.ts"
import { Markdown } from "../text/Markdown.ts"
import { wrapRuns } from "../text/runs.ts"
import { AnswerText, brokeOff, cutOff } from "./answerText.ts"
import { callLines, outputLine } from "./callLines.ts"

/** The events of a message. */
export const eventsOf = (
  { info, parts }: MessageWithParts,
  session: Pick<SessionInfo, "depth" | "id" | "rootID">
): ReadonlyArray<Event> => {
  const base = {
    id: "evt_0" as Event["id"],
    timestamp: info.time.created,
    sessionID: session.id,
    rootID: session.rootID,
    depth: session.depth
  }
  return [
    { ...base, type: "message.updated", properties: { info } },
    ...parts.map((part): Event => ({ ...base, type: "message.part.updated", properties: { part } }))
  ]
}

/** The thought of one session that grows. */
class GrowingThought {
  #part: (ReasoningPart & { readonly time: { readonly start: number } }) | undefined

  /** Takes an event of the session in; gives the thought that has ended, because words follow it. */
  see(event: Event): ReasoningPart | undefined {
    // It failed, and is tried again.
    if (event.type === "session.status" && event.properties.status.type === "retry") this.#part = undefined
    if (event.type !== "message.part.delta") return undefined
    const { delta, field, messageID, partID } = event.properties
    const before = this.#part
    if (field === "reasoning") {
      const { sessionID, timestamp } = event
      const { text, time } = before?.id === partID ? before : { text: "", time: { start: timestamp } }
      this.#part = { id: partID, sessionID, messageID, type: "reasoning", text: text + delta, time }
      return undefined
    }
    this.#part = undefined
    return before?.messageID === messageID
      ? { ...before, time: { start: before.time.start, end: event.timestamp } }
      : undefined
  }
}

/** The lines of reasoning that has ended, none wider than `columns`. */
const thoughtLines = (
  { text, time }: ReasoningPart,
  columns: number,
  style: Style,
  isWhole: boolean
): ReadonlyArray<string> => {
  const took = time?.end === undefined ? 0 : time.end - time.start
  const head = `∴ thought for ${formatDuration(took)}, ${formatCount(text.length)} characters`
  const lines = text.trim().split("\n")
  if (!isWhole) return [style.dim(fit(`${head}: ${escapeLine((lines[0] ?? "").slice(0, 300))}`, columns))]
  return [
    style.dim(head),
    ...escapeWords(text.trim()).replaceAll("\t", "  ").split("\n").flatMap((line) =>
      wrapRuns([{ text: line, paint: style.dim }], columns, "  ", "  ")
    )
  ]
}

/** How many lines of a running command are shown. */
const tailed = 3

/** How much of a growing line is laid out, in characters. */
const longestLine = 4_000

/** How many calls and thoughts are kept to be opened in full. */
const mostFoldable = 200

/** How many rows of a prompt are shown. */
const mostPrompted = 40

/** How a transcript is shown. */
interface TranscriptLooks {
  /** Prompts of people are shown as well. */
  readonly showsPrompts?: boolean
  /** Nothing is folded, and what other agents asked for is shown as well. */
  readonly isWhole?: boolean
}

/** Something that was printed folded. */
interface Folded {
  readonly title: string
  readonly lines: ReadonlyArray<string>
}

/** What the agent at the root says and does. */
export class Transcript {
  readonly #sessionID: SessionID
  readonly #style: Style
  readonly #columns: () => number
  readonly #ended = new Set<string>()
  #lines: Array<string> = []
  /** What was printed last: a blank line stands between words and calls. */
  #last: "nothing" | "words" | "calls" = "nothing"
  #model: string | undefined
  /** What running commands have written so far, its end. */
  readonly #outputs = new Map<string, string>()
  readonly answer: AnswerText
  readonly #thought = new GrowingThought()
  readonly #markdown: Markdown
  readonly #looks: TranscriptLooks
  /** The calls and thoughts since the last prompt, which may be folded. */
  #foldable: Array<ToolPart | ReasoningPart> = []
  /** The messages whose words are shown as prompts. */
  readonly #prompts = new Set<string>()
  /** The tasks whose failure was printed. */
  readonly failedTasks = new Set<SessionID>()

  constructor(sessionID: SessionID, style: Style, columns: () => number, looks: TranscriptLooks = {}) {
    this.#sessionID = sessionID
    this.#markdown = new Markdown(style)
    this.#looks = looks
    this.#style = style
    this.#columns = columns
    this.answer = new AnswerText(sessionID)
  }

  /** Takes an event in; says whether there is anything new. */
  see(event: Event): boolean {
    const thought = event.sessionID === this.#sessionID ? this.#thought.see(event) : undefined
    if (thought !== undefined) this.#part(thought)
    const isNew = this.answer.see(event)
    this.#words(this.answer.take())
    // A table is complete with its text: what comes next stands below it.
    if (this.answer.isEnd(event)) this.#endWords()
    // It continues, and may fail for another reason.
    if (event.type === "subagent.created") this.failedTasks.delete(event.properties.task_id)
    if (event.sessionID !== this.#sessionID) return isNew
    if (event.type === "message.updated" && event.properties.info.role === "user") {
      const { from, id } = event.properties.info
      if (from === undefined || this.#looks.isWhole === true) this.#prompts.add(id)
      return isNew
    }
    if (event.type === "message.updated" && event.properties.info.role === "assistant") {
      const { agent, modelID, providerID } = event.properties.info
      return this.#named(`${agent} · ${providerID}/${modelID}`) || isNew
    }
    return event.type === "message.part.updated" ? this.#part(event.properties.part) || isNew : isNew
  }

  /** The last lines of what a running command has written. */
  get tail(): ReadonlyArray<string> {
    const output = [...this.#outputs.values()].at(-1) ?? ""
    const lines = output.trimEnd().split("\n").slice(-tailed)
    return lines.filter((line) => line.trim() !== "").map((line) =>
      this.#style.dim(outputLine(line, this.#columns() - 1))
    )
  }

  /** What was printed folded since the last prompt, in full. */
  get folded(): ReadonlyArray<Folded> {
    return this.#foldable.flatMap((part) => {
      const lines = this.#linesOf(part, true)
      return lines.length <= this.#linesOf(part, false).length ? [] : [{
        title: part.type === "tool" ? `${escapeLine(part.tool)} ${subjectOf(part)}` : "Thoughts",
        lines
      }]
    })
  }

  /** A line that stays. */
  note(line: string, paint = this.#style.dim): void {
    this.#words(this.answer.take())
    this.#lines.push(...wrapRuns([{ text: escapeLine(line), paint }], this.#columns() - 1))
  }

  /** Lines that stay, as they are. */
  print(lines: ReadonlyArray<string>): void {
    this.#block(lines)
  }

  /** Leaves out all but so many of the last lines that nobody has taken yet. */
  keepLast(most: number): void {
    this.#lines = this.#lines.slice(-most)
  }

  /** The lines that are complete, once. */
  take(): ReadonlyArray<string> {
    const lines = this.#lines
    this.#lines = []
    return lines
  }

  /** Everything that is left, once. */
  finish(): ReadonlyArray<string> {
    this.#endWords()
    return this.take()
  }

  /** The last rows of the line that grows, and of what is held back until it is complete. */
  growing(rows: number): ReadonlyArray<string> {
    const preview = this.#markdown.preview(this.answer.growing.slice(-longestLine), this.#columns() - 1)
    return preview.slice(-rows)
  }

  #words(lines: ReadonlyArray<string>): void {
    for (const line of lines) {
      // Nothing that was open before is open behind it.
      if (line === brokeOff || line === cutOff) this.#markdown.reset()
      this.#printed(this.#markdown.line(line, this.#columns() - 1))
    }
  }

  #printed(lines: ReadonlyArray<string>): void {
    if (lines.length === 0) return
    // Between two texts there is a blank line already.
    if (this.#last === "calls" && lines[0] !== "") this.#lines.push("")
    this.#lines.push(...lines)
    this.#last = "words"
  }

  /** No more follows of a text. */
  #endWords(): void {
    this.#words(this.answer.finish())
    this.#printed(this.#markdown.flush(this.#columns() - 1))
    this.#markdown.reset()
  }

  /** What a person said. */
  #prompt(text: string): true {
    const { bold, cyan } = this.#style
    const lines = escapeWords(text).trimEnd().split("\n").flatMap((line) =>
      wrapRuns([{ text: line.replaceAll("\t", "  "), paint: bold }], this.#columns() - 3)
    )
    const most = this.#looks.isWhole === true ? lines.length : mostPrompted
    const shown = lines.slice(0, most).map((line, at) => `${at === 0 ? cyan("› ") : "  "}${line}`)
    const more = lines.length - shown.length
    this.#foldable = []
    this.#endWords()
    this.answer.apart()
    if (this.#last !== "nothing") this.#lines.push("")
    this.#lines.push(...shown, ...(more > 0 ? [this.#style.dim(`  … ${more} more lines`)] : []), "")
    this.#last = "nothing"
    return true
  }

  #block(lines: ReadonlyArray<string>): true {
    // What was said before it is complete by now.
    this.#endWords()
    if (this.#last === "words") this.#lines.push("")
    this.#lines.push(...lines)
    this.#last = "calls"
    return true
  }

  #named(model: string): boolean {
    // A line that has begun is not interrupted: this is printed with the next message.
    if (model === this.#model || this.answer.growing !== "") return false
    this.#model = model
    return this.#block([this.#style.dim(fit(escapeLine(model), this.#columns() - 1))])
  }

  #output(id: string, output: unknown): boolean {
    if (typeof output !== "string") return false
    this.#outputs.set(id, output.slice(-4_000))
    return true
  }

  #part(part: Part): boolean {
    if (this.#ended.has(part.id)) return false
    if (part.type === "tool") {
      if (part.state.status === "running") return this.#output(part.id, part.state.metadata?.["output"])
      if (part.state.status === "pending") return false
      this.#ended.add(part.id)
      this.#outputs.delete(part.id)
      const taskID = failureOf(part)?.taskID
      if (taskID !== undefined) this.failedTasks.add(taskID)
      return this.#foldableBlock(part)
    }
    if (
      part.type === "text" && this.#looks.showsPrompts === true && this.#prompts.has(part.messageID) &&
      part.synthetic !== true
    ) {
      this.#ended.add(part.id)
      return this.#prompt(part.text)
    }
    if (part.type !== "reasoning" || part.text.trim() === "" || part.time?.end === undefined) return false
    this.#ended.add(part.id)
    return this.#foldableBlock(part)
  }

  #foldableBlock(part: ToolPart | ReasoningPart): true {
    this.#foldable.push(part)
    if (this.#foldable.length > mostFoldable) this.#foldable.shift()
    return this.#block(this.#linesOf(part, this.#looks.isWhole === true))
  }

  #linesOf(part: ToolPart | ReasoningPart, isWhole: boolean): ReadonlyArray<string> {
    return part.type === "tool"
      ? callLines(part, this.#columns(), this.#style, isWhole)
      : thoughtLines(part, this.#columns() - 1, this.#style, isWhole)
  }
}
