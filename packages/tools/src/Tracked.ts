/** A process that is on record while it runs. */

/** A command that is about to be started. */
export interface Tracked {
  /** What it and everything below it is found by. */
  readonly mark: string
  /** The variables that carry the mark. */
  readonly environment: Readonly<Record<string, string>>
  /** Says which process it became, as soon as it is there. */
  readonly started: (pid: number) => void
}
