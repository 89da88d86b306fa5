/** The input of a shell, and the result. */
import type { PlatformError } from "@effect/platform/Error"
import type { StorageError } from "@skein/core/StorageError"
import type { SessionID } from "@skein/domain/Id"
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type { SandboxPlace } from "./SandboxPlace.ts"

/** What to run. */
export interface ShellCommand extends Pick<SandboxPlace, "credentials" | "network" | "reads" | "visible"> {
  readonly command: string
  /** The values of `$1`, `$2` and so on. */
  readonly words?: ReadonlyArray<string>
  /** The directory to run it in, absolute. */
  readonly directory: string
  /** What it may change besides the contents of that directory, including protected paths in it; absolute. */
  readonly approved?: ReadonlyArray<string>
  /** Paths outside of that directory that it may also remove, move or replace; absolute. */
  readonly reached?: ReadonlyArray<string>
  /** Whether that directory is read-only, as far as commands can be confined here. */
  readonly readOnly?: boolean
  readonly timeout: Duration.DurationInput
  /** The tree that it works for. */
  readonly rootID?: SessionID
  /** Asked last: for how long it may still begin, in milliseconds, because the tree is held. */
  readonly confirm?: Effect.Effect<number, StorageError>
  /** Makes the file that keeps the output when it is too long to be shown whole. */
  readonly spill: Effect.Effect<string, PlatformError>
  /** Called with the last lines while it runs, at most ten times a second. */
  readonly watch: (latest: string) => Effect.Effect<void>
}

/** How a command ended. */
export interface ShellEnd {
  /** The exit code; 128 plus the signal's number if a signal ended it, as shells count. */
  readonly exit: number
  readonly timedOut: boolean
  /** What it used too much of, if it was ended for that: a sentence. */
  readonly exceeded?: string
  /** Set if the watchdog ended it, because the lease of its tree was not renewed in time. */
  readonly lapsed?: true
  /** What it wrote to standard output and standard error, in order. A long output is cut in the middle. */
  readonly output: string
}
