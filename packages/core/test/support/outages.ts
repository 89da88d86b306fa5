/** Storage that goes away for a while, as a database does: requests wait for it, and fail after half a minute. */
import { SessionStorage, type Write } from "@skein/core/SessionStorage"
import { StorageError } from "@skein/core/StorageError"
import type { Places } from "@skein/core/StorageFilter"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

type Storage = Context.Tag.Service<SessionStorage>

/**
 * What does not work: all of it, or commits alone, as with a full disk. Renewals are commits. Of what is `damaged` or `odd`,
 * commits or reads fail at once.
 */
export type Broken = "all" | "commits" | "damaged" | "odd" | "damaged reads"

/** How long a request waits (ms). */
const patience = 30_000

/** How often it is repeated (ms). */
const pace = 100

const errors = {
  all: new StorageError({ operation: "commit", reason: "busy", message: "The database could not be reached." }),
  commits: new StorageError({ operation: "commit", reason: "full", message: "There is no space left." }),
  damaged: new StorageError({ operation: "commit", reason: "corrupt", message: "A page is damaged." }),
  odd: new StorageError({ operation: "commit", reason: "other", message: "There is no such table." }),
  "damaged reads": new StorageError({ operation: "read", reason: "corrupt", message: "A page is damaged." })
}

/** Which requests fail. */
const fails = (broken: Broken, isCommit: boolean): boolean =>
  broken === "all" || isCommit === (broken !== "damaged reads")

/** Makes it, over the rows of another. */
export const makeOutages = (inner: Storage) => {
  let broken: Broken | undefined
  const asked = <A>(
    isCommit: boolean,
    request: Effect.Effect<A, StorageError>,
    waited = 0
  ): Effect.Effect<A, StorageError> =>
    Effect.suspend(() => {
      if (broken === undefined || !fails(broken, isCommit)) return request
      const waits = broken === "all" || broken === "commits"
      if (!waits || waited >= patience) return errors[broken]
      return Effect.zipRight(Effect.sleep(pace), asked(isCommit, request, waited + pace))
    })
  const reading = Object.fromEntries(
    Object.entries(inner).map(([name, member]) => [
      name,
      typeof member === "function"
        ? (...given: ReadonlyArray<never>) =>
          asked(
            false,
            Effect.suspend(() =>
              (member as unknown as (...all: ReadonlyArray<never>) => Effect.Effect<unknown, StorageError>)(...given)
            )
          )
        : asked(false, member as Effect.Effect<unknown, StorageError>)
    ])
  ) as unknown as Storage
  return {
    /** The storage as a process sees it that is not alone. */
    layer: Layer.succeed(SessionStorage, {
      ...reading,
      mail: asked(false, Effect.succeed(undefined)),
      commit: (writes: ReadonlyArray<Write>, onStored?: (places: Places) => void) =>
        // A requested commit is made even if its caller is interrupted.
        Effect.uninterruptible(asked(true, Effect.suspend(() => inner.commit(writes, onStored))))
    }),
    /** From now on, nothing of this kind works for some milliseconds. */
    begin: (what: Broken, milliseconds: number) =>
      Effect.zipRight(
        Effect.sync(() => void (broken = what)),
        Effect.zipRight(Effect.sleep(milliseconds), Effect.sync(() => void (broken = undefined)))
      )
  }
}
