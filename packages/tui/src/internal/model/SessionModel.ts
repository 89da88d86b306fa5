/** Owns what a terminal session shows and what its keys do: a fold over events, keys and time. */
import type { Event } from "@skein/domain/Event"
import type { MessageWithParts } from "@skein/domain/Part"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import type { TreeSnapshot } from "@skein/domain/TreeSnapshot"
import type { AgentTree } from "@skein/view/AgentTree"
import type { Key } from "../../Key.ts"
import { LiveView, type Moment } from "../../LiveView.ts"
import type { Style } from "../../Style.ts"
import { wrap } from "../../Width.ts"
import { InputLine } from "../editor/InputLine.ts"
import { Pager } from "../list/Pager.ts"
import { type Item, Picker } from "../list/Picker.ts"
import { Completion } from "./Completion.ts"
import type { Facts } from "./Facts.ts"
import { joinKeys } from "./joinKeys.ts"
import type { Menu } from "./Menu.ts"
import { QuestionKeys } from "./QuestionKeys.ts"
import type { Reading } from "./Reading.ts"
import type { Request } from "./Request.ts"
import { TreeView } from "./TreeView.ts"
import { Waiting } from "./Waiting.ts"

/** For how long a second Ctrl+C quits, and a second Esc goes back, in milliseconds. */
const twice = { quit: 2_000, back: 800 }

/** A question of the program itself, or a list to choose from. */
interface Choosing {
  readonly picker: Picker
  readonly taken: (value: string) => void
  /** Whether it asks what to do with work that still runs: it needs no answer once that has ended. */
  readonly isAboutWork?: boolean
}

/** A session at a terminal. */
export class SessionModel {
  style: Style
  readonly facts: Facts
  readonly input = new InputLine()
  readonly waiting = new Waiting()
  readonly #completion: Completion
  readonly #questionKeys = new QuestionKeys(this.input)
  readonly #colors = new Map<string, string>()
  #live: LiveView | undefined
  #requests: Array<Request> = []
  #lines: Array<string> = []
  #choosing: Choosing | undefined
  #pager: Pager | undefined
  #tree: TreeView | undefined
  /** The transcript that fills the terminal. */
  #reading: Reading | undefined
  #quitAt = Number.NEGATIVE_INFINITY
  /** What offers to quit, and whether it was shown when the present keys came. */
  #quitHint = ""
  #isQuitOffered = false
  #backAt = Number.NEGATIVE_INFINITY
  #wasWorking = false
  #failed: string | undefined
  isFocused = true
  /** How wide the terminal was when it was drawn last. */
  columns = 80
  /** The tokens of the last request of the root: how full its context is. */
  used: number | undefined
  /** What is said above the input until the next key. */
  hint = ""

  constructor(style: Style, facts: Facts) {
    this.style = style
    this.facts = facts
    this.#completion = new Completion(this.input, facts)
  }

  get live(): LiveView | undefined {
    return this.#live
  }

  get choosing(): Picker | undefined {
    return this.#choosing?.picker
  }

  get menu(): Menu | undefined {
    return this.#completion.menu
  }

  get pager(): Pager | undefined {
    return this.#pager
  }

  get tree(): TreeView | undefined {
    return this.#tree
  }

  /** Whether a question that waits gets no keys, since the input holds text. */
  get isQuestionHeld(): boolean {
    return this.#questionKeys.isHeld
  }

  get isWorking(): boolean {
    return this.#live?.isWorking ?? false
  }

  /** Whether the agent at the root works: then a prompt steers it. */
  get isBusy(): boolean {
    const type = this.#live?.tree.root.state.type
    return type === "working" || type === "queued" || type === "retry"
  }

  /** The colours of agents. */
  color(name: string, color: string): void {
    this.#colors.set(name, color)
  }

