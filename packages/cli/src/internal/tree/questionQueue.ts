/** Turns keys into answers to the questions of agents: one question at a time, the oldest first. */
import type { QuestionRequest } from "@skein/domain/Event"
import type { PartID } from "@skein/domain/Id"

/** What a person answered; undefined where they do not want to answer. */
export interface QuestionAnswer {
  readonly id: PartID
  readonly answers: readonly [string, ...ReadonlyArray<string>] | undefined
}

const escape = "\x1b"
const enter = new Set(["\r", "\n"])
const erase = new Set(["\x7f", "\b"])

/** The questions that wait for a person at the terminal. */
export class QuestionQueue {
  readonly #waiting: Array<QuestionRequest> = []
  /** Only a question that stands on the screen can be answered, and only once. */
  #state: "fresh" | "shown" | "answered" = "fresh"
  #text = ""
  /** Which of the options are chosen, by their places. */
  readonly #chosen = new Set<number>()

  /** The question that is to be answered now. */
  get current(): QuestionRequest | undefined {
    return this.#waiting[0]
  }

  /** How many wait behind it. */
  get others(): number {
    return Math.max(0, this.#waiting.length - 1)
  }

  /** The person's own words as far as they are written. */
  get text(): string {
    return this.#text
  }

  /** The labels of the options that are chosen so far, in their order. */
  get chosen(): ReadonlyArray<string> {
    return (this.current?.options ?? []).flatMap(({ label }, at) => this.#chosen.has(at) ? [label] : [])
  }

  /** Whether the current question was put on the screen. */
  get isShown(): boolean {
    return this.#state !== "fresh"
  }

  /** A question came. */
  add(request: QuestionRequest): void {
    this.#waiting.push(request)
  }

  /** A question came to its end, here or elsewhere. */
  remove(id: PartID): void {
    const at = this.#waiting.findIndex((request) => request.id === id)
    if (at < 0) return
    this.#waiting.splice(at, 1)
    if (at > 0) return
    this.#state = "fresh"
    this.#clear()
  }

  /** The current question is put on the screen; gives it where that is for the first time. */
  show(): QuestionRequest | undefined {
    if (this.#state !== "fresh" || this.current === undefined) return undefined
    this.#state = "shown"
    return this.current
  }

  /** Takes what was typed or pasted; gives the answer that it amounts to. */
  type(text: string): QuestionAnswer | undefined {
    // Arrow keys and the like come as ESC and more: none of them is an answer.
    const isSequence = text.length > 1 && text.startsWith(escape)
    for (const key of isSequence ? "" : text) {
      const { current } = this
      if (current === undefined || this.#state !== "shown") return undefined
      const answer = this.#press(key, current)
      if (answer === undefined) continue
      this.#state = "answered"
      this.#clear()
      return answer
    }
    return undefined
  }

  #clear(): void {
    this.#text = ""
    this.#chosen.clear()
  }

  #press(key: string, { id, multiple, options }: QuestionRequest): QuestionAnswer | undefined {
    const option = this.#text === "" && /^[1-9]$/.test(key) ? options[Number(key) - 1] : undefined
    if (option !== undefined) {
      if (!multiple) return { id, answers: [option.label] }
      const at = Number(key) - 1
      if (!this.#chosen.delete(at)) this.#chosen.add(at)
    } else if (enter.has(key)) {
      const own = this.#text.trim()
      const [first, ...rest] = [...this.chosen, ...(own === "" ? [] : [own])]
      return first === undefined ? undefined : { id, answers: [first, ...rest] }
    } else if (key === escape) {
      if (this.#text === "") return { id, answers: undefined }
      this.#text = ""
    } else if (erase.has(key)) this.#text = [...this.#text].slice(0, -1).join("")
    else if (key === "\x15") this.#text = ""
    else if (key >= " ") this.#text += key
    return undefined
  }
}
