/** Request gates whose limits hold over several processes: each of them gets a share, for a short time. */

/** What a process wants of a limit. */
export interface Demand {
  /** The limit of all processes together. */
  readonly limit: number
  /** How many requests are in flight, and how many wait. */
  readonly held: number
  readonly waiting: number
  /** How many trees they belong to. */
  readonly roots: number
}

/** The gate of one process. Nothing passes it until it was lent a share. */
export interface SharedGate {
  /** The same for all gates that share a limit. */
  readonly key: string
  readonly demand: () => Demand
  /** From now on, up to so many requests are in flight; none more begins after this many milliseconds. */
  readonly lend: (share: number, milliseconds: number) => void
  /** Pauses it for this many milliseconds, or longer if an earlier pause is longer. */
  readonly hold: (milliseconds: number) => void
  /** The rest of the current pause, in milliseconds. */
  readonly closedFor: () => number
}

/** Who divides the limits. */
export interface Sharing {
  /** There is another gate. */
  readonly added: (gate: SharedGate) => void
  /** A request waits, or a provider asked for a pause: an earlier division is welcome, but not needed. */
  readonly changed: () => void
}
