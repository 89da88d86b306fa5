/**
 * Fences commits: each commit names the leases of the trees that it changes, and is refused once one of them is lost.
 */
import type { SessionID } from "@skein/domain/Id"
import * as Effect from "effect/Effect"
import type { Lease } from "../../Lease.ts"
import { heldByAnother, type StorageError, storedTooLate } from "../../StorageError.ts"
import type { Places } from "../../StorageFilter.ts"
import type { Write } from "../../Write.ts"

type Fence = Extract<Write, { readonly _tag: "Fence" }>

/** A session in memory. */
export interface Member {
  readonly id: SessionID
  readonly rootID: SessionID
  /** Whether it is being removed, or was: only its deletion is stored. */
  isRemoved: boolean
}

/** The session that a write belongs to; undefined for writes of a project or a lease. */
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
    case "Shelve":
      return write.rootID
    case "Receipt":
      return write.receipt.sessionID
    default:
      return undefined
  }
}

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
  /** A session in memory. What has left memory is changed no longer: its tree was lost, or it was removed. */
  readonly memberOf: (id: SessionID) => Member | undefined
  /** The lease of a tree, if it is held. */
  readonly leaseOf: (rootID: SessionID) => Lease | undefined
  /** Called for each tree of a refused commit: at least one of their leases is lost. */
  readonly doubted: (rootID: SessionID) => Effect.Effect<void>
}): Commit => {
  const membersOf = (writes: ReadonlyArray<Write>): ReadonlySet<Member> => {
    const found = new Set<Member>()
    for (const write of writes) {
      const id = sessionOf(write)
      const member = id === undefined ? undefined : known.memberOf(id)
      if (member !== undefined) found.add(member)
    }
    return found
  }
  const fences = (writes: ReadonlyArray<Write>, members: ReadonlySet<Member>): ReadonlyArray<Fence> | StorageError => {
    const found = new Map<SessionID, Fence>()
    const deletes = writes.some(({ _tag }) => _tag === "DeleteSession")
    for (const { id, isRemoved, rootID } of members) {
      if (!deletes && isRemoved) return storedTooLate(id)
      if (found.has(rootID)) continue
      const lease = known.leaseOf(rootID)
      if (lease === undefined) return heldByAnother("commit", { rootID })
      found.set(rootID, { _tag: "Fence", lease })
    }
    const bare = found.size === 0 && !writes.some(isExempt) ? writes.find(needsFence) : undefined
    const session = bare === undefined ? undefined : sessionOf(bare)
    return session === undefined ? [...found.values()] : heldByAnother("commit", { rootID: session })
  }
  return (writes, onStored) =>
    Effect.suspend(() => {
      const members = membersOf(writes)
      const guards = fences(writes, members)
      if ("_tag" in guards) return guards
      if (guards.length === 0) return commit(writes, onStored)
      const deletes = writes.some(({ _tag }) => _tag === "DeleteSession")
      /** The session that was removed while the commit was in flight. */
      const late = () => deletes ? undefined : [...members].find(({ isRemoved }) => isRemoved)?.id
      return Effect.catchAll(commit([...guards, ...writes], onStored), (error) => {
        const id = error.reason === "held" || error.reason === "constraint" ? late() : undefined
        if (id !== undefined) return storedTooLate(id)
        return error.reason === "held"
          ? Effect.zipRight(
            Effect.forEach(guards, ({ lease }) => known.doubted(lease.rootID), { discard: true }),
            error
          )
          : error
      })
    })
}
