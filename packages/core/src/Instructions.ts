/** Owns what agents are told besides their own prompts: what a project and its user ask of whoever works there. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

/** The instructions. */
export class Instructions extends Context.Tag("@skein/core/Instructions")<Instructions, {
  /** What stands in the system prompt of agents that work in a directory; undefined where there is nothing to say. */
  readonly of: (directory: string) => Effect.Effect<string | undefined>
}>() {
  /** Nobody asks for anything. */
  static readonly layerNone = Layer.succeed(Instructions, { of: () => Effect.succeed(undefined) })

  /** The same words for every directory. */
  static readonly layerText = (text: string): Layer.Layer<Instructions> =>
    Layer.succeed(Instructions, { of: () => Effect.succeed(text) })
}
