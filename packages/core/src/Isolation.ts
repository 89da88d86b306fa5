/** Decides where a task works apart from its caller: in a copy of the repository of its own, on a branch of its own. */
import type { SessionID } from "@skein/domain/Id"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"

/** A task cannot be isolated, or what it left cannot be removed; nothing was changed. The message says what to do instead. */
export class IsolationRefused extends Schema.TaggedError<IsolationRefused>()("IsolationRefused", {
  reason: Schema.Literal(
    /** Nobody provides isolation. */
    "unavailable",
    "not_a_repository",
    "no_commits",
    "git_missing",
    /** It would lose what is nowhere else. */
    "has_changes",
    /** There is no such task, or no such directory. */
    "not_found",
    "failed"
  ),
  message: Schema.String
}) {}

/** Where a task works; all paths are absolute and real. */
export interface Workspace {
  /** Where the child's tools work: the same place in `root` as the caller's directory has in its repository. */
  readonly directory: string
  /** The top of the worktree. */
  readonly root: string
  readonly branch: string
  /** The commit that it began from. */
  readonly base: string
  /** The directory that git shares between all worktrees of the repository: objects, refs, config, hooks. */
  readonly gitDirectory: string
  /** What of the caller's tree is not in it, a sentence without a full stop for each; the child and its parent are told. */
  readonly omits: ReadonlyArray<string>
}

/** What is in a worktree that was not in its base. */
export interface Changes {
  /** Commits beyond the base. */
  readonly commits: number
  /** Those of them that no other branch or tag has: what is lost with the worktree. */
  readonly onlyHere: number
  /** Files that were changed, and files or directories that were added, since the last commit; but for ignored ones. */
  readonly uncommitted: number
  /** As `git diff --stat` against the base, and the names of what git does not know; bounded. */
  readonly diffStat: string
}

/** What became of a worktree when its task had ended. */
export type WorkspaceEnd =
  | { readonly kept: false }
  | { readonly kept: true; readonly branch: string; readonly directory: string } & Changes

/** A worktree that is there, in use or not. */
export interface Leftover {
  readonly taskID: SessionID
  /** The top of the worktree. */
  readonly directory: string
  readonly branch: string
  /** How it came to be; absent where the record of that cannot be read. */
  readonly origin?: {
    readonly description: string
    /** The repository that it belongs to: its main directory. */
    readonly repository: string
    readonly repositoryExists: boolean
    readonly base: string
    /** In milliseconds since 1970. */
    readonly created: number
  }
  /** `unknown` where git cannot tell, as when the repository is gone. */
  readonly changes: Changes | "none" | "unknown"
}

/** Gives tasks a place of their own to work in. What the user has is never changed by it, and never lost. */
export class Isolation extends Context.Tag("@skein/core/Isolation")<Isolation, {
  /**
   * Makes the worktree of a task from the commit that the caller's repository stands at, or opens it again. An open that
   * fails or is interrupted leaves nothing behind.
   */
  readonly open: (of: {
    /** The caller's directory. */
    readonly directory: string
    readonly taskID: SessionID
    /** What the task is for; told by `list`. */
    readonly description: string
  }) => Effect.Effect<Workspace, IsolationRefused>
  /**
   * Ends the work in a worktree: one without changes is removed with its branch, one with changes is kept. All processes
   * of the task have ended by then. Refused as `not_found` where there is none, as after an open that did not succeed.
   */
  readonly close: (taskID: SessionID) => Effect.Effect<WorkspaceEnd, IsolationRefused>
  /** All worktrees, in the order of their ids. Those of tasks at work are among them: only the storage knows which these are. */
  readonly list: Effect.Effect<ReadonlyArray<Leftover>, IsolationRefused>
  /**
   * Removes a worktree with its branch. Refuses one with something in it that is nowhere else, saying what, unless forced.
   * The caller knows that the task is not at work.
   */
  readonly remove: (
    taskID: SessionID,
    options?: { readonly force?: boolean }
  ) => Effect.Effect<void, IsolationRefused>
}>() {
  /** Isolates nothing: for programs without git. */
  static readonly layerNone: Layer.Layer<Isolation> = Layer.sync(Isolation, () => {
    const refused = Effect.fail(
      new IsolationRefused({
        reason: "unavailable",
        message:
          "There is no isolation here: it needs a git repository and a program that provides Isolation, as @skein/tools/Worktrees does. Leave `isolation` out to work in the caller's directory."
      })
    )
    return { open: () => refused, close: () => refused, list: Effect.succeed([]), remove: () => refused }
  })
}
