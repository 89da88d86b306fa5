/** Storage for those who hold what they change: every commit says so, and is refused where that is not true any more. */
import type { SessionID } from "@skein/domain/Id"
import * as Effect from "effect/Effect"
import type { Lease } from "../../Lease.ts"
import type { Places } from "../../LoggedEvent.ts"
import { heldByAnother, type StorageError, storedTooLate } from "../../StorageError.ts"
import type { Write } from "../../Write.ts"

/** The session that a write belongs to; undefined where it is of a project, or of who holds a tree. */
const sessionOf = (write: Write): SessionID | undefined => {
  switch (write._tag) {
    case "Session":
      return write.info.id
    case "DeleteSession":
      return write.id
    case "Message":
      return write.info.sessionID
    case "Part":
      return write.part.sessionID
    case "Run":
      return write.run.parentID
    case "Inbox":
      return write.row.sessionID
    case "RemovePart":
    case "InboxTaken":
    case "Todos":
      return write.sessionID
    case "Event":
      return write.event.sessionID
    case "Receipt":
      return write.receipt.sessionID
    default:
      return undefined
  }
}

type Fence = Extract<Write, { readonly _tag: "Fence" }>

type Commit = (writes: ReadonlyArray<Write>, onStored?: () => void) => Effect.Effect<Places, StorageError>

/** A commit that is under way. */
export interface Flight {
  readonly writes: ReadonlyArray<Write>
  /** The session of it that is being removed. */
  late: SessionID | undefined
}

/** Notes which commits come too late for sessions that are being removed. */
export const noteLate = (flights: Iterable<Flight>, removed: ReadonlySet<SessionID>): void => {
  for (const flight of flights) {
    flight.late ??= flight.writes.map(sessionOf).find((id) => id !== undefined && removed.has(id))
  }
}

/** Makes the commits of a process. */
export const makeGuard = (commit: Commit, known: {
  /** The tree of a session in memory; what is not in memory was never read, and so is not overwritten. */
  readonly treeOf: (id: SessionID) => SessionID | undefined
  /** The lease of a tree, and whether it is held. */
  readonly leaseOf: (rootID: SessionID) => { readonly lease: Lease; readonly isHeld: boolean }
  /** Whether a session is being removed, or was: only its deletion is stored. */
  readonly isRemoved: (id: SessionID) => boolean
  /** Where commits that are under way are noted. */
  readonly flights: Set<Flight>
  /** A commit in these trees was refused: one of them is not held any more. */
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
    return [...found.values()]
  }
  return (writes, onStored) =>
    Effect.suspend(() => {
      const guards = fences(writes)
      if ("_tag" in guards) return guards
      if (guards.length === 0) return commit(writes, onStored)
      const flight: Flight = { writes, late: undefined }
      known.flights.add(flight)
      return commit([...guards, ...writes], onStored).pipe(
        Effect.catchIf(
          ({ reason }) => flight.late !== undefined && (reason === "held" || reason === "constraint"),
          (error) => flight.late === undefined ? error : storedTooLate(flight.late)
        ),
        Effect.tapError(({ reason }) =>
          reason === "held" && flight.late === undefined
            ? Effect.forEach(guards, ({ lease }) => known.doubted(lease.rootID), { discard: true })
            : Effect.void
        ),
        Effect.ensuring(Effect.sync(() => known.flights.delete(flight)))
      )
    })
}
