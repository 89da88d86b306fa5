/** Settings of the broker of permission. */

/** How questions are met where the rules do not decide. */
export interface PermissionOptions {
  /** `person`: somebody watches the bus and replies; `nobody`: a question is a denial; `auto`: a question is an allowance. */
  readonly asks: "person" | "nobody" | "auto"
  /** Stands for `~/` and `$HOME` in patterns. */
  readonly home?: string
}
