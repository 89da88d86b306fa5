/** Owns the messages of people that no agent has read yet: a fold over the events about them. */
import type { MessageID } from "@skein/domain/Id"
import type { WaitingPrompt } from "@skein/domain/InboxRow"
import { escapeLine } from "../../Escape.ts"
import type { Style } from "../../Style.ts"
import { fit } from "../../Width.ts"

/** The most of them that are shown. */
const most = 4

/** What was sent from here: all of it, and what went with it. */
export interface Sent {
  readonly text: string
  /** What commands of the person's own had written. */
  readonly outputs: ReadonlyArray<string>
}

/** Prompts that are read at the next step, and those for after the turn. */
export class Waiting {
  #prompts: ReadonlyArray<WaitingPrompt> = []
  readonly #sent = new Map<MessageID, Sent>()

  /** What waits from now on. */
  see(prompts: ReadonlyArray<WaitingPrompt>): void {
    this.#prompts = prompts
    const ids = new Set(prompts.map(({ id }) => id))
    for (const id of this.#sent.keys()) if (!ids.has(id)) this.#sent.delete(id)
  }

  /** A prompt of this terminal was stored. */
  stored(id: MessageID, sent: Sent): void {
    this.#sent.set(id, sent)
  }

  /** A prompt waits no longer; gives what was sent from here. */
  taken(id: MessageID): Sent | undefined {
    const sent = this.#sent.get(id)
    this.see(this.#prompts.filter((each) => each.id !== id))
    return sent
  }

  /** The one that was said last. */
  get last(): WaitingPrompt | undefined {
    return this.#prompts.at(-1)
  }

  clear(): void {
    this.see([])
  }

  lines(columns: number, style: Style, isBusy: boolean): ReadonlyArray<string> {
    const why = ({ after }: WaitingPrompt) =>
      !isBusy ? "follows your next prompt" : after === "turn" ? "sent after the turn" : "read at the next step"
    const all = this.#prompts.map((prompt) =>
      `  ↳ ${why(prompt)}${prompt === this.last ? " (Up edits it)" : ""}: ${prompt.text}`
    )
    return all.slice(-most).map((line) => style.dim(fit(escapeLine(line.slice(0, 500)), columns - 1)))
  }
}
