/** Where a sandbox stands, and what it is made of. */
import type { Action } from "@skein/domain/Rule"
import type * as Effect from "effect/Effect"

/** A command for which a sandbox is made. */
export interface SandboxPlace {
  /** The directory that it works in: what it may change, but for names that are protected. */
  readonly directory: string
  /** What it may change besides, because a person or a rule has consented to that: absolute paths, also of protected names. */
  readonly approved: ReadonlyArray<string>
  /** Absolute paths outside of the directory that it may also remove, move, or put something in the place of. */
  readonly reached?: ReadonlyArray<string>
  /** Whether it may change nothing in the directory either: then of what is approved only files that are there. */
  readonly readOnly?: boolean
  /** Paths outside that somebody has consented to being read; absolute and real. */
  readonly visible?: ReadonlyArray<string>
  /** What rules say of reading a file of the tree, relative to it: what is not allowed is hidden. All is allowed if absent. */
  readonly reads?: (path: string) => Action
  /** Whether it may use the network, though commands may not. */
  readonly network?: boolean
  /** Whether it sees the home, the agent that holds keys, and what is asked for before it is read. */
  readonly credentials?: boolean
  /** Told before the command starts what it does not see and might look for: a sentence for the model. */
  readonly say?: (note: string) => Effect.Effect<void>
  /** Told, when the scope closes, what it has done that could only be undone: sentences for the model, which the log has as well. */
  readonly tell?: (note: string) => Effect.Effect<void>
}

/** What sandboxes go by. */
export interface SandboxOptions {
  /** Whether commands may use the network. */
  readonly network: boolean
  /** The project: its own programs confine nothing. Absolute. */
  readonly directory?: string
  /** Where Skein keeps its files: commands can read the long outputs in it. Absolute. */
  readonly dataDirectory: string
  /** Files that no command may change wherever they lie, such as scripts that run outside of the sandbox; absolute. */
  readonly fixed?: ReadonlyArray<string>
  /** A file of the program that runs, where it is not this one: packages in the project that it is made of are kept. */
  readonly installed?: string
  /** Files and directories of Skein's own besides that, such as its database, wherever they lie: no command sees them. */
  readonly own?: ReadonlyArray<string>
  /** Paths that commands may read besides the system and toolchains; absolute, or with `~/`. */
  readonly read?: ReadonlyArray<string>
  /** Whether a person is asked before a command runs, as without a sandbox. */
  readonly asks?: boolean
  /** What a command may take of the machine, where that differs from the usual. */
  readonly bounds?: {
    readonly processes?: number
    /** Bytes. */
    readonly memory?: number
    /** Bytes in /tmp and the home. */
    readonly files?: number
  }
  /** How much of a tree is checked for files that rules hide, where that differs from the usual; the rest is hidden. */
  readonly checked?: { readonly directories?: number; readonly files?: number; readonly unchecked?: number }
  /** Where `bwrap` is looked for. */
  readonly environment: Readonly<Record<string, string | undefined>>
}

/** How commands are confined. */
export interface SandboxLimits {
  /** Whether there is a network for them. */
  readonly network: boolean
  /** Whether the sandbox answers where nothing but the default asks for a command. */
  readonly answers: boolean
  /** Whether they see a path outside of their tree as it is: of the system, of toolchains. */
  readonly sees: (path: string) => boolean
  /** Whether a path stands for a file of their own: in /proc and /dev, and below /tmp where others have none. */
  readonly isPrivate: (path: string) => boolean
}
