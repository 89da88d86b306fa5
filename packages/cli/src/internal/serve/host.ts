/** Gives the server access to this machine's files: config, trust, worktrees and old data. */
import type * as FileSystem from "@effect/platform/FileSystem"
import { jsonSchema } from "@skein/config/ConfigSchema"
import type { DataDirs } from "@skein/config/DataDirs"
import * as Trust from "@skein/config/Trust"
import type { Isolation } from "@skein/core/Isolation"
import type { SessionStorage } from "@skein/core/SessionStorage"
import { HostRefused, type ServerHost } from "@skein/server/ServerOptions"
import * as Effect from "effect/Effect"
import { describedConfig } from "../list/config.ts"
import { cleaned, listWorktrees } from "../list/worktrees.ts"
import { configOf } from "../providers.ts"
import { forget } from "../prune/retention.ts"

type Needs = DataDirs | FileSystem.FileSystem | Isolation | SessionStorage

const refused = (reason: HostRefused["reason"]) => ({ message }: { readonly message: string }) =>
  new HostRefused({ reason, message })

/** Makes it, over the files and the database of this program. */
export const makeHost: Effect.Effect<ServerHost, never, Needs> = Effect.map(Effect.context<Needs>(), (context) => {
  const here = (reason: HostRefused["reason"]) => <A>(effect: Effect.Effect<A, { readonly message: string }, Needs>) =>
    Effect.provide(Effect.mapError(effect, refused(reason)), context)
  const invalid = here("invalid")
  const failed = here("failed")
  return {
    config: (directory) => invalid(Effect.map(describedConfig(directory), ({ broken, json }) => ({ ...json, broken }))),
    configSchema: jsonSchema,
    trust: (directory) => invalid(Effect.flatMap(configOf(directory), Trust.review)),
    allowTrust: (directory, ids) =>
      invalid(Effect.flatMap(configOf(directory), (options) => Trust.allow(options, ids))),
    revokeTrust: (ids) => invalid(Trust.revoke(ids)),
    worktrees: failed(listWorktrees),
    cleanWorktrees: ({ dryRun = false, force = false }) => failed(cleaned({ dryRun, force })),
    forget: (options) => failed(forget(options))
  }
})
