/**
 * Implements `Workspaces` with git: the last step of a tree is a commit on `refs/skein/ROOT` of a repository that its hosts
 * reach. In the user's repository nothing is written.
 */
import { Workspaces } from "@skein/core/Workspaces"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import type { KeeperOptions } from "./internal/workspace/stepGit.ts"

/** Where workspaces are kept, what git may see, and what the user of this host wants. */
export type GitWorkspacesOptions = KeeperOptions

/** Keeps steps, and fetches them. */
export const layer = (options: GitWorkspacesOptions): Layer.Layer<Workspaces> =>
  Layer.scoped(
    Workspaces,
    Effect.gen(function*() {
      const scope = yield* Effect.scope
      // Loaded at first use, so that the program starts without it.
      const keeper = yield* Effect.cached(
        Effect.promise(() => import("./internal/workspace/keepSteps.ts")).pipe(
          Effect.flatMap(({ makeKeeper }) => makeKeeper(options)),
          Scope.extend(scope),
          Effect.uninterruptible
        )
      )
      return {
        origin: Effect.fn("Workspaces.origin")((directory, settings) =>
          settings.workspace === "git"
            ? Effect.flatMap(keeper, ({ origin }) => origin(directory, settings))
            : Effect.succeed(undefined)
        ),
        keep: Effect.fn("Workspaces.keep")((step, told) => Effect.flatMap(keeper, ({ keep }) => keep(step, told))),
        fetch: Effect.fn("Workspaces.fetch")((rootID, workspace) =>
          Effect.flatMap(keeper, ({ fetch }) => fetch(rootID, workspace))
        ),
        claim: Effect.fn("Workspaces.claim")((...of) => Effect.flatMap(keeper, ({ claim }) => claim(...of))),
        discard: (fetched) => Effect.flatMap(keeper, ({ discard }) => discard(fetched)),
        forget: (rootID, workspace) => Effect.flatMap(keeper, ({ forget }) => forget(rootID, workspace)),
        settled: Effect.flatMap(keeper, ({ settled }) => settled)
      }
    })
  )
