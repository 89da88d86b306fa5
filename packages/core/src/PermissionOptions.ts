/** Settings of the broker of permission. */

/** `person`: somebody watches the bus and replies; `nobody`: a question is a denial; `auto`: a question is an allowance. */
export type Asks = "person" | "nobody" | "auto"

/** How questions are met where the rules do not decide. */
export interface PermissionOptions {
  /** Who answers where nothing else is said of a tree; see `Answerer.set`. */
  readonly asks: Asks
  /** Stands for `~/` and `$HOME` in patterns. */
  readonly home?: string
}
