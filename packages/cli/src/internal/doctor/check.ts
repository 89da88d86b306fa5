/** Decides how the result of one check is reported. */

/** What was found of one thing. */
export interface Check {
  readonly name: string
  /** `warn`: it works, but less well; `missing`: it is not there; `broken`: it is there, and cannot be used. */
  readonly state: "ok" | "warn" | "missing" | "broken"
  /** Whether nothing works without it. */
  readonly essential: boolean
  readonly detail: string
  /** How to get it, or to fix it. */
  readonly fix?: string
}
