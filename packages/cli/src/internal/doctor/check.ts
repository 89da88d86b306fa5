/** Decides how the result of one check is reported. */

/** The result of one check. */
export interface Check {
  readonly name: string
  /** `warn`: it works, but less well; `missing`: it does not exist; `broken`: it exists, but cannot be used. */
  readonly state: "ok" | "warn" | "missing" | "broken"
  /** Whether nothing works without it. */
  readonly essential: boolean
  readonly detail: string
  /** How to get or fix it. */
  readonly fix?: string
}
