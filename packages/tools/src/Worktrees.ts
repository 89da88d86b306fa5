/**
 * Implements `Isolation` with git worktrees in the data directory, each on a branch `skein/TASK`. In the user's
 * repository it writes objects, that branch and git's data about the worktree, but never their config, index, HEAD or
 * files.
 */
import * as FileSystem from "@effect/platform/FileSystem"
import { Isolation } from "@skein/core/Isolation"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"

/** Where worktrees are kept, and the environment of git. */
export interface WorktreesOptions {
  /** The data directory, absolute. Worktrees are in `worktrees/REPOSITORY/TASK` there. */
  readonly dataDirectory: string
  /**
   * The register of all programs of Skein of this user, absolute: a task continues in the worktree that another of them
   * has made.
   */
  readonly register?: string
  /** The environment of this process: where git is, and where it finds the user's settings. */
  readonly environment: Readonly<Record<string, string | undefined>>
}

/**
 * Isolates tasks in worktrees. Calls for one task run one after the other; calls for different tasks run in parallel.
 */
export const layer = (options: WorktreesOptions): Layer.Layer<Isolation, never, FileSystem.FileSystem> =>
  Layer.scoped(
    Isolation,
    Effect.gen(function*() {
      const fs = yield* FileSystem.FileSystem
      const scope = yield* Effect.scope
      // Loaded at first use, so that the program starts without it.
      const worktrees = yield* Effect.cached(
        Effect.promise(() => import("./internal/git/gitWorktrees.ts")).pipe(
          Effect.flatMap(({ makeWorktrees }) => makeWorktrees({ ...options, fs })),
          Scope.extend(scope),
          // If loading is interrupted, caching its result would cache the interruption.
          Effect.uninterruptible
        )
      )
      return {
        open: Effect.fn("Isolation.open")((of) => Effect.flatMap(worktrees, ({ open }) => open(of))),
        close: Effect.fn("Isolation.close")((taskID) => Effect.flatMap(worktrees, ({ close }) => close(taskID))),
        contains: Effect.fn("Isolation.contains")((of) => Effect.flatMap(worktrees, ({ contains }) => contains(of))),
        list: Effect.withSpan(Effect.flatMap(worktrees, ({ list }) => list), "Isolation.list"),
        remove: Effect.fn("Isolation.remove")((taskID, how) =>
          Effect.flatMap(worktrees, ({ remove }) => remove(taskID, how))
        )
      }
    })
  )
