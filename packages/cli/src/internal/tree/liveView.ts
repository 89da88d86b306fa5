/** Puts the parts of the live view together: the answer as it comes, the tree of agents, and the question that waits. */
import type { Event, EventProperties } from "@skein/domain/Event"
import type { SessionID } from "@skein/domain/Id"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import { escapeLine } from "../escape.ts"
import type { Style } from "../terminal/style.ts"
import { fit, wrap } from "../terminal/width.ts"
import { AgentTree } from "./agentTree.ts"
import { AnswerText } from "./answerText.ts"
import { askLines, keysLine } from "./askLines.ts"
import { AskQueue } from "./askQueue.ts"
import { answerLine, questionLines } from "./questionLines.ts"
import { QuestionQueue } from "./questionQueue.ts"
import { formatCount, type TreeLine, treeLines } from "./treeLines.ts"

/** What is to be seen: lines that stay, and those that are drawn again below them. */
export interface View {
  readonly above: ReadonlyArray<string>
  readonly below: ReadonlyArray<string>
}

/** The most rows that the growing line of an answer takes. */
const tail = 4

/** How it looks, and whether there are keys to press. */
export interface Looks {
  readonly style: Style
  /** The colours of the agents that have one. */
  readonly colors: ReadonlyMap<string, string>
  readonly hasKeys: boolean
}

/** What is seen of one run. */
export class LiveView {
  readonly tree: AgentTree
  readonly asks = new AskQueue()
  readonly questions = new QuestionQueue()
  readonly answer: AnswerText
  readonly #looks: Looks
  readonly #notes: Array<string> = []

  constructor(session: SessionInfo, now: number, looks: Looks) {
    this.tree = new AgentTree(session, now)
    this.answer = new AnswerText(session.id)
    this.#looks = looks
  }

  /** The tasks that the root waits for: they can be let go on in the background. */
  get waitedFor(): ReadonlyArray<SessionID> {
    return this.tree.root.children.flatMap(({ background, id, state }) =>
      background || state.type === "settled" ? [] : [id]
    )
  }

  get #style(): Style {
    return this.#looks.style
  }

  /** Takes an event in; says whether there is anything new to be seen. */
  see(event: Event): boolean {
    if (event.type === "permission.asked") this.asks.add(event.properties)
    if (event.type === "permission.replied") this.#answered(event.properties)
    if (event.type === "question.asked") this.questions.add(event.properties)
    if (event.type === "question.replied") this.#ended(event.properties)
    if (event.type === "session.compacted" && event.sessionID === this.tree.root.id) this.#compacted(event.properties)
    const changed = this.tree.see(event)
    return this.answer.see(event) || changed
  }

  /** Adds a line that stays. */
  note(line: string): void {
    this.#notes.push(this.#style.dim(escapeLine(line)))
  }

  /** What is to be seen now. */
  view(size: { readonly columns: number; readonly rows: number }, now: number): View {
    const columns = Math.max(20, size.columns)
    const fresh = this.asks.show()
    // One thing at a time: permission first, since what waits for it is under way.
    const question = this.asks.current === undefined ? this.questions.show() : undefined
    const above = [
      ...this.#notes.splice(0),
      ...this.answer.take(),
      ...(fresh === undefined ? [] : askLines(fresh, columns, this.#style)),
      ...(question === undefined ? [] : questionLines(question, columns, this.#style))
    ]
    const growing = this.answer.growing
    const words = growing === "" ? [] : wrap(growing, columns - 1).slice(-tail)
    const prompt = this.#prompt(columns)
    const rows = Math.max(1, size.rows - 1 - words.length - prompt.length)
    const agents = treeLines(this.tree.root, { columns, rows, now }).map((line) => this.#paint(line))
    return { above, below: [...words, ...agents, ...prompt] }
  }

  /** What was answered stays to be read below the question; a question that was never shown needs no answer there. */
  #answered({ id, message, reply }: EventProperties<"permission.replied">): void {
    const isShown = this.asks.isShown && this.asks.current?.id === id
    this.asks.remove(id)
    if (isShown) this.note(`  → ${reply === "reject" ? "no" : reply}${message === undefined ? "" : `: ${message}`}`)
  }

  /** The same of a question that is not about permission. */
  #ended({ answers, id, reply }: EventProperties<"question.replied">): void {
    const isShown = this.questions.isShown && this.questions.current?.id === id
    this.questions.remove(id)
    if (isShown) this.note(`  → ${reply === "answered" ? answers.join(", ") : "no answer"}`)
  }

  /** That the model knows less from now on than what stands above is worth a line. */
  #compacted({ tokens }: EventProperties<"session.compacted">): void {
    this.note(`> compacted: ${formatCount(tokens.before)} tokens of conversation became ${formatCount(tokens.after)}`)
  }

  #prompt(columns: number): ReadonlyArray<string> {
    const { current, message, others } = this.asks
    const question = this.questions.current
    if (current === undefined && question !== undefined && this.questions.isShown) {
      return [this.#style.bold(fit(answerLine(question, this.questions, columns), columns - 1))]
    }
    if (current === undefined || !this.asks.isShown) {
      const offer = this.#looks.hasKeys && current === undefined && this.waitedFor.length > 0
      return offer ? [this.#style.dim(fit("[b] go on without waiting for the subagents", columns - 1))] : []
    }
    const written = message === undefined ? undefined : wrap(escapeLine(message), columns - 12).at(-1) ?? ""
    const line = written === undefined ? keysLine(current, others) : `because: ${written}▏ (Enter sends, Esc goes back)`
    return [this.#style.bold(fit(line, columns - 1))]
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
