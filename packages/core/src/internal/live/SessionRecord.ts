/** Owns the stored data of a session in memory: each change of it is a write that has to be committed. */
import type { Account } from "@skein/domain/Budget"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import type { Entry } from "../../JournalEntry.ts"

/** The data of one session. */
export class SessionRecord {
  #info: SessionInfo

  constructor(info: SessionInfo) {
    this.#info = info
  }

  /** The data as it stands now, with changes that may not be stored yet. */
  get info(): SessionInfo {
    return this.#info
  }

  /** Changes the data and its date; commit what it gives. */
  change(now: number, patch: Partial<SessionInfo>): Entry {
    this.#info = { ...this.#info, ...patch, time: { ...this.#info.time, updated: now } }
    return { _tag: "Session", info: this.#info }
  }

  /** Changes the data but not its date, so that the session keeps its place among the others; commit what it gives. */
  annotate(patch: Partial<Omit<SessionInfo, "time">>): Entry {
    this.#info = { ...this.#info, ...patch }
    return { _tag: "Session", info: this.#info }
  }

  /** Brings the account up to date; it is stored with the next change. */
  keepAccount(budget: Account): void {
    this.#info = { ...this.#info, budget }
  }

  /** Takes the budget away; that is stored with the next change. */
  dropAccount(): void {
    const { budget: _, ...info } = this.#info
    this.#info = info
  }
}
