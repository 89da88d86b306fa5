/**
 * What this process knows of the lease of one tree, and how that changes. Pure: `makeLeases` stores what follows, and tells
 * others.
 */
import type * as Effect from "effect/Effect"
import { isOver, type Lease, leaseLength, type StoredLease } from "../../Lease.ts"
import { type AwakeTime, between, type SteadyTime, type WallTime } from "../../MonotonicClock.ts"
import type { StorageError } from "../../StorageError.ts"

/** How often leases are renewed (ms). */
export const renewalInterval = 1_000

/** How long an expired lease must stay unchanged before it is taken over (ms), because the clock may have been set. */
const watchTime = leaseLength

/**
 * How long after a renewal a tree is certainly held (ms). It is shorter than `watchTime` by the longest delay of a
 * fiber.
 */
const certainTime = watchTime - 1_500

/** A time on two clocks: a steady one, and the wall clock, which also runs while the machine sleeps. */
export interface Renewal {
  readonly steady: SteadyTime
  readonly wall: WallTime
}

/** What this process has seen of the lease of another one. */
export interface Seen {
  readonly lease: StoredLease
  /** When it was last read. */
  readonly at: AwakeTime
  /** For how long it has stayed the same (ms). */
  readonly unchanged: number
  /** Whether it was renewed meanwhile. */
  readonly isRenewed: boolean
  /** Whether nobody holds it: it was released, or its holder has ended. */
  readonly isFree: boolean
}

/** A late read counts for at most one renewal: this process may have been suspended together with the holder. */
export const see = (lease: StoredLease, isFree: boolean, at: AwakeTime, before: Seen | undefined): Seen => {
  if (before === undefined) return { lease, at, unchanged: 0, isRenewed: false, isFree }
  const isSame = before.lease.until === lease.until && before.lease.epoch === lease.epoch
  return {
    lease,
    at,
    unchanged: isSame ? before.unchanged + Math.min(between(before.at, at), renewalInterval) : 0,
    isRenewed: before.isRenewed || !isSame,
    isFree
  }
}

/** Whether a tree may be acquired whose lease was last seen like this. */
export const isDue = ({ isFree, lease, unchanged }: Seen): boolean =>
  isFree || (isOver(lease) && unchanged >= watchTime)

/** What was found out about a tree that was acquired. */
interface Taken {
  readonly lease: Lease
  /** When it was asked for. */
  readonly renewed: Renewal
  /** Whether commands of the holder before may still run. */
  readonly lingers?: boolean
  /** Unfinished work of another process continues here: that process, unless it left the tree. */
  readonly from?: { readonly owner: string | undefined } | undefined
}

/** This process does not hold the tree. */
export interface Free {
  readonly _tag: "Free"
  /** The epoch in which this process last held it, while memory has what was stored by then. */
  readonly known: number | undefined
  readonly seen: Seen | undefined
}

/** One fiber acquires the tree, others wait for its end. */
interface Acquiring extends Pick<Free, "known" | "seen"> {
  readonly _tag: "Acquiring"
  readonly over: Effect.Latch
}

/** This process holds the tree. */
export interface Held extends Taken {
  readonly _tag: "Held"
  /** How many use it. */
  readonly users: number
}

/** It was idle, and its release is being stored. Who wants it waits for the end of that. */
interface Leaving {
  readonly _tag: "Leaving"
  readonly lease: Lease
  readonly over: Effect.Latch
}

/**
 * Its work here ends, because another process has it, the storage is away, or it was handed over. Nobody here may take it again
 * before the last of those ended who used it: what they decided in this epoch would be stored in the next one.
 */
interface Lost {
  readonly _tag: "Lost"
  readonly lease: Lease
  readonly users: number
  /** Why. */
  readonly error: StorageError
  /** Whether what was in memory of it has ended. */
  readonly isForgotten: boolean
}

/** The state of a tree. */
export type TreeState = Free | Acquiring | Held | Leaving | Lost

