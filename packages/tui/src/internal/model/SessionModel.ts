/** Owns what a terminal session shows and what its keys do: a fold over events, keys and time. */
import type { Event } from "@skein/domain/Event"
import type { MessageWithParts } from "@skein/domain/Part"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import type { TreeSnapshot } from "@skein/domain/TreeSnapshot"
import type { AgentTree } from "@skein/view/AgentTree"
import { escapeLine } from "../../Escape.ts"
import type { Key } from "../../Key.ts"
import { LiveView, type Moment } from "../../LiveView.ts"
import type { Style } from "../../Style.ts"
import { InputLine } from "../editor/InputLine.ts"
import { Pager } from "../list/Pager.ts"
import { wrapRuns } from "../text/runs.ts"
import { Completion, type Menu } from "./Completion.ts"
import { type Facts, ShownMode } from "./Facts.ts"
import { joinKeys, QuestionKeys } from "./keys.ts"
import type { Request } from "./Request.ts"
import { Later, needsRest, Sending, Waiting } from "./unread.ts"
import { Views } from "./Views.ts"

/** For how long a second Ctrl+C quits, and a second Esc goes back, in milliseconds. */
const twice = { quit: 2_000, back: 800 }

/** A session at a terminal. */
export class SessionModel {
  style: Style
  readonly facts: Facts
  readonly input = new InputLine()
  readonly sending = new Sending()
  readonly waiting = new Waiting()
  readonly later = new Later()
  readonly mode: ShownMode
  /** What takes the keys from the input. */
  readonly views = new Views((request) => this.request(request))
  readonly #completion: Completion
  readonly #questionKeys = new QuestionKeys(this.input)
  readonly #colors = new Map<string, string>()
  #live: LiveView | undefined
  #requests: Array<Request> = []
  #lines: Array<string> = []
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
    this.mode = new ShownMode(facts)
    this.#completion = new Completion(this.input, facts)
  }

  get live(): LiveView | undefined {
    return this.#live
  }

  get menu(): Menu | undefined {
    return this.#completion.menu
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
    this.views.closeTree()
    this.#learn(session)
  }

  /** What is known of the session that is open: the tree, the questions and the prompts that wait. */
  renew({ asks, waiting }: Pick<TreeSnapshot, "asks" | "waiting">, tree: AgentTree | undefined): void {
    this.#live?.renew(asks, tree)
    this.waiting.see(waiting)
    if (tree !== undefined) this.views.renewTree(tree)
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
    this.later.clear()
  }

  /** Takes an event in; says whether anything that is shown may have changed. */
  see(event: Event): boolean {
    const live = this.#live
    if (live === undefined) return false
    const root = live.tree.root.id
    const changed = live.see(event)
    if (event.type === "permission.asked" || event.type === "question.asked") this.#notify("A question waits")
    const isViewed = this.views.see(event)
    if (!this.isWorking) this.views.rested()
    if (event.sessionID !== root) return changed || isViewed
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
    if (event.type === "session.deleted") {
      this.say("This session was deleted elsewhere. /new begins another one, and /resume opens one.", "error")
    }
    this.#ended()
    return true
  }

  /** Adds a line that stays. */
  say(text: string, kind: "note" | "error" = "note"): void {
    if (this.#live !== undefined && kind === "note") return this.#live.note(text)
    const paint = kind === "error" ? this.style.red : this.style.dim
    for (const line of text.split("\n")) {
      if (this.#live !== undefined) this.#live.note(line, kind === "error" ? this.style.red : undefined)
      else this.#lines.push(...wrapRuns([{ text: escapeLine(line), paint }], this.columns - 1))
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

  /** Ctrl+C as a signal, where keys are not read one by one: it stops the turn, and twice quits. */
  interrupted(moment: Moment): void {
    if (this.isWorking) {
      this.later.hold()
      this.request({ type: "stop" })
    } else this.#interrupt(moment)
  }

  /** Asks for something to be done. */
  request(request: Request): void {
    if (request.type === "mode") this.mode.ask(request.mode)
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
      else if (!this.views.press(key)) {
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
    if (this.views.isOpen) {
      dialogs.typed(steady)
      return false
    }
    return this.#questionKeys.press(keys, dialogs, steady)
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
        return this.request({ type: "mode", mode: this.mode.next })
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
      case "up":
        return this.input.isEmpty && this.#takeBack() ? undefined : void this.input.press(key)
      case "down":
        return this.input.isEmpty && this.#live !== undefined && this.#live.tree.all.length > 1
          ? this.openTree()
          : void this.input.press(key)
      default:
        if (this.input.press(key) === "submit") this.#send("steer")
    }
  }

  /** Takes back what waits, the commands of this program first; says whether anything does. */
  #takeBack(): boolean {
    const command = this.later.takeBack()
    if (command !== undefined) this.input.set(command)
    else if (this.waiting.last !== undefined) this.request({ type: "withdraw", message: this.waiting.last.id })
    else return false
    return true
  }

  /** Opens what was folded since the last prompt; where that is not one thing, the whole transcript. */
  #unfold(): void {
    if (this.#live === undefined) return
    const [only, ...others] = this.#live.transcript.folded
    if (only !== undefined && others.length === 0) this.views.page(new Pager(only.title, only.lines))
    else this.request({ type: "transcript", session: this.#live.tree.root.id })
  }

  /** Opens the tree of agents. */
  openTree(): void {
    if (this.#live !== undefined) this.views.openTree(this.#live.tree)
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
    const { info, state } = this.#live?.tree.root ?? {}
    const isTurnOver = state?.type === "working" && state.what === "waits for its tasks" &&
      info?.turn?.ended !== undefined
    if (isTurnOver) {
      this.hint = "The turn has ended. Stop a background task in the tree: Ctrl+T, then `s`."
      return
    }
    if (this.isWorking) {
      this.later.hold()
      return this.request({ type: "stop" })
    }
    if (!this.input.isEmpty || this.#live === undefined) return
    if (steady - this.#backAt < twice.back) {
      this.#backAt = Number.NEGATIVE_INFINITY
      return this.request({ type: "listPrompts" })
    }
    this.#backAt = steady
    this.hint = "Press Esc again to go back to an earlier prompt."
  }

  #search(): void {
    const seen = [...new Set(this.input.history.toReversed())]
    this.views.choose(
      "Earlier prompts",
      seen.map((text) => ({ value: text, label: text })),
      (text) => this.input.set(text)
    )
  }

  /** Sends what stands in the input: now, or after the turn. */
  #send(how: "steer" | "queue"): void {
    const { text: typed, whole: text } = this.input
    if (text.trim() === "") return
    this.input.keep(text)
    this.input.clear()
    this.#completion.close()
    if (this.isBusy && (needsRest(text) || (how === "queue" && this.#isForHere(text)))) return this.later.add(text)
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
    if (this.facts.isAway === true) this.promise(text)
    this.request({ type: "prompt", text, typed, ...(after === undefined ? {} : { after }) })
  }

  /** Says that a prompt is sent later. */
  promise(text: string): void {
    this.say(`Is sent once the server is back: ${text.slice(0, 200)}`)
  }

  /** Whether a text is carried out by this program. */
  #isForHere(text: string): boolean {
    const [, name] = /^\/([^\s/]+)/.exec(text) ?? []
    return text.startsWith("!") || (name !== undefined && !this.facts.commands.some((command) => command.name === name))
  }

  #learn(info: SessionInfo): void {
    this.facts.agent = info.agent
    this.mode.learn(info)
    if (info.model !== undefined) this.facts.model = `${info.model.providerID}/${info.model.modelID}`
  }

  /** A turn has ended: notifies a person who looks elsewhere, unless another turn follows. */
  #ended(): void {
    const isBusy = this.isBusy
    const [was, isWorking] = [this.#wasWorking, isBusy]
    this.#wasWorking = isWorking
    if (isBusy) this.later.begin()
    if (isBusy || !was || this.waiting.last?.after === "turn") return
    const commands = this.later.release()
    for (const text of commands) this.submit(text)
    if (commands.length === 0) this.#notify("The turn has ended")
  }

  #notify(text: string): void {
    if (!this.isFocused) this.request({ type: "notify", text })
  }
}
