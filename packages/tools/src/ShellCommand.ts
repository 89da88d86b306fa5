/** What a shell is given to run, and how that ended. */
import type { PlatformError } from "@effect/platform/Error"
import type { StorageError } from "@skein/core/StorageError"
import type { SessionID } from "@skein/domain/Id"
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type { SandboxPlace } from "./SandboxPlace.ts"

/** What to run. */
export interface ShellCommand extends Pick<SandboxPlace, "credentials" | "network" | "reads" | "visible"> {
  readonly command: string
  /** What it knows as `$1`, `$2` and so on. */
  readonly words?: ReadonlyArray<string>
  /** The directory to run it in, absolute. */
  readonly directory: string
  /** What it may change besides what is in that directory, and of what is protected there; absolute. */
  readonly approved?: ReadonlyArray<string>
  /** What outside of that directory it may also remove, move, or put something in the place of; absolute. */
  readonly reached?: ReadonlyArray<string>
  /** Whether it may change nothing in that directory, as far as commands can be kept from it here. */
  readonly readOnly?: boolean
  readonly timeout: Duration.DurationInput
  /** The tree that it works for. */
  readonly rootID?: SessionID
  /** Asked last: for how long it may still begin, in milliseconds, because the tree is held. */
  readonly confirm?: Effect.Effect<number, StorageError>
  /** Makes the file that keeps the output when it is too long to be shown whole. */
  readonly spill: Effect.Effect<string, PlatformError>
  /** Told the last lines while it runs, at most ten times a second. */
  readonly watch: (latest: string) => Effect.Effect<void>
}

/** How a command ended. */
export interface ShellEnd {
  /** The exit code; 128 and the number of the signal where a signal ended it, as shells count. */
  readonly exit: number
  readonly timedOut: boolean
  /** What it took too much of, where the sandbox ended it for that: a sentence. */
  readonly exceeded?: string
  /** What it wrote to both its outputs, in order; beginning and end where that is much. */
  readonly output: string
}
