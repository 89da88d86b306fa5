/** Settings of the permission broker. */

/** `person`: somebody watches the bus and replies; `nobody`: questions are denied; `auto`: questions are allowed. */
export type Asks = "person" | "nobody" | "auto"

/** How to answer questions that the rules leave open. */
export interface PermissionOptions {
  /** Who answers for trees without their own setting; see `Answerer.set`. */
  readonly asks: Asks
  /** Stands for `~/` and `$HOME` in patterns. */
  readonly home?: string
}
