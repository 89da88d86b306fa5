/** The inputs of a sandbox, the command and the machine, and its error. */
import type { Action } from "@skein/domain/Rule"
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

/** A command that needs a sandbox. */
export interface SandboxPlace {
  /** The directory in which it works and may change everything, except protected names. */
  readonly directory: string
  /**
   * Absolute paths that it may also change, because a person or a rule has approved them. They may be protected names.
   */
  readonly approved: ReadonlyArray<string>
  /** Absolute paths outside the directory that it may also remove, move or replace. */
  readonly reached?: ReadonlyArray<string>
  /** Whether the directory is read-only too. Then approved paths are writable only if they are existing files. */
  readonly readOnly?: boolean
  /** Paths outside whose reading was approved; absolute and real. */
  readonly visible?: ReadonlyArray<string>
  /**
   * The rule for reading a file of the tree, by its relative path. What is not allowed is hidden. If absent, everything
   * is allowed.
   */
  readonly reads?: (path: string) => Action
  /** The rule for changing a file of the tree, by its relative path. What it denies is read-only. */
  readonly edits?: (path: string) => Action
  /** Whether a rule denies some reads. Then directories of packages, and of what is built, are searched for them as well. */
  readonly deniesReads?: boolean
  /** Whether it may use the network even if commands may not. */
  readonly network?: boolean
  /** Whether it can access the home, the key agent, and files that need a question before they are read. */
  readonly credentials?: boolean
  /** Called before the command starts, with a sentence for the model about what is hidden from the command. */
  readonly say?: (note: string) => Effect.Effect<void>
  /**
   * Called when the scope closes, with sentences for the model about changes that were undone. The log has them as
   * well.
   */
  readonly tell?: (note: string) => Effect.Effect<void>
}

/** The configuration of sandboxes. */
export interface SandboxOptions {
  /** Whether commands may use the network. */
  readonly network: boolean
  /** The project, absolute. Its own programs are never used to confine. */
  readonly directory?: string
  /** Where Skein keeps its files, absolute. Commands can read its long outputs. */
  readonly dataDirectory: string
  /** Files that no command may change, wherever they are, such as scripts that run outside of the sandbox. Absolute. */
  readonly fixed?: ReadonlyArray<string>
  /** A file of the running program, if not this one: the program's packages in the project are protected. */
  readonly installed?: string
  /** More of Skein's own files and directories, such as its database, wherever they are. No command sees them. */
  readonly own?: ReadonlyArray<string>
  /** Such files and directories that no consent shows to a command; the data directory is one. */
  readonly secret?: ReadonlyArray<string>
  /** The register of all programs of Skein of this user, absolute. No consent shows their files either. */
  readonly register?: string
  /** Paths that commands may read besides the system and toolchains; absolute, or with `~/`. */
  readonly read?: ReadonlyArray<string>
  /** Whether a person is asked before a command runs, as without a sandbox. */
  readonly asks?: boolean
  /** Limits on what a command may use of the machine, if they differ from the defaults. */
  readonly bounds?: {
    readonly processes?: number
    /** Bytes. */
    readonly memory?: number
    /** Bytes in /tmp and the home. */
    readonly files?: number
  }
  /** How much of a tree is checked for files that rules hide, if it differs from the default. The rest is hidden. */
  readonly checked?: { readonly directories?: number; readonly files?: number; readonly unchecked?: number }
  /** Where to look for `bwrap`. */
  readonly environment: Readonly<Record<string, string | undefined>>
}

/** How commands are confined. */
export interface SandboxLimits {
  /** Whether they have a network. */
  readonly network: boolean
  /** Whether the sandbox takes the place of a question that only the default rule asks. */
  readonly answers: boolean
  /** Whether they see a path outside of their tree unchanged: of the system, of toolchains. */
  readonly sees: (path: string) => boolean
  /** Whether a path names a private file of theirs: in /proc and /dev, and below /tmp if others have none there. */
  readonly isPrivate: (path: string) => boolean
}

/** Commands cannot be confined as required. The message says why, and what to do. */
export class SandboxError extends Schema.TaggedError<SandboxError>()("SandboxError", {
  message: Schema.String,
  /** Whether the machine lacked something for a moment: nothing runs unconfined for that, and the next call tries again. */
  isTemporary: Schema.optional(Schema.Boolean)
}) {}
