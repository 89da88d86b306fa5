/** Owns which sessions are in memory, and their tree. */
import type { SessionID } from "@skein/domain/Id"
import type { Live } from "./Live.ts"

/** The trees that were closed while a session was being read, by their roots: what was read of these may be out of date. */
export type ClosedMeanwhile = ReadonlySet<SessionID>

/** The sessions in memory. */
export class SessionMap {
  readonly #sessions = new Map<SessionID, Live>()
  readonly #children = new Map<SessionID, Set<Live>>()
  readonly #reads = new Set<Set<SessionID>>()

  /** The session of an id. */
  get(id: SessionID): Live | undefined {
    return this.#sessions.get(id)
  }

  /** Whether there is a session of an id. */
  has(id: SessionID): boolean {
    return this.#sessions.has(id)
  }

  /** The sessions directly below one. */
  below(id: SessionID): ReadonlyArray<Live> {
    return [...(this.#children.get(id) ?? [])]
  }

  /** Adds a session. */
  add(live: Live): void {
    const { parent } = live
    this.#sessions.set(live.info.id, live)
    if (parent === undefined) return
    const siblings = this.#children.get(parent.info.id) ?? new Set()
    this.#children.set(parent.info.id, siblings.add(live))
  }

  /** A session is about to be read. Notes which trees are closed until `endRead`. */
  beginRead(): ClosedMeanwhile {
    const closed = new Set<SessionID>()
    this.#reads.add(closed)
    return closed
  }

  /** The session was read. */
  endRead(closed: ClosedMeanwhile): void {
    this.#reads.delete(closed as Set<SessionID>)
  }

  /** A tree is being closed, whether or not any of its sessions is in memory. */
  closes(rootID: SessionID): void {
    for (const closed of this.#reads) closed.add(rootID)
  }

  /** Forgets a session and all below it; returns their ids. */
  forget(live: Live): ReadonlyArray<SessionID> {
    const { id } = live.info
    const below = this.below(id).flatMap((child) => this.forget(child))
    this.#children.delete(id)
    this.#sessions.delete(id)
    if (live.parent !== undefined) this.#children.get(live.parent.info.id)?.delete(live)
    return [...below, id]
  }
}
