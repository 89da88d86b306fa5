/** Leases as they are kept: taken with a commit, renewed while they last, and let go when nothing of a tree goes on. */
import type { SessionID } from "@skein/domain/Id"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import { failpoint } from "../../Failpoints.ts"
import { isOver, type Lease, leaseLength, type StoredLease } from "../../Lease.ts"
import { elapsed, steady } from "../../MonotonicClock.ts"
import { Owner } from "../../Owner.ts"
import { SessionStorage } from "../../SessionStorage.ts"
import { heldByAnother, StorageError } from "../../StorageError.ts"
import type { Hold, Write } from "../../Write.ts"
import { type Flight, makeGuard, noteLate } from "./guard.ts"
import { type Held, type HeldTrees, makeHeldTrees, type Moment } from "./heldTrees.ts"

/** How often leases are renewed (ms). */
const pace = leaseLength / 4

/** How long an expired lease must stay unchanged before it is taken (ms): the clock that it expired by may have been set. */
const watch = leaseLength

/** How long after a renewal a tree is held for certain (ms). Others watch longer, by as much as a fiber may be delayed. */
const sure = watch - 2_000

/** How long a live holder is waited for, which may be about to let go, and how often the lease is read meanwhile (ms). */
const patience = 2_000
const look = 100

/** What a waiting process has seen of another's lease. */
interface Seen {
  readonly lease: StoredLease
  /** When it was last read, on the clock of `elapsed` (ms). */
  readonly at: number
  /** For how long it has stayed the same (ms). */
  readonly unchanged: number
  /** Whether it was renewed meanwhile. */
  readonly isRenewed: boolean
}

/** A late look counts for no more than one renewal: this process may have been stopped together with the holder. */
const seeAgain = (lease: StoredLease, at: number, before: Seen | undefined): Seen => {
  if (before === undefined) return { lease, at, unchanged: 0, isRenewed: false }
  const isSame = before.lease.until === lease.until && before.lease.epoch === lease.epoch
  return {
    lease,
    at,
    unchanged: isSame ? before.unchanged + Math.min(at - before.at, pace) : 0,
    isRenewed: before.isRenewed || !isSame
  }
}

const busy = (rootID: SessionID) =>
  new StorageError({
    operation: "hold",
    reason: "held",
    message:
      `Another process works in the session ${rootID}. Wait for it, stop it there, or continue with a copy: skein run --fork -s ${rootID}.`
  })

const isRefused = (error: StorageError): boolean => error.reason === "held"

