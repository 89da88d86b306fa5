/** The tests that every backend of SessionStorage must pass. */
import { describe, it } from "@effect/vitest"
import type { SessionStorage } from "@skein/core/SessionStorage"
import type { StorageError } from "@skein/core/StorageError"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { Tests } from "./internal/storage/access.ts"
import { commits } from "./internal/storage/commits.ts"
import { content } from "./internal/storage/content.ts"
import { inboxes } from "./internal/storage/inboxes.ts"
import { leases } from "./internal/storage/leases.ts"
import { lists } from "./internal/storage/lists.ts"
import { logs } from "./internal/storage/logs.ts"
import { numbers } from "./internal/storage/numbers.ts"
import { prunings } from "./internal/storage/prunings.ts"
import { servers } from "./internal/storage/servers.ts"
import * as Workspace from "./Workspace.ts"

/** A backend of SessionStorage. */
export interface StorageBackend {
  readonly name: string
  /** A separate storage in this directory, which is new for each test. */
  readonly layer: (directory: string) => Layer.Layer<SessionStorage, StorageError>
  /**
   * Whether a later layer in the same directory finds the stored data: each test then also runs with a new layer for
   * each step.
   */
  readonly lasts: boolean
}

const tests: Tests = {
  ...content,
  ...commits,
  ...inboxes,
  ...leases,
  ...logs,
  ...numbers,
  ...lists,
  ...prunings,
  ...servers
}

const directory = Effect.map(Workspace.make(), (place) => place.directory)

/** Registers the tests of a backend with vitest. */
export const sessionStorageSuite = ({ lasts, layer, name }: StorageBackend): void => {
  describe(`SessionStorage in ${name}`, () => {
    for (const [title, test] of Object.entries(tests)) {
      it.scoped(title, () =>
        Effect.gen(function*() {
          const storage = yield* Layer.build(layer(yield* directory))
          yield* test((effect) => Effect.provide(effect, storage))
        }))
    }
  })
  if (lasts) {
    describe(`SessionStorage in ${name}, opened anew for each step`, () => {
      for (const [title, test] of Object.entries(tests)) {
        it.scoped(
          title,
          () => Effect.flatMap(directory, (path) => test((effect) => Effect.provide(effect, Layer.fresh(layer(path)))))
        )
      }
    })
  }
}