/** What happens to a tree. What does not fit its state changes nothing. */
export type TreeEvent =
  | { readonly _tag: "Looked"; readonly seen: Seen | undefined }
  /** A fiber begins to acquire it. */
  | { readonly _tag: "Wanted"; readonly over: Effect.Latch }
  /** That fiber has ended without it. */
  | { readonly _tag: "GivenUp" }
  | { readonly _tag: "Acquired"; readonly taken: Taken }
  | { readonly _tag: "Renewed"; readonly lease: Lease; readonly at: Renewal }
  | { readonly _tag: "Used" }
  | { readonly _tag: "Unused"; readonly lease: Lease }
  /** Listeners know which process its work comes from. */
  | { readonly _tag: "Continued" }
  /** It is to be released if nobody uses it. */
  | { readonly _tag: "Idle"; readonly lease: Lease; readonly over: Effect.Latch }
  | { readonly _tag: "Released" }
  | { readonly _tag: "Lost"; readonly lease: Lease; readonly error: StorageError }
  /** What was in memory of a lost tree has ended. */
  | { readonly _tag: "Ended" }
  /** Its root has left memory. */
  | { readonly _tag: "Forgotten" }
  /** It was deleted. */
  | { readonly _tag: "Deleted" }

/** A tree of which nothing is known. */
export const unknown: Free = { _tag: "Free", known: undefined, seen: undefined }

const freed = (lost: Lost): Lost | Free => lost.isForgotten && lost.users === 0 ? unknown : lost

/** The next state of a tree; the same one if the event does not fit it. */
export const next = (state: TreeState, event: TreeEvent): TreeState => {
  switch (event._tag) {
    case "Looked":
      return state._tag === "Free" ? { ...state, seen: event.seen } : state
    case "Wanted":
      return state._tag === "Free" ? { ...state, _tag: "Acquiring", over: event.over } : state
    case "GivenUp":
      return state._tag === "Acquiring" ? { _tag: "Free", known: state.known, seen: state.seen } : state
    case "Acquired":
      return state._tag === "Acquiring" || state._tag === "Free" ? { _tag: "Held", users: 0, ...event.taken } : state
    case "Renewed":
      return state._tag === "Held" && state.lease === event.lease ? { ...state, renewed: event.at } : state
    case "Used":
      return state._tag === "Held" ? { ...state, users: state.users + 1 } : state
    case "Unused":
      if (state._tag === "Held" && state.lease === event.lease) return { ...state, users: state.users - 1 }
      return state._tag === "Lost" && state.lease === event.lease ? freed({ ...state, users: state.users - 1 }) : state
    case "Continued":
      return state._tag === "Held" ? { ...state, from: undefined } : state
    case "Idle":
      return state._tag === "Held" && state.lease === event.lease && state.users === 0
        ? { _tag: "Leaving", lease: state.lease, over: event.over }
        : state
    case "Released":
      return state._tag === "Leaving" ? { ...unknown, known: state.lease.epoch } : state
    case "Lost": {
      if (state._tag !== "Held" || state.lease !== event.lease) return state
      const { lease, users } = state
      return { _tag: "Lost", lease, users, error: event.error, isForgotten: false }
    }
    case "Ended":
      return state._tag === "Lost" ? freed({ ...state, isForgotten: true }) : state
    case "Forgotten":
      return state._tag === "Free" || state._tag === "Acquiring" ? { ...state, known: undefined } : state
    case "Deleted":
      return state._tag === "Held" ? unknown : state
  }
}

/** Whether no other process can have acquired a held tree. */
export const isCertain = ({ renewed }: Held, now: Renewal): boolean =>
  Math.max(between(renewed.steady, now.steady), between(renewed.wall, now.wall)) < certainTime

/** The epoch up to which memory has what is stored of a tree; undefined if this process has not held it. */
export const knownOf = (state: TreeState): number | undefined => "known" in state ? state.known : state.lease.epoch
