/** Values of a project's files that need trust, and how to report that something cannot be trusted. */
import * as Schema from "effect/Schema"

/** The trust file could not be read or changed. The message says why, and how to fix it. */
export class TrustError extends Schema.TaggedError<TrustError>()("TrustError", { message: Schema.String }) {}

/** A value of a project's file that needs trust. */
export interface TrustItem {
  /** The beginning of the hash of the value, of its place and, for hooks, of the files that they name. */
  readonly id: string
  readonly digest: string
  /** The path of the key, such as `provider.openai.base_url`. */
  readonly key: string
  /** The value in the file. */
  readonly value: unknown
  readonly file: string
  readonly line?: number
  /** `changed`: another value in its place was trusted; `fixed`: it cannot be trusted; `gone`: it no longer exists. */
  readonly state: "trusted" | "untrusted" | "changed" | "fixed" | "gone"
  /** When it was trusted, in milliseconds since 1970. */
  readonly since?: number
  /** The user saw this value, which is not trusted, or has declined to trust it. */
  readonly noticed?: "told" | "declined"
}
