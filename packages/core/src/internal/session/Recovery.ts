/** Owns how a tree is taken up that a dead process has left: once, before anything else is done in it. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { StorageError } from "../../StorageError.ts"
import type { Live } from "../live/Live.ts"

/** Goes on with what was left of the tree of this root, the session included that somebody asks for. */
type Recover = (root: Live, asked: Live) => Effect.Effect<void, StorageError>

/** The way back to work. */
export class Recovery extends Context.Tag("@skein/core/internal/session/Recovery")<Recovery, {
  /** Goes on with what a dead process left of the tree of a session; the tree is held. Ends when all of it is under way. */
  readonly recover: (live: Live) => Effect.Effect<void, StorageError>
  /** Says how: sessions run tasks and tasks run sessions, so who supervises tasks says so when it is there. */
  readonly register: (how: Recover) => void
}>() {
  /** Nothing is recovered until somebody says how. */
  static readonly layer = Layer.sync(Recovery, () => {
    let how: Recover = () => Effect.void
    const inTurn = Effect.unsafeMakeSemaphore(1)
    return {
      recover: (live) =>
        Effect.suspend(() => {
          const root = live.root
          if (root.isRecovered) return Effect.void
          return inTurn.withPermits(1)(Effect.suspend(() =>
            root.isRecovered ? Effect.void : Effect.tap(how(root, live), () =>
              Effect.sync(() => {
                root.markRecovered()
              }))
          ))
        }),
      register: (next) => {
        how = next
      }
    }
  })
}
