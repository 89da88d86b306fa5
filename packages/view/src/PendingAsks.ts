/** Collects the questions that wait for a person, of one tree or of all. */
import type { Event } from "@skein/domain/Event"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import type { PendingAsk } from "@skein/domain/TreeSnapshot"

/** The waiting questions: permission questions first, each kind oldest first. */
export class PendingAsks {
  readonly #asks = new Map<string, PendingAsk>()

  constructor(asks: ReadonlyArray<PendingAsk> = []) {
    this.replace(asks)
  }

  /** Replaces all waiting questions. */
  replace(asks: ReadonlyArray<PendingAsk>): void {
    this.#asks.clear()
    for (const ask of asks) this.#asks.set(ask.id, ask)
  }

  /** Applies an event; returns whether a question was added or removed. */
  see(event: Event): boolean {
    switch (event.type) {
      case "permission.asked":
        this.#asks.set(event.properties.id, { type: "permission", ...event.properties })
        return true
      case "question.asked":
        this.#asks.set(event.properties.id, { type: "question", ...event.properties })
        return true
      case "permission.replied":
      case "question.replied":
        return this.#asks.delete(event.properties.id)
      case "session.updated":
        return this.#rename(event.properties.info)
      case "session.deleted":
      case "session.idle":
      case "subagent.completed":
      case "subagent.failed":
        return this.#leave(event.sessionID)
      default:
        return false
    }
  }

  /** The waiting questions. */
  get all(): ReadonlyArray<PendingAsk> {
    const asks = [...this.#asks.values()]
    return [...asks.filter(({ type }) => type === "permission"), ...asks.filter(({ type }) => type === "question")]
  }

  /** Their number in each tree. */
  get perTree(): ReadonlyMap<string, number> {
    const counts = new Map<string, number>()
    for (const { rootID } of this.#asks.values()) counts.set(rootID, (counts.get(rootID) ?? 0) + 1)
    return counts
  }

  #rename({ id, title }: SessionInfo): boolean {
    const named = [...this.#asks.values()].filter((ask) => ask.rootID === id && ask.title !== title)
    for (const ask of named) this.#asks.set(ask.id, { ...ask, title })
    return named.length > 0
  }

  /** The questions of a session end with it, or with its turn. */
  #leave(sessionID: string): boolean {
    const own = [...this.#asks.values()].filter((ask) => ask.sessionID === sessionID)
    for (const { id } of own) this.#asks.delete(id)
    return own.length > 0
  }
}
