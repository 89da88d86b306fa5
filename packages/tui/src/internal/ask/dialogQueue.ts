/** Turns keys into answers: one question at a time, permission first, and never by a letter. */
import type { PermissionRequest, QuestionRequest } from "@skein/domain/Event"
import { type Choice, choicesOf, type Dialog, type DialogReply, ofMarks, ofNobody, ofWords } from "../../Dialog.ts"
import { isKey, type Key } from "../../Key.ts"

/** How long nothing may have been typed before a question takes keys, in milliseconds. */
export const quiet = 600

/** What is to be seen of the question that is answered now. */
export interface DialogState {
  readonly dialog: Dialog
  readonly choices: ReadonlyArray<Choice>
  /** The choice that Enter confirms; none is selected at first. */
  readonly selected: number | undefined
  /** What is being written; undefined where nothing is. */
  readonly words: string | undefined
  /** By how many pages what is asked about was scrolled. */
  readonly page: number
  /** How many questions wait, this one included. */
  readonly count: number
  /** For how many milliseconds keys do not count yet. */
  readonly ignoresKeysFor: number
  /** Whether keys go to an input that holds text. */
  readonly isHeld: boolean
}

/** The questions that wait for a person at the terminal. Times are milliseconds of a clock that only goes forward. */
export class DialogQueue {
  readonly #permissions: Array<Dialog> = []
  readonly #questions: Array<Dialog> = []
  /** Whether keys go to an input that holds text. */
  isHeld = false
  #replies: Array<DialogReply> = []
  #current: Dialog | undefined
  #isAnswered = false
  #isClosed = false
  #shownAt = 0
  #typedAt = Number.NEGATIVE_INFINITY
  #selected: number | undefined
  #words: string | undefined
  #page = 0
  readonly #marked = new Set<number>()

