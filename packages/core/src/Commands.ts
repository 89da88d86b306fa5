/** Owns where the commands of a project are found, besides those that are built in. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { CommandSource } from "./CommandInfo.ts"

/** The commands that a project has. */
export class Commands extends Context.Tag("@skein/core/Commands")<Commands, {
  /** Finds the commands that hold for a directory. */
  readonly list: CommandSource
}>() {
  /** Commands from a source. */
  static readonly layer = (list: CommandSource): Layer.Layer<Commands> => Layer.succeed(Commands, { list })

  /** There are none besides those that are built in. */
  static readonly layerNone: Layer.Layer<Commands> = Commands.layer(() => Effect.succeed({ commands: [], broken: [] }))
}
