/** Puts the parts of the live view together: the answer as it comes, the tree of agents, and the question that waits. */
import type { Event, EventProperties } from "@skein/domain/Event"
import type { SessionID } from "@skein/domain/Id"
import { worktreeText } from "@skein/domain/Outcome"
import type { MessageWithParts } from "@skein/domain/Part"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import type { PendingAsk } from "@skein/domain/TreeSnapshot"
import { type AgentNode, heldText, isHeld } from "@skein/view/AgentNode"
import { AgentTree } from "@skein/view/AgentTree"
import { subjectOf } from "@skein/view/AskFacts"
import { formatCount, formatDuration } from "@skein/view/Numbers"
import { type Dialog, dialogOf } from "./Dialog.ts"
import { dialogLines } from "./internal/ask/dialogLines.ts"
import { DialogQueue } from "./internal/ask/dialogQueue.ts"
import { eventsOf, Transcript } from "./internal/calls/transcript.ts"
import { type TreeLine, treeLines } from "./internal/tree/treeLines.ts"
import type { Paint, Style } from "./Style.ts"
import { fit } from "./Width.ts"

const editors = new Set(["edit", "write", "patch"])

const isText = (value: unknown): value is string => typeof value === "string"

/** The files of a tree that were changed so far. */
class ChangedFiles {
  readonly #names = new Set<string>()

  /** Takes an event in. */
  see(event: Event): void {
    if (event.type !== "message.part.updated" || event.properties.part.type !== "tool") return
    const { state, tool } = event.properties.part
    if (state.status !== "completed" || !editors.has(tool) || state.metadata["done"] === "unchanged") return
    const { filePath, files } = state.metadata
    if (isText(filePath)) this.#names.add(filePath)
    if (Array.isArray(files)) {
      for (const file of files.filter(isText)) this.#names.add(file.replace(/^[ADM] /, ""))
    }
  }

  /** Their names, in the order in which they were first changed. */
  get names(): ReadonlyArray<string> {
    return [...this.#names]
  }
}

/** What is to be seen: lines that stay, and those that are drawn again below them. */
export interface View {
  readonly above: ReadonlyArray<string>
  readonly below: ReadonlyArray<string>
}

/** The most rows that the growing line of an answer takes, alone and above a question. */
const tail = { alone: 4, asking: 1 }

/** The least rows that the tree takes above a question. */
const leastTree = 2

/** How long after the last call that an "always" allowed they are counted, in milliseconds. */
const settled = 500

/** What stands for the answer of a question whose call was stopped. */
const notAnswered = "stopped, not answered"

/** When it is: milliseconds since 1970, and those of a clock that only goes forward. */
export interface Moment {
  readonly now: number
  readonly steady: number
}

/** How it looks, and whether there are keys to press. */
export interface Looks {
  readonly style: Style
  /** The colours of the agents that have one. */
  readonly colors: ReadonlyMap<string, string>
  readonly hasKeys: boolean
  /** Of a terminal session: prompts are shown, and the tree only while something works. */
  readonly isSession?: boolean
  /** The initial width of the terminal; 80 columns by default. */
  readonly columns?: number
}

/** What is seen of one run. */
export class LiveView {
  #tree: AgentTree
  readonly dialogs = new DialogQueue()
  readonly transcript: Transcript
  readonly changed = new ChangedFiles()
  readonly #looks: Looks
  #columns: number
  #saidAlways = false
  /** The calls that an "always" to another question allowed, and when the last one was noticed. */
  #released: { count: number; since: number | undefined } = { count: 0, since: undefined }

  /** `tree` is what is known of the session already. */
  constructor(session: SessionInfo, now: number, looks: Looks, tree = new AgentTree(session, now)) {
    this.#tree = tree
    this.#columns = looks.columns ?? 80
    this.transcript = new Transcript(session.id, looks.style, () => this.#columns, {
      showsPrompts: looks.isSession === true
    })
    this.#looks = looks
  }

  /** The agents. */
  get tree(): AgentTree {
    return this.#tree
  }

  /** Takes in what a snapshot shows: events may have been missed. */
  renew(asks: ReadonlyArray<PendingAsk>, tree = this.#tree): void {
    this.#tree = tree
    this.dialogs.keep(new Set(asks.map(({ id }) => id)))
    // What a process that has ended asked is asked again once the tree is resumed.
    for (const ask of asks) if (ask.abandoned !== true) this.dialogs.add(dialogOf(ask))
  }