/** Makes the service, and the storage that goes with it. */
export const makeLeases = () =>
  Effect.gen(function*() {
    const storage = yield* SessionStorage
    const owner = yield* Owner
    const clock = yield* Effect.clock
    const moment = (): Moment => ({ steady: steady(clock), wall: clock.unsafeCurrentTimeMillis() })
    const isShared = storage.mail !== undefined
    /** Whether nobody else can have taken a tree. Where no other process has access, nobody ever can. */
    const isSure = ({ renewed }: Held) => {
      const now = moment()
      return !isShared || Math.max(now.steady - renewed.steady, now.wall - renewed.wall) < sure
    }
    /** The tree of each session in memory. */
    const trees = new Map<SessionID, SessionID>()
    /** The epoch in which each of them was last held here. */
    const epochs = new Map<SessionID, number>()
    const turns = new Map<SessionID, Effect.Semaphore>()
    /** Trees that are being left: what ends of them now stores nothing, and takes none of them again. */
    const leaving = new Set<SessionID>()
    /** Sessions that are being deleted, or were, until they leave memory. */
    const removed = new Set<SessionID>()
    const flights = new Set<Flight>()
    const listeners: Array<(rootID: SessionID) => Effect.Effect<void>> = []
    const resting: Array<(rootID: SessionID) => Effect.Effect<void>> = []

    const inTurn = <B, E>(rootID: SessionID, effect: Effect.Effect<B, E>) => {
      let turn = turns.get(rootID)
      if (turn === undefined) turns.set(rootID, turn = Effect.unsafeMakeSemaphore(1))
      return turn.withPermits(1)(effect)
    }

    const release = (leases: ReadonlyArray<Lease>) =>
      Effect.catchAll(
        storage.commit(leases.map((lease): Write => ({ _tag: "Release", lease }))),
        ({ message }) =>
          Effect.logWarning("A session could not be let go; that happens when its lease runs out", message)
      )

    const letGo = (tree: Held): Effect.Effect<void> =>
      Effect.uninterruptible(inTurn(
        tree.lease.rootID,
        Effect.suspend(() => {
          const { lease } = tree
          if (tree.uses > 0 || !held.drop(tree)) return Effect.void
          return Effect.zipRight(
            release([lease]),
            Effect.forEach(resting, (rest) => rest(lease.rootID), { discard: true })
          )
        })
      ))

    // All that ran has ended when this is closed.
    yield* Effect.addFinalizer(() =>
      Effect.suspend(() => {
        const all = held.all().filter(held.drop).map(({ lease }) => lease)
        return all.length === 0 ? Effect.void : Effect.zipRight(failpoint("shutdown_drain"), release(all))
      })
    )
    const held: HeldTrees = yield* makeHeldTrees(letGo)

    /** What is in memory of a tree is not how it stands: it is read again when it is needed. */
    const forgetTree = (rootID: SessionID) => Effect.forEach(listeners, (forget) => forget(rootID), { discard: true })

    /** Ends what runs of a tree that another has taken over. Nobody who runs for the tree waits for it. */
    const lose = (tree: Held): Effect.Effect<void> =>
      Effect.sync(() => {
        const { rootID } = tree.lease
        // Nobody took over what was deleted here.
        if (!held.drop(tree) || removed.has(rootID)) return
        held.begin(Effect.zipRight(
          Effect.logError(`The session ${rootID} was taken over by another process: what runs of it here is ended.`),
          forgetTree(rootID)
        ))
      })

    const renew = (some: ReadonlyArray<Held>): Effect.Effect<void, StorageError> =>
      Effect.suspend(() => {
        const [only, ...others] = some
        if (only === undefined) return Effect.void
        const renewed = moment()
        return storage.commit(some.map(({ lease }) => ({ _tag: "Renew", lease, length: leaseLength }))).pipe(
          Effect.map(() => {
            for (const tree of some) tree.renewed = renewed
          }),
          Effect.catchIf(
            isRefused,
            () => others.length === 0 ? lose(only) : Effect.forEach(some, (tree) => renew([tree]), { discard: true })
          )
        )
      })

    const renewal = Effect.catchAll(
      Effect.suspend(() => renew(held.all())),
      ({ message }) => Effect.logWarning("What is held could not be renewed", message)
    )

    const isFree = ({ owner: other }: StoredLease) =>
      other === undefined || other === owner.id ? Effect.succeed(true) : owner.isGone(other)

    /** Takes a tree, waiting since `since` for a holder that may let go or be dead. */
    const take = (rootID: SessionID, since: number, before?: Seen): Effect.Effect<() => void, StorageError> =>
      Effect.gen(function*() {
        const stored = yield* storage.lease(rootID)
        if (Option.isNone(stored)) return yield* Effect.as(forgetTree(rootID), () => {})
        const found = stored.value
        if (!(yield* isFree(found))) {
          const seen = seeAgain(found, elapsed(clock), before)
          const isAlive = seen.isRenewed && !isOver(found)
          if (isAlive && seen.at - since >= patience) return yield* busy(rootID)
          if (!isOver(found) || seen.unchanged < watch) {
            yield* Effect.interruptible(Effect.sleep(look))
            return yield* take(rootID, since, seen)
          }
        }
        const lease: Lease = { rootID, owner: owner.id, epoch: found.epoch + 1 }
        const taking = Effect.gen(function*() {
          const renewed = moment()
          yield* storage.commit([{ _tag: "Hold", lease, length: leaseLength, found }])
          // What is in memory is how somebody else found it. Nobody here has the tree before that is forgotten.
          const isKnown = epochs.get(rootID) === found.epoch && (found.owner ?? owner.id) === owner.id
          if (!isKnown) yield* forgetTree(rootID)
          epochs.set(rootID, lease.epoch)
          return held.use(held.keep(lease, renewed))
        })
        return yield* Effect.catchIf(taking, isRefused, () => take(rootID, since))
      })

    const acquire = (rootID: SessionID): Effect.Effect<() => void, StorageError> =>
      Effect.suspend(() => {
        if (leaving.has(rootID)) return heldByAnother("hold", { rootID })
        const tree = held.get(rootID)
        // Where somebody else may have taken it over, a renewal shows whether that is so.
        if (tree !== undefined && isSure(tree)) return Effect.succeed(held.use(tree))
        return inTurn(
          rootID,
          Effect.gen(function*() {
            const present = held.get(rootID)
            if (present !== undefined && !isSure(present)) yield* renew([present])
            return present !== undefined && held.get(rootID) === present
              ? held.use(present)
              : yield* take(rootID, elapsed(clock))
          })
        )
      })

    const commit = makeGuard(storage.commit, {
      treeOf: (id) => trees.get(id),
      isRemoved: (id) => removed.has(id),
      flights,
      leaseOf: (rootID) => {
        const tree = held.get(rootID)
        const lease = tree?.lease ?? { rootID, owner: owner.id, epoch: epochs.get(rootID) ?? 0 }
        return { lease, isHeld: tree !== undefined }
      },
      doubted: (rootID) =>
        Effect.suspend(() => {
          const tree = held.get(rootID)
          return tree === undefined ? Effect.void : Effect.ignoreLogged(renew([tree]))
        })
    })

    if (isShared) yield* Effect.forkScoped(Effect.forever(Effect.zipRight(Effect.sleep(pace), renewal)))

    const leases = {
      note: (id: SessionID, rootID: SessionID) => void trees.set(id, rootID),
      forget: (id: SessionID) => {
        trees.delete(id)
        removed.delete(id)
        if (held.get(id) === undefined) {
          epochs.delete(id)
          turns.delete(id)
        }
      },
      hold: <A, E, R>(rootID: SessionID, effect: Effect.Effect<A, E, R>) =>
        Effect.acquireUseRelease(acquire(rootID), () => effect, (done) => Effect.sync(done)),
      isFresh: (rootID: SessionID) =>
        Effect.suspend(() => {
          if (held.get(rootID) !== undefined) return Effect.succeed(true)
          return Effect.map(
            storage.lease(rootID),
            (stored) => Option.isSome(stored) && stored.value.epoch === (epochs.get(rootID) ?? 0)
          )
        }),
      begin: <E>(rootID: SessionID, store: (hold: Hold) => Effect.Effect<void, E>) =>
        Effect.suspend(() => {
          const lease: Lease = { rootID, owner: owner.id, epoch: 1 }
          const renewed = moment()
          const found = { owner: undefined, epoch: 0, until: 0, left: 0 }
          return Effect.map(store({ _tag: "Hold", lease, length: leaseLength, found }), () => {
            epochs.set(rootID, lease.epoch)
            held.keep(lease, renewed)
          })
        }),
      remove: <E>(ids: readonly [SessionID, ...ReadonlyArray<SessionID>], store: Effect.Effect<void, E>) =>
        Effect.suspend(() => {
          for (const id of ids) removed.add(id)
          noteLate(flights, removed)
          return Effect.onExit(store, (exit) =>
            Effect.sync(() => {
              if (Exit.isFailure(exit)) {
                for (const id of ids) removed.delete(id)
                return
              }
              const tree = held.get(ids[0])
              if (tree !== undefined) held.drop(tree)
            }))
        }),
      use: (rootID: SessionID) => {
        const tree = held.get(rootID)
        return tree === undefined ? () => {} : held.use(tree)
      },
      epoch: (rootID: SessionID) => held.get(rootID)?.lease.epoch ?? 0,
      renew: (rootID: SessionID) =>
        Effect.suspend(() => {
          const tree = held.get(rootID)
          if (tree !== undefined && isSure(tree)) return Effect.void
          const lease = tree?.lease ?? { rootID, owner: owner.id, epoch: 0 }
          const lost = Effect.suspend(() =>
            held.get(rootID) === undefined ? heldByAnother("renew", lease) : Effect.void
          )
          return tree === undefined ? lost : Effect.zipRight(renew([tree]), lost)
        }),
      leave: (rootID: SessionID) =>
        Effect.suspend(() => {
          const tree = held.get(rootID)
          if (tree === undefined || !held.drop(tree)) return Effect.void
          leaving.add(rootID)
          // Others may have it only when nothing runs here any more.
          return forgetTree(rootID).pipe(
            Effect.zipRight(release([tree.lease])),
            Effect.ensuring(Effect.sync(() => leaving.delete(rootID)))
          )
        }).pipe(Effect.uninterruptible),
      onStale: (forget: (rootID: SessionID) => Effect.Effect<void>) => void listeners.push(forget),
      onRest: (rest: (rootID: SessionID) => Effect.Effect<void>) => void resting.push(rest)
    }
    return { leases, storage: { ...storage, commit } }
  })
