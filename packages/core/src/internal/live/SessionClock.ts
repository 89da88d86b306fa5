/** Owns the clocks of a session: how long it waited for people, and its last sign of life. */

/** The clock of one session. All times are milliseconds of `MonotonicClock.elapsed`. */
export class SessionClock {
  readonly #parent: SessionClock | undefined
  readonly #now: () => number
  #asking = 0
  #since = 0
  #waited = 0
  #alive = 0

  constructor(now: () => number, parent: SessionClock | undefined) {
    this.#now = now
    this.#parent = parent
  }

  /** The time now. */
  now(): number {
    return this.#now()
  }

  /** The last sign of life of a model or a tool, or the end of the last pause. */
  get lastAlive(): number {
    return this.#alive
  }

  /** Notes a sign of life. */
  alive(): void {
    this.#alive = this.#now()
  }

  /** Whether a question of the session, or of one below it, waits for a person. */
  get isAsking(): boolean {
    return this.#asking > 0
  }

  /** The total time spent waiting for people. */
  get waited(): number {
    return this.#waited + (this.#asking > 0 ? this.#now() - this.#since : 0)
  }

  /** A question starts to wait for a person: pauses the clocks of the session and of all above it. */
  beginAsking(): void {
    if (this.#asking++ === 0) this.#since = this.#now()
    this.alive()
    this.#parent?.beginAsking()
  }

  /** A question has been answered or withdrawn. */
  endAsking(): void {
    if (--this.#asking === 0) this.#waited += this.#now() - this.#since
    this.alive()
    this.#parent?.endAsking()
  }
}
