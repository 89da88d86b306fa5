/** Owns the commands that this program carries out once the turn has ended: no agent reads them, so they are kept here. */
import { escapeLine } from "../../Escape.ts"
import type { Style } from "../../Style.ts"
import { fit } from "../../Width.ts"

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
