/** Storage that records requests and their ends, takes time, and fails where a test says so. */
import { SessionStorage, type Write } from "@skein/core/SessionStorage"
import { StorageError } from "@skein/core/StorageError"
import type { Event } from "@skein/domain/Event"
import type { SessionID } from "@skein/domain/Id"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

/** The log of what happened, in order. */
export type Entry =
  | { readonly type: "asked"; readonly writes: ReadonlyArray<Write> }
  | { readonly type: "stored"; readonly writes: ReadonlyArray<Write> }
  | { readonly type: "published"; readonly event: Event }
  | { readonly type: "effect"; readonly partID: string }
  | { readonly type: "request" }

/** The failure of all these tests. */
const full = new StorageError({ operation: "commit", reason: "full", message: "The disk is full." })

/** The behaviour of such a storage. */
export interface RecordedStorageOptions {
  /** How long a commit takes, in milliseconds. */
  readonly latency?: number
  /** How long a read takes. */
  readonly reading?: Effect.Effect<void>
  /** The storage of the rows; by default its own memory. */
  readonly inner?: Layer.Layer<SessionStorage>
}

/** Makes such a storage. */
export const makeRecordedStorage = (options: RecordedStorageOptions = {}) => {
  const log: Array<Entry> = []
  let commits = 0
  let fails: (n: number) => boolean = () => false
  const layer = Layer.effect(
    SessionStorage,
    Effect.map(SessionStorage, (inner) => ({
      ...inner,
      session: (id: SessionID) => Effect.zipLeft(inner.session(id), options.reading ?? Effect.void),
      messages: (id: SessionID) => Effect.zipLeft(inner.messages(id), options.reading ?? Effect.void),
      inbox: (id: SessionID) => Effect.zipLeft(inner.inbox(id), options.reading ?? Effect.void),
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
  ).pipe(Layer.provide(options.inner ?? SessionStorage.layerMemory))
  return {
    layer,
    log,
    commits: () => commits,
    /** Makes commits fail by their number, counted from now on. */
    failWhere: (where: (n: number) => boolean) => {
      const from = commits
      fails = (n) => where(n - from)
    }
  }
}
