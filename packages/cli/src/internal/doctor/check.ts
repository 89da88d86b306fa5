/** Decides what is told of one thing that was looked at. */

/** What was found of one thing. */
export interface Check {
  readonly name: string
  /** `warn`: it works, but less well; `missing`: it is not there. */
  readonly state: "ok" | "warn" | "missing"
  /** Whether nothing works without it. */
  readonly essential: boolean
  readonly detail: string
  /** How to get it, or to mend it. */
  readonly mend?: string
}
