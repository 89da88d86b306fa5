/** Decides which task a progress line names: none while a single subagent has begun, for then nothing can be mixed up. */
import type { Event } from "@skein/domain/Event"
import type { SessionID } from "@skein/domain/Id"
import { escapeLine } from "@skein/tui/Escape"

/** The most that is shown of a description, in characters. */
const longest = 80

/** The descriptions of the tasks of a tree. */
export class TaskLabels {
  readonly #descriptions = new Map<SessionID, string>()
  readonly #begun = new Set<SessionID>()

  /** Takes an event in. */
  see(event: Event): void {
    if (event.type === "subagent.created") {
      this.#begun.add(event.properties.task_id)
      this.#descriptions.set(event.properties.task_id, event.properties.description)
    } else if (event.type === "session.created" || event.type === "session.updated") {
      const { id, parentID, title } = event.properties.info
      // A task that goes on after a crash is not created again.
      if (parentID !== undefined && !this.#descriptions.has(id)) this.#descriptions.set(id, title)
    }
    if (event.depth > 0) this.#begun.add(event.sessionID)
  }

  /** What a line of this session ends with. */
  of(sessionID: SessionID): string {
    const description = this.#begun.size > 1 ? this.#descriptions.get(sessionID) : undefined
    if (description === undefined) return ""
    const head = escapeLine(description.slice(0, longest))
    return ` (${head}${description.length > longest ? "…" : ""})`
  }
}
