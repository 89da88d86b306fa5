/** Owns that nothing which commands start outlives them: marks it, keeps a record of it, and ends what a dead Skein left. */
import type { Owner } from "@skein/core/Owner"
import type { SessionID } from "@skein/domain/Id"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { makeProcesses } from "./internal/process/processRecords.ts"
import type { Tracked } from "./Tracked.ts"

export type { Tracked } from "./Tracked.ts"

/** The processes of commands. */
export class Processes extends Context.Tag("@skein/tools/Processes")<Processes, {
  /**
   * Asked before a command is started, of a tree or of the program itself. There is a record of it until the scope closes:
   * by then nothing of it may be left. A record that cannot be kept is told in the log, and costs nothing but itself.
   */
  readonly track: (rootID?: SessionID) => Effect.Effect<Tracked, never, Scope.Scope>
  /**
   * Ends processes of commands whose Skein has died: first asks them to end, then kills them after a second or when
   * this is interrupted. Returns how many there were. Also removes files that their sandboxes left.
   */
  readonly reap: Effect.Effect<number>
}>() {
  /**
   * Records below `processes/` in the data directory (absolute). What dead processes left is ended beside, from the moment in
   * which the layer is there.
   */
  static readonly layer = (options: {
    readonly dataDirectory: string
    /** The environment of this process, which may be a command of another Skein. */
    readonly environment: Readonly<Record<string, string | undefined>>
  }): Layer.Layer<Processes, never, Owner> =>
    Layer.scoped(
      Processes,
      Effect.tap(makeProcesses(options), ({ reap }) => Effect.forkScoped(reap))
    )
}