  /** A question came. One that is asked again, as after a restart of a server, waits once and takes an answer again. */
  add(dialog: Dialog): void {
    const { id } = dialog.request
    if (this.#isClosed) this.#replies.push(ofNobody(dialog))
    else if (this.#current?.request.id === id) this.#isAnswered = false
    else if ([...this.#permissions, ...this.#questions].some(({ request }) => request.id === id)) return
    else if (dialog.kind === "permission") this.#permissions.push(dialog)
    else this.#questions.push(dialog)
  }

  /** A question was answered, here or elsewhere; gives it where it was on the screen. */
  keep(ids: ReadonlySet<string>): void {
    for (const waiting of [this.#permissions, this.#questions]) {
      for (const { request } of [...waiting]) if (!ids.has(request.id)) this.remove(request.id)
    }
  }

  /** Takes a question away; gives it. */
  remove(id: PermissionRequest["id"] | QuestionRequest["id"]): Dialog | undefined {
    for (const waiting of [this.#permissions, this.#questions]) {
      const at = waiting.findIndex(({ request }) => request.id === id)
      if (at >= 0) waiting.splice(at, 1)
    }
    if (this.#current?.request.id !== id) return undefined
    const shown = this.#current
    this.#show(undefined, 0)
    return shown
  }

  /** Whether a key has answered this question. */
  isAnswered(id: PermissionRequest["id"]): boolean {
    return this.#isAnswered && this.#current?.request.id === id
  }

  /** The question that is on the screen from now on; undefined where none waits. */
  show(now: number): DialogState | undefined {
    // One that is on the screen stays there until it has its answer.
    if (this.#current === undefined) this.#show(this.#permissions[0] ?? this.#questions[0], now)
    const dialog = this.#current
    return dialog === undefined ? undefined : {
      dialog,
      choices: choicesOf(dialog, this.#marked),
      selected: this.#selected,
      words: this.#words,
      page: this.#page,
      count: this.#permissions.length + this.#questions.length,
      ignoresKeysFor: this.#ignoresKeysFor(now),
      isHeld: this.isHeld
    }
  }

  /** Whether a question waits. */
  get isEmpty(): boolean {
    return this.#permissions.length + this.#questions.length === 0
  }

  /** It was drawn at this page; where it had no room, no key answers it until a while after it has. */
  drawn(page: number | undefined, now: number): void {
    if (page === undefined) this.#shownAt = now
    else this.#page = page
  }

  /** Takes the keys of one read; says whether they were for the question. */
  press(keys: ReadonlyArray<Key>, now: number): boolean {
    const dialog = this.#current
    if (dialog === undefined || this.#isAnswered) {
      this.#typedAt = now
      return false
    }
    if (this.#words !== undefined) {
      for (const key of keys) this.#write(key, dialog)
      return true
    }
    if (this.#ignoresKeysFor(now) > 0 || !isSelection(keys, choicesOf(dialog, this.#marked).length)) {
      this.#typedAt = now
      this.#selected = undefined
      return false
    }
    for (const key of keys) this.#select(key, dialog)
    return true
  }

  /** Something was typed that is not for the question: it takes no keys for a while. */
  typed(now: number): void {
    this.#typedAt = now
    this.#selected = undefined
  }

  /** Whether a reason or an answer is being written. */
  get isWriting(): boolean {
    return this.#words !== undefined
  }

  /** Whether a choice is selected. */
  get isSelected(): boolean {
    return this.#selected !== undefined
  }

  /** Nobody is present from now on: every question, waiting or new, is answered with no. */
  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    for (const dialog of [...this.#permissions, ...this.#questions]) this.#replies.push(ofNobody(dialog))
    this.#isAnswered = true
  }

  /** The answers that were given, once. */
  take(): ReadonlyArray<DialogReply> {
    const replies = this.#replies
    this.#replies = []
    return replies
  }

  #ignoresKeysFor(now: number): number {
    return Math.max(0, Math.max(this.#shownAt, this.#typedAt) + quiet - now)
  }

  #show(dialog: Dialog | undefined, now: number): void {
    this.#current = dialog
    this.#isAnswered = this.#isClosed
    this.#shownAt = now
    this.#selected = undefined
    this.#words = undefined
    this.#page = 0
    this.#marked.clear()
  }

  #answer(reply: DialogReply | undefined): void {
    if (reply === undefined) return
    this.#isAnswered = true
    this.#replies.push(reply)
  }

  #select(key: Key, dialog: Dialog): void {
    const choices = choicesOf(dialog, this.#marked)
    if (key.type === "text") this.#selected = Number(key.text) - 1
    if (key.type !== "key") return
    if (key.name === "down") this.#selected = ((this.#selected ?? -1) + 1) % choices.length
    else if (key.name === "up") this.#selected = ((this.#selected ?? 0) - 1 + choices.length) % choices.length
    else if (key.name === "pageDown" || key.name === "right") this.#page++
    else if (key.name === "pageUp" || key.name === "left") this.#page = Math.max(0, this.#page - 1)
    else if (key.name === "escape") this.#selected = undefined
    else if (this.#selected !== undefined) this.#confirm(choices[this.#selected], dialog)
  }

  #confirm(choice: Choice | undefined, dialog: Dialog): void {
    switch (choice?.act.type) {
      case "reply":
        return this.#answer(choice.act.reply)
      case "send":
        return this.#answer(ofMarks(dialog, this.#marked))
      case "write":
        this.#words = ""
        return
      case "mark": {
        const { option } = choice.act
        if (!this.#marked.delete(option)) this.#marked.add(option)
        return
      }
    }
  }

  #write(key: Key, dialog: Dialog): void {
    const words = this.#words
    if (words === undefined || this.#isAnswered) return
    // A paste is what is said, and never its end.
    if (key.type === "text" || key.type === "paste") {
      this.#words = words + key.text.replace(/\s*[\r\n]+\s*/g, " ")
    }
    if (key.type !== "key") return
    if (isEnter(key)) this.#answer(ofWords(dialog, words, this.#marked))
    else if (key.name === "escape") this.#words = undefined
    else if (key.name === "backspace") this.#words = [...words].slice(0, -1).join("")
    else if (key.name === "ctrl+u") this.#words = ""
  }
}

const selecting = new Set(["up", "down", "left", "right", "pageUp", "pageDown", "enter", "ctrl+j", "escape"])

const isEnter = (key: Key): boolean => isKey(key, "enter") || isKey(key, "ctrl+j")

/** Whether somebody selects: anything else in the same read, or behind Enter, and it is words, which never answer. */
const isSelection = (keys: ReadonlyArray<Key>, choices: number): boolean =>
  keys.every((key, at) =>
    key.type === "key"
      ? selecting.has(key.name) && (!isEnter(key) || at === keys.length - 1)
      : key.type === "text" && /^[1-9]$/.test(key.text) && Number(key.text) <= choices
  )