  /** A session is open from now on; `tree` is what is known of it. */
  begin(session: SessionInfo, now: number, tree?: AgentTree): void {
    const looks = { style: this.style, colors: this.#colors, hasKeys: true, isSession: true, columns: this.columns }
    if (this.#live !== undefined) this.#lines.push(...this.#live.finish())
    this.#live = new LiveView(session, now, looks, tree)
    this.#tree = undefined
    this.#learn(session)
  }

  /** What is known of the session that is open: the tree, the questions and the prompts that wait. */
  renew({ asks, waiting }: Pick<TreeSnapshot, "asks" | "waiting">, tree: AgentTree | undefined): void {
    this.#live?.renew(asks, tree)
    this.waiting.see(waiting)
    if (this.#tree !== undefined && tree !== undefined) this.#tree = new TreeView(tree)
  }

  /** What was said before: its last lines are printed. */
  recall(messages: ReadonlyArray<MessageWithParts>, most: number): void {
    const last = messages.findLast(({ info }) => info.role === "assistant")
    if (last?.info.role === "assistant") {
      const { cacheRead, cacheWrite, input, output } = last.info.usage.tokens
      if (input + output > 0) this.used = input + output + cacheRead + cacheWrite
    }
    this.#live?.recall(messages, most)
  }

  /** No session is open: the next prompt begins one. */
  leave(): void {
    if (this.#live !== undefined) this.#lines.push(...this.#live.finish())
    this.#live = undefined
    this.used = undefined
    this.waiting.clear()
  }

  /** Takes an event in; says whether anything that is shown may have changed. */
  see(event: Event): boolean {
    const live = this.#live
    if (live === undefined) return false
    const root = live.tree.root.id
    const changed = live.see(event)
    if (event.type === "permission.asked" || event.type === "question.asked") this.#notify("A question waits")
    const isRead = this.#reading?.see(event) ?? false
    if (this.#choosing?.isAboutWork === true && !this.isWorking) {
      this.#choosing = undefined
      this.request({ type: "quit" })
    }
    if (event.sessionID !== root) return changed || isRead || this.#tree !== undefined
    if (event.type === "inbox.updated") this.waiting.see(event.properties.waiting)
    if (event.type === "session.updated") this.#learn(event.properties.info)
    if (event.type === "message.updated") {
      const { info } = event.properties
      if (info.role === "user") this.waiting.taken(info.promptID ?? info.id)
      else {
        this.facts.model = `${info.providerID}/${info.modelID}`
        const { cacheRead, cacheWrite, input, output } = info.usage.tokens
        if (input + output > 0) this.used = input + output + cacheRead + cacheWrite
      }
    }
    if (event.type === "session.error") this.fail(event.properties.error.message)
    this.#ended()
    return true
  }

  /** Adds a line that stays. */
  say(text: string, kind: "note" | "error" = "note"): void {
    if (this.#live !== undefined && kind === "note") return this.#live.note(text)
    const paint = kind === "error" ? this.style.red : this.style.dim
    for (const line of text.split("\n")) {
      if (this.#live !== undefined) this.#live.note(line, kind === "error" ? this.style.red : undefined)
      else this.#lines.push(...wrap(line, this.columns).map((row) => paint(row)))
    }
  }

  /** Says why something failed; once, where several say the same. */
  fail(message: string): void {
    if (message !== this.#failed) this.say(message, "error")
    this.#failed = message
  }

  /** Adds lines that stay, as they are: they are escaped, and may have colours. */
  print(lines: ReadonlyArray<string>): void {
    if (this.#live === undefined) this.#lines.push(...lines)
    else this.#live.print(lines)
  }

  /** Lets the person choose; `taken` gets the value. */
  choose(title: string, items: ReadonlyArray<Item>, taken: (value: string) => void): void {
    this.#choosing = { picker: new Picker(title, items), taken }
  }

  /** Asks a question of the program's own: nothing is selected at first. */
  confirm(title: string, items: ReadonlyArray<Item>, taken: (value: string) => void): void {
    this.#choosing = { picker: new Picker(title, items, true), taken }
  }

  /** Answers the list that is open; undefined closes it. */
  pick(value: string | undefined): void {
    const choosing = this.#choosing
    this.#choosing = undefined
    if (value !== undefined) choosing?.taken(value)
  }

  /** Closes what fills the terminal. */
  closeViews(): void {
    this.#tree = undefined
    this.#pager = undefined
    this.#reading = undefined
  }

  /** Ctrl+C as a signal, where keys are not read one by one: it stops the turn, and twice quits. */
  interrupted(moment: Moment): void {
    if (this.isWorking) this.request({ type: "stop" })
    else this.#interrupt(moment)
  }

  /** The same, before the person leaves while work continues. */
  confirmLeaving(title: string, items: ReadonlyArray<Item>, taken: (value: string) => void): void {
    this.#choosing = { picker: new Picker(title, items, true), taken, isAboutWork: true }
  }

  /** Fills the terminal with a text. */
  page(pager: Pager | undefined): void {
    this.#pager = pager
  }

  /** A transcript that is about to fill the terminal follows the events from now on. */
  follow(reading: Reading): void {
    this.#reading = reading
  }

  /** Asks for something to be done. */
  request(request: Request): void {
    this.#requests.push(request)
  }

  /** What is to be done, once. */
  take(): ReadonlyArray<Request> {
    const replies = this.#live?.dialogs.take() ?? []
    const requests = [...replies.map((reply): Request => ({ type: "reply", reply })), ...this.#requests]
    this.#requests = []
    return requests
  }

  /** The lines that stay and were not shown yet, of a session that is not open any more. */
  takeLines(): ReadonlyArray<string> {
    const lines = this.#lines
    this.#lines = []
    return lines
  }

  /** Takes the keys of one read. */
  press(read: ReadonlyArray<Key>, moment: Moment): void {
    const keys = joinKeys(read)
    if (keys.some(({ type }) => type === "key" || type === "text" || type === "paste")) {
      this.#isQuitOffered = this.#quitHint !== "" && this.hint === this.#quitHint
      this.hint = ""
    }
    if (this.#pressQuestion(keys, moment)) return
    for (const key of keys) {
      if (key.type === "focus") this.isFocused = key.isFocused
      else if (this.#pager !== undefined) this.#pressPager(key, this.#pager)
      else if (this.#choosing !== undefined) this.#pressPicker(key, this.#choosing)
      else if (this.#tree !== undefined) this.#pressTree(key, this.#tree)
      else {
        this.#pressInput(key, moment)
        this.#complete()
      }
    }
  }

  /** Whether the keys were for the question that waits. */
  #pressQuestion(keys: ReadonlyArray<Key>, { steady }: Moment): boolean {
    const dialogs = this.#live?.dialogs
    if (dialogs === undefined || dialogs.isEmpty) return false
    // A question that nobody sees takes no keys, and none for a while after it is seen again.
    if (this.#tree !== undefined || this.#pager !== undefined || this.#choosing !== undefined) {
      dialogs.typed(steady)
      return false
    }
    return this.#questionKeys.press(keys, dialogs, steady)
  }

  #pressPager(key: Key, pager: Pager): void {
    const done = this.#reading?.pager === pager ? this.#reading.press(key) : undefined
    if (done === "kept") return
    if (done !== undefined) return this.request(done)
    if (pager.press(key) !== "left") return
    this.#pager = undefined
    this.#reading = undefined
  }

  #pressPicker(key: Key, { picker, taken }: Choosing): void {
    const picked = picker.press(key)
    if (picked === undefined) return
    this.#choosing = undefined
    if (picked.type === "taken") taken(picked.value)
  }

  #pressTree(key: Key, tree: TreeView): void {
    const done = tree.press(key)
    if (done === undefined) return
    if (done.type === "left") this.#tree = undefined
    else this.request(done)
  }

  #pressInput(key: Key, moment: Moment): void {
    const completed = this.#completion.press(key)
    if (completed === "send") this.#send("steer")
    if (completed !== undefined) return
    if (key.type !== "key") return void this.input.press(key)
    switch (key.name) {
      case "ctrl+c":
        return this.#interrupt(moment)
      case "escape":
        return this.#escape(moment)
      case "shift+tab":
        return this.#nextMode()
      case "tab":
        return this.#send("queue")
      case "ctrl+t":
        return this.openTree()
      case "ctrl+b": {
        const tasks = this.#live?.waitedFor ?? []
        return tasks.length > 0 ? this.request({ type: "promote", tasks }) : undefined
      }
      case "ctrl+g":
        return this.request({ type: "edit", text: this.input.whole })
      case "ctrl+r":
        return this.#search()
      case "ctrl+o":
        return this.#unfold()
      case "ctrl+d":
        return this.input.isEmpty ? this.request({ type: "quit" }) : void this.input.press(key)
      case "up": {
        const last = this.input.isEmpty ? this.waiting.last : undefined
        return last === undefined ? void this.input.press(key) : this.request({ type: "withdraw", message: last.id })
      }
      case "down":
        return this.input.isEmpty && this.#live !== undefined && this.#live.tree.all.length > 1
          ? this.openTree()
          : void this.input.press(key)
      default:
        if (this.input.press(key) === "submit") this.#send("steer")
    }
  }

  /** Opens what was folded since the last prompt; where that is not one thing, the whole transcript. */
  #unfold(): void {
    if (this.#live === undefined) return
    const [only, ...others] = this.#live.transcript.folded
    if (only !== undefined && others.length === 0) this.#pager = new Pager(only.title, only.lines)
    else this.request({ type: "transcript", session: this.#live.tree.root.id })
  }

  /** Opens the tree of agents. */
  openTree(): void {
    if (this.#live !== undefined) this.#tree = new TreeView(this.#live.tree)
    else this.hint = "There are no agents yet: write a prompt first."
  }

  #complete(): void {
    if (this.#completion.update()) this.request({ type: "files" })
  }

  /** Files came: the menu shows them. */
  refreshMenu(): void {
    this.#completion.close()
    this.#complete()
  }

  #interrupt({ steady }: Moment): void {
    if (!this.input.isEmpty) {
      this.input.keep(this.input.whole)
      return this.input.clear()
    }
    // As long as the offer stands there, it holds.
    if (this.#isQuitOffered || steady - this.#quitAt < twice.quit) return this.request({ type: "quit" })
    this.#quitAt = steady
    this.#quitHint = !this.isWorking
      ? "Press Ctrl+C again to quit."
      : this.facts.server === undefined
      ? "Press Ctrl+C again to stop the turn and quit; Esc only stops it."
      : "Press Ctrl+C again to quit, with a choice to leave the turn running; Esc stops it."
    this.hint = this.#quitHint
  }

  #escape({ steady }: Moment): void {
    if (this.isWorking) return this.request({ type: "stop" })
    if (!this.input.isEmpty || this.#live === undefined) return
    if (steady - this.#backAt < twice.back) {
      this.#backAt = Number.NEGATIVE_INFINITY
      return this.request({ type: "listPrompts" })
    }
    this.#backAt = steady
    this.hint = "Press Esc again to go back to an earlier prompt."
  }

  #nextMode(): void {
    const modes = ["plan", "ask", "edits"] as const
    const next = modes[(modes.findIndex((mode) => mode === this.facts.mode) + 1) % modes.length] ?? "ask"
    this.request({ type: "mode", mode: next })
  }

  #search(): void {
    const seen = [...new Set(this.input.history.toReversed())]
    this.choose("Earlier prompts", seen.map((text) => ({ value: text, label: text })), (text) => this.input.set(text))
  }

  /** Sends what stands in the input: now, or after the turn. */
  #send(how: "steer" | "queue"): void {
    const { text: typed, whole: text } = this.input
    if (text.trim() === "") return
    if (how === "queue" && this.isBusy && this.#isForHere(text)) {
      this.hint = "Only prompts and commands of the project wait for the end of the turn. Enter runs this one now."
      return
    }
    this.input.keep(text)
    this.input.clear()
    this.#completion.close()
    this.submit(text, typed, how === "queue" && this.isBusy ? "turn" : undefined)
  }

  /** Does what a text says: a command, a shell command, or a prompt. */
  submit(text: string, typed = text, after?: "turn"): void {
    this.#failed = undefined
    const [, name, words = ""] = /^\/([^\s/]+)(?:\s+([^]*))?$/.exec(text.trimEnd()) ?? []
    if (name !== undefined) {
      return this.request({ type: "command", name, words, ...(after === undefined ? {} : { after }) })
    }
    if (text.startsWith("!") && text.trim().length > 1) {
      return this.request({ type: "shell", command: text.slice(1).trim() })
    }
    this.request({ type: "prompt", text, typed, ...(after === undefined ? {} : { after }) })
  }

  /** Whether a text is carried out by this program, which cannot keep it for after the turn. */
  #isForHere(text: string): boolean {
    const [, name] = /^\/([^\s/]+)/.exec(text) ?? []
    return text.startsWith("!") || (name !== undefined && !this.facts.commands.some((command) => command.name === name))
  }

  #learn(info: SessionInfo): void {
    this.facts.agent = info.agent
    this.facts.mode = info.mode ?? (info.agent === "plan" ? "plan" : "ask")
    if (info.model !== undefined) this.facts.model = `${info.model.providerID}/${info.model.modelID}`
  }

  /** A turn has ended: notifies a person who looks elsewhere, unless another turn follows. */
  #ended(): void {
    const isBusy = this.isBusy
    const [was, isWorking] = [this.#wasWorking, isBusy]
    this.#wasWorking = isWorking
    if (isBusy || !was || this.waiting.last?.after === "turn") return
    this.#notify("The turn has ended")
  }

  #notify(text: string): void {
    if (!this.isFocused) this.request({ type: "notify", text })
  }
}
