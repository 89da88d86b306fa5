/** The port as functions of its service, and the type of its tests. */
import { SessionStorage, type Write } from "@skein/core/SessionStorage"
import type { StorageError } from "@skein/core/StorageError"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"

/** Runs an effect on the storage under test; a durable backend may be opened again for each call. */
type Use = <A, E>(effect: Effect.Effect<A, E, SessionStorage>) => Effect.Effect<A, E | StorageError>

/** Tests by name. */
export type Tests = Readonly<Record<string, (use: Use) => Effect.Effect<void, StorageError>>>

/** The members of the port. */
export const {
  approvals,
  control,
  commit: commitWith,
  eventRange,
  events,
  ids: storedIDs,
  inbox: inboxOf,
  lease,
  leases: leasesOf,
  messagePage,
  messages,
  prune,
  receipt: receiptOf,
  run: runOf,
  runs,
  session: sessionOf,
  sessions,
  todos,
  waiting
} = Effect
  .serviceFunctions(SessionStorage)

/** Commits, which accept lists of commits as well. */
export const commit = (writes: ReadonlyArray<Write>) => commitWith(writes)

/** The roots of trees with unfinished work. */
export const unfinished = Effect.flatMap(SessionStorage, (storage) => storage.unfinished)

/** The inbox of a session. */
export const inbox = (...args: Parameters<typeof inboxOf>) => Effect.map(inboxOf(...args), ({ rows }) => rows)

/** Commits one after the other. */
export const commitEach = (...commits: ReadonlyArray<ReadonlyArray<Write>>) =>
  Effect.forEach(commits, commit, { discard: true })

/** The reason why a commit is refused, or `none`. */
export const reasonOf = (effect: Effect.Effect<void, StorageError, SessionStorage>) =>
  Effect.map(
    Effect.either(effect),
    (result) => Either.match(result, { onLeft: (error): string => error.reason, onRight: () => "none" })
  )
