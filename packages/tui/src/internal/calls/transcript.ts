/** Gathers what the main agent says and does, in order, as lines that are printed permanently. */
import type { Event } from "@skein/domain/Event"
import type { SessionID } from "@skein/domain/Id"
import type { MessageWithParts, Part, ReasoningPart, ToolPart } from "@skein/domain/Part"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import { formatCount, formatDuration } from "@skein/view/Numbers"
import { failureOf, outcomeOf, subjectOf } from "../../CallOutcome.ts"
import { escapeLine, escapeWords } from "../../Escape.ts"
import type { Style } from "../../Style.ts"
import { fit, widthOf, wrap } from "../../Width.ts"
import { Markdown } from "../text/Markdown.ts"
import { wrapRuns } from "../text/runs.ts"
import { AnswerText, brokeOff, cutOff } from "./answerText.ts"

/** The most lines of a change that are shown where it is folded. */
const longest = 24

/** The columns of a line number. */
const digits = 5

interface Numbers {
  old: number
  now: number
}

/** The number that stands before a line: of what goes in the old file, of all else in the new one. */
const numberOf = (line: string, numbers: Numbers | undefined): string => {
  if (numbers === undefined) return ""
  const isOld = line.startsWith("-")
  const number = isOld ? numbers.old : numbers.now
  if (!line.startsWith("+")) numbers.old++
  if (!isOld) numbers.now++
  return `${String(number).padStart(digits)} `
}

const paintOf = (line: string, style: Style) =>
  line.startsWith("+") ? style.green : line.startsWith("-") ? style.red : style.dim

/** The lines of a diff; one without `@@` has no numbers. */
const diffLines = (
  diff: string,
  columns: number,
  style: Style,
  most = longest
): ReadonlyArray<string> => {
  const lines = diff === "" ? [] : diff.split("\n")
  const shown: Array<string> = []
  let numbers: Numbers | undefined
  for (const line of lines.slice(0, most)) {
    const hunk = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/.exec(line)
    if (hunk !== null) {
      const first = (start: string | undefined, count: string | undefined) => Number(start) + (count === "0" ? 1 : 0)
      // Between two places of a file.
      if (numbers !== undefined) shown.push(style.dim("    ⋮"))
      numbers = { old: first(hunk[1], hunk[2]), now: first(hunk[3], hunk[4]) }
    } else if (line.startsWith("+++ ")) {
      numbers = undefined
      shown.push(style.bold(fit(`    ${escapeLine(line.slice(4))}`, columns)))
    } else {
      const text = `    ${numberOf(line, numbers)}${escapeLine(line.replaceAll("\t", "  "))}`
      shown.push(paintOf(line, style)(fit(text, columns)))
    }
  }
  const folded = lines.length - most
  return folded <= 0 ? shown : [...shown, style.dim(`    … ${folded} more ${folded === 1 ? "line" : "lines"}`)]
}

/** How many lines of a command's output are shown, the last ones; of changes, and of todos. */
interface Most {
  readonly output: number
  readonly diff: number
  readonly todos: number
}

const folded: Most = { output: 6, diff: 24, todos: 20 }

const whole: Most = { output: 5_000, diff: 5_000, todos: 5_000 }

const boxes: Readonly<Record<string, string>> = {
  pending: "[ ]",
  in_progress: "[>]",
  completed: "[x]",
  cancelled: "[-]"
}

/** A line as a terminal shows it in the end: what a lone carriage return goes back over is gone. */
const lastWritten = (line: string): string => line.replace(/\r+$/, "").split("\r").at(-1) ?? ""

/** A line of output in so many columns, without its colours: they would only be shown as what they are. */
const outputLine = (line: string, columns: number): string => {
  // oxlint-disable-next-line no-control-regex -- colours begin with ESC
  const plain = lastWritten(line).slice(0, 1_000).replace(/\u001b\[[\d;]*m/g, "")
  return fit(`    ${escapeLine(plain.replaceAll("\t", "  "))}`, columns)
}

const outputLines = (output: string, columns: number, style: Style, most: number): ReadonlyArray<string> => {
  const lines = output.trimEnd().split("\n")
  const tail = lines.slice(-most)
  const before = lines.length - tail.length
  return [
    ...(before === 0 ? [] : [`    … ${before} ${before === 1 ? "line" : "lines"} before`]),
    ...tail.map((line) => outputLine(line, columns))
  ].map(style.dim)
}

const todoLines = (todos: unknown, columns: number, style: Style, most: number): ReadonlyArray<string> => {
  if (!Array.isArray(todos)) return []
  const each = todos.slice(0, most).map((todo: { readonly content?: unknown; readonly status?: unknown }) => {
    const status = String(todo.status)
    const line = fit(`    ${boxes[status] ?? "[ ]"} ${escapeLine(String(todo.content))}`, columns)
    return status === "in_progress" ? style.bold(line) : status === "pending" ? line : style.dim(line)
  })
  const more = todos.length - each.length
  return more <= 0 ? each : [...each, style.dim(`    … ${more} more`)]
}

const details = ({ state, tool }: ToolPart, columns: number, style: Style, most: Most): ReadonlyArray<string> => {
  if (state.status !== "completed") return []
  const { diff, todos } = state.metadata
  if (tool === "bash") return outputLines(state.output, columns, style, most.output)
  if (tool === "todowrite") return todoLines(todos, columns, style, most.todos)
  return typeof diff === "string" ? diffLines(diff, columns, style, most.diff) : []
}

/** The lines of a call that has ended, none wider than the terminal; long ones are folded, or whole. */
export const callLines = (part: ToolPart, columns: number, style: Style, isWhole = false): ReadonlyArray<string> => {
  const { isGood, text } = outcomeOf(part)
  const mark = isGood ? "•" : "✗"
  const name = escapeLine(part.tool)
  const room = columns - 1
  // A long subject never pushes the result out of the line.
  const short = fit(text, Math.max(20, Math.floor(room * 0.6)))
  // Nothing else says why a call failed: where it is too long for the line, it follows in full.
  const follows = short !== text && failureOf(part) !== undefined
  const outcome = follows ? "" : short
  const reason = follows ? wrap(text, room - 4).map((row) => style.red(`    ${row}`)) : []
  const subject = fit(subjectOf(part), Math.max(8, room - widthOf(name) - widthOf(outcome) - 6))
  const about = [name, subject].filter((each) => each !== "").join(" ")
  const line = fit(`${mark} ${about}  ${outcome}`.trimEnd(), room)
  const painted = isGood ? `${style.cyan(line.slice(0, 1))}${line.slice(1)}` : style.red(line)
  return [painted, ...reason, ...details(part, room, style, isWhole ? whole : folded)]
}

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
