/** Decides which task a progress line names. Until a second subagent begins, lines need no name. */
import type { Event } from "@skein/domain/Event"
import type { SessionID } from "@skein/domain/Id"
import { escapeLine } from "@skein/tui/Escape"

/** The maximum length of a description, in characters. */
const longest = 80

/** The descriptions of the tasks of a tree. */
export class TaskLabels {
  readonly #descriptions = new Map<SessionID, string>()
  readonly #begun = new Set<SessionID>()

  /** Reads an event. */
  see(event: Event): void {
    if (event.type === "subagent.created") {
      this.#begun.add(event.properties.task_id)
      this.#descriptions.set(event.properties.task_id, event.properties.description)
    } else if (event.type === "session.created" || event.type === "session.updated") {
      const { id, parentID, title } = event.properties.info
      // A task that continues after a crash is not created again.
      if (parentID !== undefined && !this.#descriptions.has(id)) this.#descriptions.set(id, title)
    }
    if (event.depth > 0) this.#begun.add(event.sessionID)
  }

  /** The label at the end of this session's lines. */
  of(sessionID: SessionID): string {
    const description = this.#begun.size > 1 ? this.#descriptions.get(sessionID) : undefined
    if (description === undefined) return ""
    const head = escapeLine(description.slice(0, longest))
    return ` (${head}${description.length > longest ? "…" : ""})`
  }
}
