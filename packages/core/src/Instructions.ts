/** Owns the instructions that a project and its user give to every agent, besides the agent's own prompt. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

/** The instructions. */
export class Instructions extends Context.Tag("@skein/core/Instructions")<Instructions, {
  /** The instructions in the system prompt of agents that work in a directory; undefined if there are none. */
  readonly of: (directory: string) => Effect.Effect<string | undefined>
  /**
   * Whether neither the directory nor one above it, up to its git root, has files that configure or instruct agents. False
   * if that is not known.
   */
  readonly isBare: (directory: string) => Effect.Effect<boolean>
}>() {
  /** No instructions. */
  static readonly layerNone = Layer.succeed(Instructions, {
    of: () => Effect.succeed(undefined),
    isBare: () => Effect.succeed(false)
  })

  /** The same instructions for every directory. */
  static readonly layerText = (text: string): Layer.Layer<Instructions> =>
    Layer.succeed(Instructions, { of: () => Effect.succeed(text), isBare: () => Effect.succeed(false) })
}
