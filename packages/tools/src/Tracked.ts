/** A process with a record while it runs, and what the watchdog has to know about it. */
import type { SessionID } from "@skein/domain/Id"
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

/** A command that is about to be started. */
export interface Tracked {
  /** The mark by which it and its descendants are found. */
  readonly mark: string
  /** The variables that carry the mark. */
  readonly environment: Readonly<Record<string, string>>
  /** Records which process it became, as soon as it has started. */
  readonly started: (pid: number) => void
  /** Whether the lease of its tree ran out meanwhile: the watchdog has then ended what still ran. */
  readonly hasLapsed: () => boolean
  /** What it used too much of, if the watchdog has ended it for that: a sentence. */
  readonly exceeded: () => string | undefined
}

/** What is known of a command that nothing watches. */
export const unwatched: Pick<Tracked, "exceeded" | "hasLapsed" | "started"> = {
  started: () => {},
  hasLapsed: () => false,
  exceeded: () => undefined
}

/** A watchdog. */
export interface WatchdogPort {
  /**
   * Call it before a command is started, of a held tree or of the program itself; nothing of it may be left when the scope
   * closes. `endsItself`: it ends with this process anyway.
   */
  readonly watch: (
    mark: string,
    rootID?: SessionID,
    endsItself?: boolean
  ) => Effect.Effect<Pick<Tracked, "exceeded" | "hasLapsed" | "started">, never, Scope.Scope>
  /** A tree is held for so many more milliseconds. */
  readonly extend: (rootID: SessionID, left: number) => void
}
