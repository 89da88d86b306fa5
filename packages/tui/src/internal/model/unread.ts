/**
 * Owns what a person sent and no agent has read yet: prompts that the server has not taken, messages that wait for
 * their agent, and commands for after the turn.
 */
import type { MessageID } from "@skein/domain/Id"
import type { WaitingPrompt } from "@skein/domain/InboxRow"
import { escapeLine } from "../../Escape.ts"
import type { Style } from "../../Style.ts"
import { fit } from "../../Width.ts"

/** How long a server may take before a prompt is shown, in milliseconds: usually it is stored before it would be read. */
const patience = 500

/** Prompts on their way, the oldest first. */
export class Sending {
  readonly #all = new Set<{ readonly text: string; readonly since: number }>()

  /** A prompt is sent from now on. The returned function says that it is stored, or was refused. */
  begin(text: string, since: number): () => void {
    const sent = { text, since }
    this.#all.add(sent)
    return () => void this.#all.delete(sent)
  }

  lines(columns: number, style: Style, steady: number): ReadonlyArray<string> {
    return [...this.#all].filter(({ since }) => steady - since >= patience).map(({ text }) =>
      style.dim(fit(escapeLine(`  ↳ being sent: ${text.slice(0, 500)}`), columns - 1))
    )
  }
}

/** The most of them that are shown. */
const most = 4

/** What was sent from here: all of it, and what went with it. */
interface Sent {
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

/** The commands that change a conversation which must be at rest for that. */
const needRest: ReadonlySet<string> = new Set(["compact", "fork", "rewind"])

/** Whether a text is a command that cannot be carried out while its session works. */
export const needsRest = (text: string): boolean => needRest.has(/^\/([^\s/]+)/.exec(text)?.[1] ?? "")

/** Commands that wait, the oldest first. */
export class Later {
  #texts: Array<string> = []
  /** Whether the turn was interrupted: then they wait for the end of the next one, as prompts do. */
  #isHeld = false

  get isEmpty(): boolean {
    return this.#texts.length === 0
  }

  add(text: string): void {
    this.#texts.push(text)
  }

  /** Takes the last one back; undefined where there is none. */
  takeBack(): string | undefined {
    return this.#texts.pop()
  }

  /** The turn is interrupted. */
  hold(): void {
    this.#isHeld = true
  }

  /** A turn has begun. */
  begin(): void {
    this.#isHeld = false
  }

  /** The turn has ended: gives what is carried out now. */
  release(): ReadonlyArray<string> {
    if (this.#isHeld) return []
    return this.#texts.splice(0)
  }

  clear(): void {
    this.#texts = []
  }

  lines(columns: number, style: Style, isBusy: boolean): ReadonlyArray<string> {
    const why = isBusy ? "carried out after the turn" : "carried out after your next prompt"
    return this.#texts.map((text, at) =>
      style.dim(
        fit(
          escapeLine(`  ↳ ${why}${at === this.#texts.length - 1 ? " (Up edits it)" : ""}: ${text.slice(0, 500)}`),
          columns - 1
        )
      )
    )
  }
}
