/** Owns the stored data of a session in memory: each change of it is a write that must be committed. */
import type { Account } from "@skein/domain/Budget"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import type { Entry } from "../../Write.ts"

/** The data of one session. */
export class SessionRecord {
  #info: SessionInfo
  #modeChanges = 0

  constructor(info: SessionInfo) {
    this.#info = info
  }

  /** The current data, with changes that may not be stored yet. */
  get info(): SessionInfo {
    return this.#info
  }

  /** How often another mode was chosen since it is in memory. */
  get modeChanges(): number {
    return this.#modeChanges
  }

  /** The change that counts a stop, which holds for everything that was requested before. */
  get stopped(): Pick<SessionInfo, "stops"> {
    return { stops: (this.#info.stops ?? 0) + 1 }
  }

  /** Changes the data and its date; commit the returned write. */
  change(now: number, patch: Partial<SessionInfo>): Entry {
    if (patch.mode !== undefined) this.#modeChanges++
    this.#info = { ...this.#info, ...patch, time: { ...this.#info.time, updated: now } }
    return { _tag: "Session", info: this.#info }
  }

  /** Changes the data but not its date, so that the session keeps its place in listings; commit the returned write. */
  annotate(patch: Partial<Omit<SessionInfo, "time">>): Entry {
    this.#info = { ...this.#info, ...patch }
    return { _tag: "Session", info: this.#info }
  }

  /** Updates the account; it is stored with the next change. */
  keepAccount(budget: Account): void {
    this.#info = { ...this.#info, budget }
  }

  /** Removes the budget; that is stored with the next change. */
  dropAccount(): void {
    const { budget: _, ...info } = this.#info
    this.#info = info
  }
}
