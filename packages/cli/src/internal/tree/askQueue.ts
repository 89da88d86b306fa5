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
  /** Only a question that stands on the screen can be answered, and only once. */
  #state: "fresh" | "shown" | "answered" = "fresh"
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
    this.#state = "fresh"
    this.#message = undefined
  }

  /** The current question is put on the screen; gives it where that is for the first time. */
  show(): PermissionRequest | undefined {
    if (this.#state !== "fresh" || this.current === undefined) return undefined
    this.#state = "shown"
    return this.current
  }

  /** Whether the current question was put on the screen. */
  get isShown(): boolean {
    return this.#state !== "fresh"
  }

  /** Takes what was typed or pasted; gives the answer that it amounts to. */
  type(text: string): Answer | undefined {
    // Arrow keys and the like come as ESC and more: none of them is an answer.
    const isSequence = text.length > 1 && text.startsWith(escape)
    for (const key of isSequence ? "" : text) {
      const { current } = this
      if (current === undefined || this.#state !== "shown") return undefined
      const answer = this.#message === undefined ? this.#press(key, current) : this.#write(key, current, this.#message)
      if (answer === undefined) continue
      this.#state = "answered"
      this.#message = undefined
      return answer
    }
    return undefined
  }

  #press(key: string, { always, id }: PermissionRequest): Answer | undefined {
    const answer = (reply: PermissionReply, scope: Answer["scope"] = "tree"): Answer => ({
      id,
      reply,
      scope,
      message: undefined
    })
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
