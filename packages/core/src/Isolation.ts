/**
 * Decides how far a tree is kept apart: an isolated task works in its own copy of the repository, on its own branch; and a
 * tree works in the mode `auto` only where commands are confined, or where the user has switched that off.
 */
import type { SessionID } from "@skein/domain/Id"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"

/**
 * A task cannot be isolated, or its worktree cannot be removed. Nothing was changed. The message says what to do
 * instead.
 */
export class IsolationRefused extends Schema.TaggedError<IsolationRefused>()("IsolationRefused", {
  reason: Schema.Literal(
    /** Nobody provides isolation. */
    "unavailable",
    "not_a_repository",
    "no_commits",
    "git_missing",
    /** Removing it would lose work that exists nowhere else. */
    "has_changes",
    /** The task or the directory does not exist. */
    "not_found",
    "failed"
  ),
  message: Schema.String
}) {}

/** Where a task works. All paths are absolute and real. */
export interface Workspace {
  /**
   * The working directory of the child's tools: the same place in `root` as the caller's directory in its repository.
   */
  readonly directory: string
  /** The top of the worktree. */
  readonly root: string
  readonly branch: string
  /** The commit that it started from. */
  readonly base: string
  /** The directory that git shares between all worktrees of the repository: objects, refs, config, hooks. */
  readonly gitDirectory: string
  /**
   * What it lacks of the caller's tree, a sentence without a full stop for each. The child and its parent read them.
   */
  readonly omits: ReadonlyArray<string>
}

/** What a worktree has that its base does not. */
export interface Changes {
  /** Commits beyond the base. */
  readonly commits: number
  /** Those commits that no other branch or tag contains: removing the worktree would lose them. */
  readonly onlyHere: number
  /** Files changed or added since the last commit, without ignored ones. */
  readonly uncommitted: number
  /** The output of `git diff --stat` against the base, and the names of untracked and ignored files; truncated. */
  readonly diffStat: string
}

/** The state of a worktree after its task ended. */
export type WorkspaceEnd =
  | { readonly kept: false }
  | { readonly kept: true; readonly branch: string; readonly directory: string } & Changes

/** An existing worktree, in use or not. */
export interface Leftover {
  readonly taskID: SessionID
  /** The top of the worktree. */
  readonly directory: string
  readonly branch: string
  /** How it was created; absent if its record cannot be read. */
  readonly origin?: {
    readonly description: string
    /** The main directory of its repository. */
    readonly repository: string
    readonly repositoryExists: boolean
    readonly base: string
    /** In milliseconds since 1970. */
    readonly created: number
  }
  /** `unknown` if git cannot tell, for example because the repository is gone. */
  readonly changes: Changes | "none" | "unknown"
}

/** Gives tasks their own worktree. It never changes or loses the user's work. */
export class Isolation extends Context.Tag("@skein/core/Isolation")<Isolation, {
  /**
   * Creates the worktree of a task from the current commit of the caller's repository, or reopens it. If opening fails
   * or is interrupted, nothing stays behind.
   */
  readonly open: (of: {
    /** The caller's directory. */
    readonly directory: string
    readonly taskID: SessionID
    /** The purpose of the task, for `list`. */
    readonly description: string
    /** The top of the worktree that the task has had. It may be in another data directory of this user. */
    readonly root?: string
  }) => Effect.Effect<Workspace, IsolationRefused>
  /**
   * Ends the work in a worktree: removes it and its branch if nothing changed, else keeps it. All processes of the task
   * have ended by then. Fails with `not_found` if it does not exist, for example after a failed open.
   */
  readonly close: (taskID: SessionID) => Effect.Effect<WorkspaceEnd, IsolationRefused>
  /**
   * Whether a directory lies in the worktree of a task, and there is a record that Skein made that worktree for the task.
   * False for any other directory, whatever is stored of the task.
   */
  readonly contains: (of: {
    readonly taskID: SessionID
    /** The top of the worktree, as stored. */
    readonly root: string
    readonly directory: string
  }) => Effect.Effect<boolean, IsolationRefused>
  /**
   * All worktrees in this data directory, sorted by id, including those of running tasks: only the storage knows which
   * these are.
   */
  readonly list: Effect.Effect<ReadonlyArray<Leftover>, IsolationRefused>
  /**
   * Removes a worktree with its branch. Unless forced, refuses one with work that exists nowhere else, and names that
   * work. The caller makes sure that the task is not running.
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
    return {
      open: () => refused,
      close: () => refused,
      contains: () => Effect.succeed(false),
      list: Effect.succeed([]),
      remove: () => refused
    }
  })
}

/** A tree may not work in a mode here. The message says why, and what to do. */
export class ModeRefused extends Schema.TaggedError<ModeRefused>()("ModeRefused", { message: Schema.String }) {}

/** What confines the commands of a project. */
export class Confinement extends Context.Tag("@skein/core/Confinement")<Confinement, {
  /** Fails if no tree may work in `auto` here. */
  readonly auto: Effect.Effect<void, ModeRefused>
}>() {
  /** Refuses nothing: the program has its own ways to confine its tools. */
  static readonly layerNoop: Layer.Layer<Confinement> = Layer.succeed(Confinement, { auto: Effect.void })
}
