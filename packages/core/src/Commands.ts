/** Owns where to find a project's own commands. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { CommandSource } from "./CommandInfo.ts"

/** The commands of a project. */
export class Commands extends Context.Tag("@skein/core/Commands")<Commands, {
  /** Finds the commands of a directory. */
  readonly list: CommandSource
}>() {
  /** Commands from a source. */
  static readonly layer = (list: CommandSource): Layer.Layer<Commands> => Layer.succeed(Commands, { list })

  /** No commands besides the built-in ones. */
  static readonly layerNone: Layer.Layer<Commands> = Commands.layer(() => Effect.succeed({ commands: [], broken: [] }))
}
