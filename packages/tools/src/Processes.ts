/**
 * Owns the processes of commands, so that none outlives its command: marks them, keeps records of them, and ends those
 * of a Skein that died.
 */
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
   * Call it before a command is started, of a tree or of the program itself. It keeps a record of the command until the
   * scope closes; by then no process of it may be left. `endsItself`: it ends if this process is killed. A record that cannot
   * be kept is logged, and has no other effect.
   */
  readonly track: (rootID?: SessionID, endsItself?: boolean) => Effect.Effect<Tracked, never, Scope.Scope>
  /**
   * Ends processes of commands whose Skein has died. It asks them to end, and kills them after a second or on
   * interruption. Returns how many there were. Also removes files that their sandboxes left.
   */
  readonly reap: Effect.Effect<number>
}>() {
  /**
   * Keeps records in `processes/` in the data directory (absolute). From the start of the layer, a fiber ends what dead
   * processes left.
   */
  static readonly layer = (options: {
    readonly dataDirectory: string
    /** The register of all programs of Skein of this user, absolute: records of their sandboxes are beside it. */
    readonly register?: string | undefined
    /** The environment of this process, which may itself be a command of another Skein. */
    readonly environment: Readonly<Record<string, string | undefined>>
  }): Layer.Layer<Processes, never, Owner> =>
    Layer.scoped(
      Processes,
      Effect.tap(makeProcesses(options), ({ reap }) => Effect.forkScoped(reap))
    )
}
