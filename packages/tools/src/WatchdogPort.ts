/** Decides what the watchdog has to know about commands. */
import type { SessionID } from "@skein/domain/Id"
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { Tracked } from "./Tracked.ts"

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
