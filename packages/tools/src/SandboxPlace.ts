/** Where a sandbox stands, and what it is made of. */
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
  /** Told, when the scope closes, what it has done that could only be undone: sentences for the model, which the log has as well. */
  readonly tell?: (note: string) => Effect.Effect<void>
}

/** What sandboxes go by. */
export interface SandboxOptions {
  /** Whether commands may use the network. */
  readonly network: boolean
  /** Where Skein keeps its files: commands can read the long outputs in it. Absolute. */
  readonly dataDirectory: string
  /** Files that no command may change wherever they lie, such as scripts that run outside of the sandbox; absolute. */
  readonly fixed?: ReadonlyArray<string>
  /** Where `bwrap` is looked for. */
  readonly environment: Readonly<Record<string, string | undefined>>
}

/** What confined commands cannot do, beside writing where they have no business. */
export interface SandboxLimits {
  /** Whether there is a network for them. */
  readonly network: boolean
}
