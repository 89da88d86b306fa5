/** A process with a record while it runs. */

/** A command that is about to be started. */
export interface Tracked {
  /** The mark by which it and its descendants are found. */
  readonly mark: string
  /** The variables that carry the mark. */
  readonly environment: Readonly<Record<string, string>>
  /** Records which process it became, as soon as it has started. */
  readonly started: (pid: number) => void
  /** Whether the lease of its tree ran out meanwhile: the watchdog has then ended what still ran. */
  readonly hasLapsed: () => boolean
  /** What it used too much of, if the watchdog has ended it for that: a sentence. */
  readonly exceeded: () => string | undefined
}
