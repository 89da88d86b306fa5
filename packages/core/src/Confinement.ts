/**
 * Decides whether a tree may work in the mode `auto`: only where commands are confined, or where the user has switched
 * that off. Without either, nothing would stop what nobody is asked about.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"

/** A tree may not work in a mode here. The message says why, and what to do. */
export class ModeRefused extends Schema.TaggedError<ModeRefused>()("ModeRefused", { message: Schema.String }) {}

/** What confines the commands of a project. */
export class Confinement extends Context.Tag("@skein/core/Confinement")<Confinement, {
  /** Fails if no tree may work in `auto` here. */
  readonly auto: Effect.Effect<void, ModeRefused>
}>() {
  /** Refuses nothing: the program has its own ways to confine its tools. */
  static readonly layerNoop: Layer.Layer<Confinement> = Layer.succeed(Confinement, { auto: Effect.void })
}