  /** Takes in what was said before; so many of its last lines are shown. */
  recall(messages: ReadonlyArray<MessageWithParts>, most: number): void {
    const { info } = this.#tree.root
    if (info === undefined) return
    for (const message of messages) for (const event of eventsOf(message, info)) this.transcript.see(event)
    this.transcript.keepLast(most)
  }

  /** The tasks that the root waits for: a key moves them to the background. */
  get waitedFor(): ReadonlyArray<SessionID> {
    return this.tree.root.children.flatMap(({ background, id, state }) =>
      background || state.type === "settled" ? [] : [id]
    )
  }

  /** Whether the agent at the root works, or anything below it. */
  get isWorking(): boolean {
    const { state } = this.tree.root
    if (isHeld(state) || state.type === "elsewhere") return false
    return (state.type !== "idle" && state.type !== "interrupted") ||
      this.tree.all.some((node) => node !== this.tree.root && node.state.type !== "settled" && !node.isDeleted)
  }

  /** Whether Ctrl+B has something to move: not while a question waits, which comes first. */
  get mayLetGo(): boolean {
    return this.dialogs.isEmpty && this.waitedFor.length > 0
  }

  get #style(): Style {
    return this.#looks.style
  }

  /** Takes an event in; says whether there is anything new to be seen. */
  see(event: Event): boolean {
    if (event.type === "permission.asked") this.dialogs.add({ kind: "permission", request: event.properties })
    if (event.type === "permission.replied") this.#answered(event.properties)
    if (event.type === "question.asked") this.dialogs.add({ kind: "question", request: event.properties })
    if (event.type === "question.replied") this.#ended(event.properties)
    if (event.type === "session.compacted" && event.sessionID === this.tree.root.id) this.#compacted(event.properties)
    const before = this.tree.root.state
    const changed = this.tree.see(event)
    this.#awaited(before)
    if (event.type === "subagent.completed" || event.type === "subagent.failed") this.#taskEnded(event.properties)
    this.changed.see(event)
    return this.transcript.see(event) || changed
  }

  /** Adds a line that stays. */
  note(line: string, paint?: Paint): void {
    this.transcript.note(line, paint)
  }

  /** Adds lines that stay, as they are. */
  print(lines: ReadonlyArray<string>): void {
    this.transcript.print(lines)
  }

  /** What is to be seen now. */
  view(size: { readonly columns: number; readonly rows: number }, { now, steady }: Moment): View {
    const columns = Math.max(20, size.columns)
    this.#columns = columns
    this.#tellReleased(steady)
    const above = this.transcript.take()
    const question = this.#question(columns, size.rows - 1 - leastTree - tail.asking, steady)
    const words = this.transcript.growing(question.length === 0 ? tail.alone : tail.asking)
    const prompt = question.length === 0 ? this.#offer(columns) : question
    const running = question.length === 0 && size.rows >= 12 ? this.transcript.tail : []
    const rows = Math.max(1, size.rows - 1 - words.length - running.length - prompt.length)
    const agents = this.#looks.isSession === true && !this.isWorking
      ? []
      : treeLines(this.tree, { columns, rows, now }).map((line) => this.#paint(line))
    return { above, below: [...words, ...running, ...agents, ...prompt] }
  }

  /** Everything that stays and was not seen yet, once the run has ended. */
  finish(): ReadonlyArray<string> {
    this.#tellReleased()
    return this.transcript.finish()
  }

  /** Says where an isolated task left its work. Of a task in the background no call tells that it has ended, and the agent's next words are about it. */
  #taskEnded({ description, durationMs, outcome, task_id }: EventProperties<"subagent.completed">): void {
    const { worktree } = outcome
    if (worktree !== undefined) this.note(`• task ${description}: ${worktreeText(worktree)}`, this.#style.dim)
    const isBehind = this.tree.root.children.some(({ background, id }) => id === task_id && background)
    if (!isBehind || this.#looks.isSession !== true) return
    const isGood = outcome.status === "completed"
    const how = `${outcome.status.replaceAll("_", " ")} in the background, ${formatDuration(durationMs)}`
    this.note(`${isGood ? "•" : "✗"} task ${description}  ${how}`, isGood ? this.#style.dim : this.#style.red)
  }

  /** What was answered stays to be read; a question that was never shown needs no answer there. */
  #answered({ by, id, message, reply, scope, withdrawn }: EventProperties<"permission.replied">): void {
    const isOurs = this.dialogs.isAnswered(id)
    const dialog = this.dialogs.remove(id)
    if (withdrawn === true) return this.#record(dialog, notAnswered)
    if (reply === "once" && !isOurs && this.#saidAlways) {
      this.#released = { count: this.#released.count + 1, since: undefined }
      return
    }
    if (by !== undefined) return this.#record(dialog, `${by === "mode" ? "the mode" : "a rule"} allows it now`)
    this.#tellReleased()
    this.#saidAlways ||= reply === "always"
    const given = reply === "reject" ? "no" : reply === "once" ? "once" : `always in this ${scope ?? "tree"}`
    this.#record(dialog, `${given}${message === undefined ? "" : `: ${message}`}`)
  }

  /** The same of a question that is not about permission. */
  #ended({ answers, id, reply }: EventProperties<"question.replied">): void {
    const answer = reply === "answered" ? answers.join(", ") : reply === "withdrawn" ? notAnswered : "no answer"
    this.#record(this.dialogs.remove(id), answer)
  }

  /** How many waiting calls an "always" lets go on as well, once no more of them follow. */
  #tellReleased(steady = Number.POSITIVE_INFINITY): void {
    const { count, since } = this.#released
    if (count === 0) return
    if (since === undefined) this.#released.since = steady
    if (steady !== Number.POSITIVE_INFINITY && steady - (since ?? steady) < settled) return
    this.#released = { count: 0, since: undefined }
    this.note(`always: also lets ${count} waiting ${count === 1 ? "call" : "calls"} go on`)
  }

  #record(dialog: Dialog | undefined, answer: string): void {
    if (dialog === undefined) return
    const who = dialog.request.path.join(" > ")
    const [first = "", ...more] = dialog.kind === "permission"
      ? subjectOf(dialog.request).split("\n")
      : dialog.request.question.split("\n")
    const what = `${dialog.kind === "permission" ? `${dialog.request.permission} ` : ""}${first.slice(0, 300)}`
    this.note(`? ${who}: ${what}${more.length === 0 ? "" : " …"}`)
    this.note(`  → ${answer}`)
  }

  /** Says why nobody continues the session, and that somebody does again. */
  #awaited(before: AgentNode["state"]): void {
    const { state } = this.tree.root
    if (isHeld(state) && before.type !== state.type) this.note(`> ${heldText(state)}`)
    if (before.type === "away" && state.type !== "away") this.note(`> no longer ${heldText(before)}`)
    if (before.type === "stuck" && state.type !== "stuck") this.note("> can be continued again")
  }

  /** That the model knows less from now on than what is above is worth a line. */
  #compacted({ tokens }: EventProperties<"session.compacted">): void {
    this.note(`> compacted: ${formatCount(tokens.before)} tokens of conversation became ${formatCount(tokens.after)}`)
  }

  #question(columns: number, rows: number, steady: number): ReadonlyArray<string> {
    const state = this.dialogs.show(steady)
    if (state === undefined) return []
    const task = this.tree.taskOf(state.dialog.request.sessionID)
    const { lines, page } = dialogLines(state, { columns, rows, style: this.#style, task })
    this.dialogs.drawn(page, steady)
    return lines
  }

  #offer(columns: number): ReadonlyArray<string> {
    return this.#looks.hasKeys && this.waitedFor.length > 0
      ? [this.#style.dim(fit("Ctrl+B moves the subagents to the background; the agent continues", columns - 1))]
      : []
  }

  #paint({ agent, text, tone }: TreeLine): string {
    const { cyan, dim, of, red, yellow } = this.#style
    const own = agent === undefined ? undefined : this.#looks.colors.get(agent)
    const paint = { active: own === undefined ? cyan : of(own), waiting: yellow, done: dim, failed: red }[tone]
    // Only the glyph of those at work is coloured, so that the words stay easy to read.
    if (tone === "done" || tone === "failed") return paint(text)
    return text.replace(/[●○]/u, (glyph) => paint(glyph))
  }
}
