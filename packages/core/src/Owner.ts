/** Names the process that holds sessions, and knows of others whether they are still there. */
import { Ids } from "@skein/domain/Id"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

/** This process among those that share a storage. */
export class Owner extends Context.Tag("@skein/core/Owner")<Owner, {
  /** Unlike that of any other process, also of earlier ones; people read it where a session is held. */
  readonly id: string
  /** Whether that owner is certainly no more; where nobody can know, its lease has to run out. */
  readonly isGone: (owner: string) => Effect.Effect<boolean>
}>() {
  /** A name by chance; nothing is known of others. */
  static readonly layer: Layer.Layer<Owner, never, Ids> = Layer.effect(
    Owner,
    Effect.map(Effect.flatMap(Ids, (ids) => ids.make("own")), (id) => ({
      id,
      isGone: () => Effect.succeed(false)
    }))
  )
}
