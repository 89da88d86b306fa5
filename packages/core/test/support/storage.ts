/** Storage that notes what it is asked for and when it is done, takes its time, and fails where a test says so. */
import { SessionStorage, type Write } from "@skein/core/SessionStorage"
import { StorageError } from "@skein/core/StorageError"
import type { Event } from "@skein/domain/Event"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

/** What happened, in order. */
export type Entry =
  | { readonly type: "asked"; readonly writes: ReadonlyArray<Write> }
  | { readonly type: "stored"; readonly writes: ReadonlyArray<Write> }
  | { readonly type: "told"; readonly event: Event }
  | { readonly type: "effect"; readonly partID: string }
  | { readonly type: "request" }

/** The failure of all these tests. */
const full = new StorageError({ operation: "commit", reason: "full", message: "The disk is full." })

/** Makes such a storage. */
export const makeRecordedStorage = (options: { readonly latency?: number } = {}) => {
  const log: Array<Entry> = []
  let commits = 0
  let fails: (n: number) => boolean = () => false
  const layer = Layer.effect(
    SessionStorage,
    Effect.map(SessionStorage, (inner) => ({
      ...inner,
      commit: (writes: ReadonlyArray<Write>) =>
        Effect.suspend(() => {
          const n = ++commits
          log.push({ type: "asked", writes })
          return Effect.sleep(options.latency ?? 0).pipe(
            Effect.zipRight(Effect.suspend(() => fails(n) ? Effect.fail(full) : inner.commit(writes))),
            Effect.tap(() => Effect.sync(() => log.push({ type: "stored", writes })))
          )
        })
    }))
  ).pipe(Layer.provide(SessionStorage.layerMemory))
  return {
    layer,
    log,
    commits: () => commits,
    /** Lets commits fail by their number, counted from now on. */
    failWhere: (where: (n: number) => boolean) => {
      const from = commits
      fails = (n) => where(n - from)
    }
  }
}
