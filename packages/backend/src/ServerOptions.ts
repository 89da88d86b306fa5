/** Decides how a server is named to a backend, and how it is found again. */
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type * as Redacted from "effect/Redacted"

/** A server, and what to authenticate with. */
export interface ServerTarget {
  /** Such as `http://127.0.0.1:4096`. */
  readonly url: string
  readonly token: Redacted.Redacted
  readonly version: string
}

/** Which server, and how it is found again. */
export interface ServerOptions {
  /** The server as it was found. */
  readonly server: ServerTarget
  /** Finds it again when it does not answer: one that was started again has another port and another token. */
  readonly locate?: Effect.Effect<Option.Option<ServerTarget>>
  /** How long it may be away, in milliseconds; 30 s by default. */
  readonly patience?: number
}
