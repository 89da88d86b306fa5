/** Stores growing text every 200 ms, in a fiber that its first piece starts: most answers are short and need none. */
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Runtime from "effect/Runtime"
import type * as Scope from "effect/Scope"
import type { StorageError } from "../../StorageError.ts"

/** How often growing parts are stored, in milliseconds. */
const flushEvery = 200

/** What the flusher does, and where its fiber lives. */
export interface FlusherOptions {
  readonly runtime: Runtime.Runtime<never>
  readonly scope: Scope.Scope
  /** Stores what has grown. */
  readonly storeChanged: Effect.Effect<void, StorageError>
}

/** The end of the step stores the same again, and fails if that is impossible. */
const forgiven = Effect.catchAll((error: StorageError) =>
  Effect.logDebug("Growing text could not be stored", error.message)
)

/** Stores what grows, until it is stopped. */
export class Flusher {
  readonly #options: FlusherOptions
  readonly #unstored = Effect.unsafeMakeLatch()
  #fiber: Fiber.RuntimeFiber<never> | undefined

  constructor(options: FlusherOptions) {
    this.#options = options
  }

  /** Reports that there is unstored text. */
  grown(): void {
    this.#fiber ??= Runtime.runFork(this.#options.runtime)(this.#flush(), { scope: this.#options.scope })
    this.#unstored.unsafeOpen()
  }

  /** Ends when no more intermediate states are stored. */
  readonly stop: Effect.Effect<void> = Effect.suspend(() =>
    this.#fiber === undefined ? Effect.void : Fiber.interrupt(this.#fiber)
  )

  #flush(): Effect.Effect<never> {
    const { storeChanged } = this.#options
    return Effect.forever(
      this.#unstored.await.pipe(
        Effect.zipRight(this.#unstored.close),
        Effect.zipRight(Effect.sleep(flushEvery)),
        Effect.zipRight(forgiven(storeChanged))
      )
    )
  }
}
