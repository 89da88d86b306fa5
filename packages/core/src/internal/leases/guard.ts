/**
 * Fences commits: each commit names the leases of the trees that it changes, and is refused once one of them is lost.
 */
import type { SessionID } from "@skein/domain/Id"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Lease } from "../../Lease.ts"
import { heldByAnother, type StorageError, storedTooLate } from "../../StorageError.ts"
import type { Places } from "../../StorageFilter.ts"
import type { Write } from "../../Write.ts"
import { type Flights, sessionOf } from "./flights.ts"

type Fence = Extract<Write, { readonly _tag: "Fence" }>

/** Whether only the holder of a tree may make a change. Others make new trees, and ask its holder. */
const needsFence = (write: Write): boolean => {
  switch (write._tag) {
    case "Session":
    case "DeleteSession":
    case "Message":
    case "Part":
    case "RemovePart":
    case "Run":
    case "InboxTaken":
    case "Todos":
    case "Event":
    case "Shelve":
    case "Inbox":
      return true
    default:
      return false
  }
}

/** Whether a commit makes a session, or names a lease itself. */
const isExempt = (write: Write): boolean =>
  write._tag === "Session" ? write.isNew === true : write._tag === "Hold" || write._tag === "Fence"

type Commit = (writes: ReadonlyArray<Write>, onStored?: (places: Places) => void) => Effect.Effect<Places, StorageError>

/** Wraps the commits of a process. */
export const makeGuard = (commit: Commit, known: {
  /** The tree of a session in memory. What has left memory is changed no longer: its tree was lost, or it was removed. */
  readonly treeOf: (id: SessionID) => SessionID | undefined
  /** The lease of a tree, and whether it is held. */
  readonly leaseOf: (rootID: SessionID) => { readonly lease: Lease; readonly isHeld: boolean }
  /** Whether a session is being removed, or was: only its deletion is stored. */
  readonly isRemoved: (id: SessionID) => boolean
  readonly flights: Flights
  /** Called for each tree of a refused commit: at least one of their leases is lost. */
  readonly doubted: (rootID: SessionID) => Effect.Effect<void>
}): Commit => {
  const fences = (writes: ReadonlyArray<Write>): ReadonlyArray<Fence> | StorageError => {
    const found = new Map<SessionID, Fence>()
    const deletes = writes.some(({ _tag }) => _tag === "DeleteSession")
    for (const write of writes) {
      const session = sessionOf(write)
      if (!deletes && session !== undefined && known.isRemoved(session)) return storedTooLate(session)
      const rootID = session === undefined ? undefined : known.treeOf(session)
      if (rootID === undefined || found.has(rootID)) continue
      const { isHeld, lease } = known.leaseOf(rootID)
      if (!isHeld) return heldByAnother("commit", lease)
      found.set(rootID, { _tag: "Fence", lease })
    }
    const bare = found.size === 0 && !writes.some(isExempt) ? writes.find(needsFence) : undefined
    const session = bare === undefined ? undefined : sessionOf(bare)
    return session === undefined ? [...found.values()] : heldByAnother("commit", { rootID: session })
  }
  return (writes, onStored) =>
    // A flight that has begun has to end: the process would leave its trees because of it.
    Effect.uninterruptibleMask((restore) => {
      const guards = fences(writes)
      if ("_tag" in guards) return guards
      if (guards.length === 0) return restore(commit(writes, onStored))
      const flight = known.flights.begin(writes)
      return Effect.matchCauseEffect(restore(commit([...guards, ...writes], onStored)), {
        onSuccess: (places) => {
          known.flights.end(flight)
          return Effect.succeed(places)
        },
        onFailure: (cause) => {
          const error = Option.getOrUndefined(Cause.failureOption(cause))
          const isRefused = error?.reason === "held" || error?.reason === "constraint"
          const failed = flight.late !== undefined && isRefused ? storedTooLate(flight.late) : Effect.failCause(cause)
          const doubts = error?.reason === "held" && flight.late === undefined ? guards : []
          return Effect.forEach(doubts, ({ lease }) => known.doubted(lease.rootID), { discard: true }).pipe(
            Effect.zipRight(failed),
            Effect.ensuring(Effect.sync(() => known.flights.end(flight)))
          )
        }
      })
    })
}
