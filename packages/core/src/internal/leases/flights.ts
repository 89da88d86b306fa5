/** Keeps the commits in flight: which of them come too late, and for how long none of them has ended. */
import type { SessionID } from "@skein/domain/Id"
import type * as Clock from "effect/Clock"
import { elapsed } from "../../MonotonicClock.ts"
import type { Write } from "../../Write.ts"

/** A commit in flight. */
export interface Flight {
  readonly writes: ReadonlyArray<Write>
  /** The session that is being removed, if the commit writes to one. */
  late: SessionID | undefined
}

/** The session that a write belongs to; undefined for writes of a project or a lease. */
export const sessionOf = (write: Write): SessionID | undefined => {
  switch (write._tag) {
    case "Session":
      return write.info.id
    case "DeleteSession":
      return write.id
    case "Message":
      return write.info.sessionID
    case "Part":
      return write.part.sessionID
    case "Run":
      return write.run.parentID
    case "Inbox":
      return write.row.sessionID
    case "RemovePart":
    case "InboxTaken":
    case "Todos":
      return write.sessionID
    case "Event":
      return write.event.sessionID
    case "Shelve":
      return write.rootID
    case "Receipt":
      return write.receipt.sessionID
    default:
      return undefined
  }
}

/** The commits of a process that wait for the storage. */
export class Flights {
  readonly #all = new Set<Flight>()
  readonly #clock: Clock.Clock
  #since = 0

  constructor(clock: Clock.Clock) {
    this.#clock = clock
  }

  /** A commit begins. */
  begin(writes: ReadonlyArray<Write>): Flight {
    if (this.#all.size === 0) this.#since = elapsed(this.#clock)
    const flight: Flight = { writes, late: undefined }
    this.#all.add(flight)
    return flight
  }

  /** A commit has ended, successfully or not. */
  end(flight: Flight): void {
    this.#all.delete(flight)
    this.#since = elapsed(this.#clock)
  }

  /** Marks those that write to sessions that are being removed. */
  noteLate(removed: ReadonlySet<SessionID>): void {
    for (const flight of this.#all) {
      flight.late ??= flight.writes.map(sessionOf).find((id) => id !== undefined && removed.has(id))
    }
  }

  /** For how long none has ended although one waits, in milliseconds; 0 if none waits. */
  get stalled(): number {
    return this.#all.size === 0 ? 0 : elapsed(this.#clock) - this.#since
  }
}
