/** A value of a project's file that counts only if it is trusted. */

/** A value of a project's file that counts only if it is trusted. */
export interface TrustItem {
  /** The beginning of the hash of the value, of where it stands and, of hooks, of the files that they name. */
  readonly id: string
  readonly digest: string
  /** The path of the key, such as `provider.openai.base_url`. */
  readonly key: string
  /** What the file says. */
  readonly value: unknown
  readonly file: string
  readonly line?: number
  /** `changed` since something else in its place was trusted; `fixed` where it cannot be trusted; `gone` where it stands no more. */
  readonly state: "trusted" | "untrusted" | "changed" | "fixed" | "gone"
  /** When it was trusted, in milliseconds since 1970. */
  readonly since?: number
}
