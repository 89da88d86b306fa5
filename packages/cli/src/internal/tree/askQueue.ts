/** Turns keys into answers: one question at a time, the oldest first. */
import type { PermissionReply, PermissionRequest } from "@skein/domain/Event"
import type { PermissionID } from "@skein/domain/Id"

/** What a person answered. */
export interface Answer {
  readonly id: PermissionID
  readonly reply: PermissionReply
  readonly scope: "tree" | "project"
  readonly message: string | undefined
}

const escape = "\x1b"
const enter = new Set(["\r", "\n"])
const erase = new Set(["\x7f", "\b"])

/** The questions that wait for a person at the terminal. */
export class AskQueue {
  readonly #waiting: Array<PermissionRequest> = []
  /** Whether the current question has been seen: what was typed before that is no answer to it. */
  #shown = false
  #message: string | undefined

  /** The question that is to be answered now. */
  get current(): PermissionRequest | undefined {
    return this.#waiting[0]
  }

  /** How many wait behind it. */
  get others(): number {
    return Math.max(0, this.#waiting.length - 1)
  }

  /** The message that is being written; undefined where none is. */
  get message(): string | undefined {
    return this.#message
  }

  /** A question came. */
  add(request: PermissionRequest): void {
    this.#waiting.push(request)
  }

  /** A question was answered, here or elsewhere. */
  remove(id: PermissionID): void {
    const at = this.#waiting.findIndex((request) => request.id === id)
    if (at < 0) return
    this.#waiting.splice(at, 1)
    if (at > 0) return
    this.#shown = false
    this.#message = undefined
  }

  /** The current question stands on the screen; gives it where it does for the first time. */
  show(): PermissionRequest | undefined {
    const fresh = this.#shown ? undefined : this.current
    this.#shown = this.current !== undefined
    return fresh
  }

  /** Takes what was typed or pasted; gives the answers that it amounts to. */
  type(text: string): ReadonlyArray<Answer> {
    const answers: Array<Answer> = []
    // Arrow keys and the like come as ESC and more: none of them is an answer.
    const isSequence = text.length > 1 && text.startsWith(escape)
    for (const key of isSequence ? "" : text) {
      const { current } = this
      if (current === undefined || !this.#shown) break
      const answer = this.#message === undefined ? this.#press(key, current) : this.#write(key, current, this.#message)
      if (answer === undefined) continue
      answers.push(answer)
      this.remove(answer.id)
    }
    return answers
  }

  #press(key: string, { always, id }: PermissionRequest): Answer | undefined {
    const answer = (reply: PermissionReply, scope: Answer["scope"] = "tree"): Answer => ({ id, reply, scope, message: undefined })
    switch (key.toLowerCase()) {
      case "y":
        return answer("once")
      case "a":
        return always.length === 0 ? undefined : answer("always")
      case "p":
        return always.length === 0 ? undefined : answer("always", "project")
      case "n":
        return answer("reject")
      case "m":
        this.#message = ""
        return undefined
      default:
        return undefined
    }
  }

  #write(key: string, { id }: PermissionRequest, message: string): Answer | undefined {
    if (enter.has(key)) {
      const said = message.trim()
      return { id, reply: "reject", scope: "tree", message: said === "" ? undefined : said }
    }
    if (key === escape) this.#message = undefined
    else if (erase.has(key)) this.#message = [...message].slice(0, -1).join("")
    else if (key === "\x15") this.#message = ""
    else if (key >= " ") this.#message = message + key
    return undefined
  }
}
