/** Decides how a backend identifies a server, and finds it again. */
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

/** Which server, and how to find it again. */
export interface ServerOptions {
  /** The server as it was found. */
  readonly server: ServerTarget
  /** Finds it again if it does not answer, because a restarted server has another port and token. */
  readonly locate?: Effect.Effect<Option.Option<ServerTarget>>
  /** The URLs of other servers of its cluster, as far as they are known before it was asked. */
  readonly others?: ReadonlyArray<string>
  /** How long it may be unreachable, in milliseconds; 30 s by default. */
  readonly patience?: number
}
