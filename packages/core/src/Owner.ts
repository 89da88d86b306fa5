/** Names the process that holds sessions, and knows whether the processes of other owners still exist. */
import { Ids } from "@skein/domain/Id"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

/** This process, among those that share a storage. */
export class Owner extends Context.Tag("@skein/core/Owner")<Owner, {
  /** Unique among all processes, past ones included. Errors about held sessions show it. */
  readonly id: string
  /** Whether that owner has certainly ended. If nobody can know, its lease must expire. */
  readonly isGone: (owner: string) => Effect.Effect<boolean>
}>() {
  /** A random name; knows nothing about others. */
  static readonly layer: Layer.Layer<Owner, never, Ids> = Layer.effect(
    Owner,
    Effect.map(Effect.flatMap(Ids, (ids) => ids.make("own")), (id) => ({
      id,
      isGone: () => Effect.succeed(false)
    }))
  )
}
