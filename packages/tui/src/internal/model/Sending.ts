/** Owns the prompts that a server has not taken yet: they are shown if that takes long. */
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
