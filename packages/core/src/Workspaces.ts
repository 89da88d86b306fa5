/**
 * Decides how the files of a tree get to another host: each step is kept elsewhere, and fetched from there into a workspace
 * of its own.
 */
import type { SessionID } from "@skein/domain/Id"
import type { SessionWorkspace } from "@skein/domain/SessionInfo"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

/** The files of a tree cannot be kept or fetched. The message says why, and what to do. */
export class WorkspaceRefused extends Schema.TaggedError<WorkspaceRefused>()("WorkspaceRefused", {
  reason: Schema.Literal(
    /** The user of this host did not ask for it. */
    "off",
    /** Nothing of the tree is kept there. */
    "nothing",
    /** A later holder of the tree has kept a step of its own. */
    "superseded",
    "failed"
  ),
  message: Schema.String
}) {}

/** The settings that say whether, and where. */
export interface WorkspaceSettings {
  readonly workspace?: "git" | undefined
  readonly workspace_remote?: string | undefined
}

/** A step of a tree. All that is committed up to `seq` is in its files. */
export interface TreeStep {
  readonly rootID: SessionID
  /** The working directory of the root, absolute. */
  readonly directory: string
  readonly workspace: SessionWorkspace
  /** The epoch of the holder, and the `seq` of the last event of the tree before its files were read. */
  readonly epoch: number
  readonly seq: number
}

/** A workspace with the files of a step. */
export interface FetchedStep {
  /** The working directory of the root in it, absolute and real. */
  readonly directory: string
  /** The top of the workspace. */
  readonly top: string
  /** The step that its files are of. */
  readonly epoch: number
  readonly seq: number
  /** The commit that holds them. */
  readonly commit: string
  /** What it lacks, a sentence without a full stop for each. */
  readonly omits: ReadonlyArray<string>
}

/** Keeps steps, and fetches them. Nothing of it changes the index, branches, stash or files of the user's repository. */
export interface WorkspaceKeeper {
  /** Where the steps of a new tree in this directory are to be kept; undefined if nowhere. What is wrong is logged. */
  readonly origin: (directory: string, settings: WorkspaceSettings) => Effect.Effect<SessionWorkspace | undefined>
  /**
   * Reads the files of a step, and keeps them in the background: a later step replaces one that waits. `told` hears why
   * that failed, or that it did not.
   */
  readonly keep: (step: TreeStep, told: (failure: string | undefined) => Effect.Effect<void>) => Effect.Effect<void>
  /** Makes a workspace with the last step of a tree that is kept. If that fails, nothing stays behind. */
  readonly fetch: (
    rootID: SessionID,
    workspace: SessionWorkspace
  ) => Effect.Effect<FetchedStep, WorkspaceRefused>
  /** Keeps the same step for the holder of this epoch: earlier holders keep no more steps from then on. */
  readonly claim: (
    rootID: SessionID,
    workspace: SessionWorkspace,
    fetched: FetchedStep,
    epoch: number
  ) => Effect.Effect<void, WorkspaceRefused>
  /** Removes a workspace in which nobody has worked. */
  readonly discard: (fetched: FetchedStep) => Effect.Effect<void>
  /** Removes what is kept of a deleted tree, in the background. What is wrong is logged. */
  readonly forget: (rootID: SessionID, workspace: SessionWorkspace) => Effect.Effect<void>
  /** Waits until nothing happens in the background. */
  readonly settled: Effect.Effect<void>
}

const off = Effect.fail(
  new WorkspaceRefused({
    reason: "off",
    message: "This host takes up no steps of others. Set `workspace` to \"git\" in the config of its user."
  })
)

/** Keeps nothing. */
const none: WorkspaceKeeper = {
  origin: () => Effect.succeed(undefined),
  keep: () => Effect.void,
  fetch: () => off,
  claim: () => off,
  discard: () => Effect.void,
  forget: () => Effect.void,
  settled: Effect.void
}

/** The keeper of this process: without one, trees stay where their directory is. */
export class Workspaces extends Context.Reference<Workspaces>()("@skein/core/Workspaces", {
  defaultValue: (): WorkspaceKeeper => none
}) {}
