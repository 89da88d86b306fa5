/** Owns the recovery of trees that a dead process left: once, before anything else happens in them. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { StorageError } from "../../StorageError.ts"
import type { Live } from "../live/Live.ts"
import { servicesForLater } from "../traced.ts"
import { recoverTree } from "./recover.ts"
import type { TaskServices } from "./TaskServices.ts"

/** The way back to work. */
export class Recovery extends Context.Tag("@skein/core/internal/tasks/Recovery")<Recovery, {
  /** Continues what a dead process left of a session's tree, which must be held. Ends when all of it is running. */
  readonly recover: (live: Live) => Effect.Effect<void, StorageError>
}>() {
  /** Recovers one tree after the other. */
  static readonly layer = Layer.effect(
    Recovery,
    Effect.map(servicesForLater<TaskServices>(), (context) => {
      const oneByOne = Effect.unsafeMakeSemaphore(1)
      const recover = (root: Live, asked: Live) =>
        Effect.suspend(() =>
          root.isRecovered
            ? Effect.void
            : Effect.map(Effect.provide(recoverTree(root, asked), context), () => root.markRecovered())
        )
      return {
        recover: (live) =>
          Effect.suspend(() => live.root.isRecovered ? Effect.void : oneByOne.withPermits(1)(recover(live.root, live)))
      }
    })
  )
}
