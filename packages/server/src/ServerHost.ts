/** Decides what a server needs from its program: access to files other than sessions. */
import type { CleanWorktrees } from "@skein/api/Input"
import type { CleanedWorktree, ShownConfig, TrustItem, Worktree } from "@skein/api/Output"
import type { SessionID } from "@skein/domain/Id"
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

/** The program cannot do what was requested. The message says why, and how to fix it. */
export class HostRefused extends Schema.TaggedError<HostRefused>()("HostRefused", {
  /** `invalid`: the request makes no sense here. `failed`: it could not be carried out. */
  reason: Schema.Literal("invalid", "failed"),
  message: Schema.String
}) {}

/** The number of events and long texts that were removed, or would be. */
export interface Forgotten {
  readonly events: number
  readonly texts: { readonly files: number; readonly bytes: number }
}

/** What the program does for the clients of its server. */
export interface ServerHost {
  /** The effective settings of a directory, without secrets. */
  readonly config: (directory: string) => Effect.Effect<ShownConfig, HostRefused>
  /** The JSON Schema of config files. */
  readonly configSchema: Effect.Effect<Readonly<Record<string, unknown>>>
  readonly trust: (directory: string) => Effect.Effect<ReadonlyArray<TrustItem>, HostRefused>
  readonly allowTrust: (
    directory: string,
    ids: ReadonlyArray<string>
  ) => Effect.Effect<ReadonlyArray<TrustItem>, HostRefused>
  readonly revokeTrust: (ids: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<TrustItem>, HostRefused>
  readonly worktrees: Effect.Effect<ReadonlyArray<Worktree>, HostRefused>
  readonly cleanWorktrees: (options: CleanWorktrees) => Effect.Effect<ReadonlyArray<CleanedWorktree>, HostRefused>
  /** Removes old events and long texts, and the texts of the sessions that were just removed. */
  readonly forget: (options: {
    readonly dryRun: boolean
    readonly removed: ReadonlySet<SessionID>
  }) => Effect.Effect<Forgotten, HostRefused>
}
