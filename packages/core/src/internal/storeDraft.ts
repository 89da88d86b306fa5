/** Stores new sessions in commits of bounded size. Nobody sees them before the last one, and a crash leaves nothing to see. */
import { Ids, type SessionID } from "@skein/domain/Id"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import { failpoint } from "../Failpoints.ts"
import { Journal } from "../Journal.ts"
import { SessionStorage } from "../SessionStorage.ts"
import type { StorageError } from "../StorageError.ts"
import type { Entry, Write } from "../Write.ts"

/** A draft that nothing is added to for so long is abandoned, in milliseconds: its process has ended. */
const lifetime = 10_000

/** Waits for that, in case a process was killed while it stored the same sessions. */
const untilAbandoned = Schedule.intersect(Schedule.spaced("1 second"), Schedule.recurs(lifetime / 1_000 + 1))

/** The maximum number of sessions in a commit. */
const most = 200

/** Stores further rows of a draft, in one commit. */
export type Put = (writes: ReadonlyArray<Write>) => Effect.Effect<void, StorageError>

/** Removes what processes left that were killed. */
const removeAbandoned = Effect.gen(function*() {
  const storage = yield* SessionStorage
  const { rows } = yield* storage.sessions({ drafts: true })
  const leases = yield* storage.leases(rows.map(({ id }) => id))
  for (const { id } of rows) {
    const lease = leases.get(id)
    // The sessions below the first one have no lease of their own, and go with it.
    if (lease?.owner === undefined || lease.left > 0) continue
    const { epoch, owner } = lease
    yield* storage.commit([{ _tag: "Fence", lease: { rootID: id, owner, epoch } }, { _tag: "DeleteSession", id }])
  }
})

/**
 * Stores new sessions, the first of which all others are below, with the rows that `rows` puts. They appear with the last
 * commit, which also stores `more`. If anything fails, they are removed.
 */
export const storeDraft = <E, R>({ more = [], rows, sessions }: {
  readonly sessions: readonly [SessionInfo, ...ReadonlyArray<SessionInfo>]
  readonly rows: (put: Put) => Effect.Effect<void, E, R>
  readonly more?: ReadonlyArray<Entry>
}): Effect.Effect<void, E | StorageError, R | Ids | Journal | SessionStorage> =>
  Effect.gen(function*() {
    const storage = yield* SessionStorage
    const journal = yield* Journal
    const ids = yield* Ids
    const rootID: SessionID = sessions[0].id
    const lease = { rootID, owner: yield* ids.make("own"), epoch: 1 }
    const found = { owner: undefined, epoch: 0, until: 0, left: 0 }
    const put: Put = (writes) =>
      Effect.zipRight(
        storage.commit([{ _tag: "Fence", lease }, { _tag: "Renew", lease, length: lifetime }, ...writes]),
        failpoint("draft_page_committed")
      )
    const drafts = sessions.map((info): Write => ({ _tag: "Session", info, isDraft: true }))
    const begin = Effect.zipRight(
      removeAbandoned,
      storage.commit([...drafts.slice(0, most), { _tag: "Hold", lease, length: lifetime, found }])
    ).pipe(Effect.retry({ schedule: untilAbandoned, while: ({ reason }) => reason === "held" }))
    const remove = Effect.catchAll(
      storage.commit([{ _tag: "Fence", lease }, { _tag: "DeleteSession", id: rootID }]),
      ({ message }) => Effect.logWarning("What was stored of a new session is removed later", message)
    )
    const store = Effect.gen(function*() {
      for (let at = most; at < drafts.length; at += most) yield* put(drafts.slice(at, at + most))
      yield* rows(put)
      yield* journal.commit([
        { _tag: "Fence", lease },
        ...sessions.map((info): Entry => ({ _tag: "Session", info, isNew: true })),
        ...more,
        { _tag: "Release", lease }
      ])
    })
    yield* Effect.uninterruptibleMask((restore) =>
      Effect.zipRight(restore(begin), Effect.onError(restore(store), () => remove))
    )
  })
