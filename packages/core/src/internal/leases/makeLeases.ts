/** The lifecycle of leases: acquired with a commit, renewed while in use, and released once the tree is idle. */
import type { SessionID } from "@skein/domain/Id"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import { failpoint } from "../../Failpoints.ts"
import { FairSemaphore } from "../../Fibers.ts"
import { isOver, type Lease, leaseLength, type StoredLease } from "../../Lease.ts"
import { countLost } from "../../Metrics.ts"
import { elapsed, steady } from "../../MonotonicClock.ts"
import { machineOfOwner, Owner } from "../../Owner.ts"
import { SessionStorage } from "../../SessionStorage.ts"
import { heldByAnother, isOutage, type StorageError } from "../../StorageError.ts"
import type { Hold, Write } from "../../Write.ts"
import { Flights } from "./flights.ts"
import { makeGuard } from "./guard.ts"
import { type Held, type HeldTrees, makeHeldTrees, type Moment } from "./heldTrees.ts"
import { heldElsewhere, longestStall, stalled } from "./leaseErrors.ts"
import { makeLeaseListeners } from "./leaseListeners.ts"
import { makeLeasePace, renewalInterval } from "./leasePace.ts"
import { makeHealth } from "./makeHealth.ts"
import { observe, type Observed } from "./observed.ts"
import { StorageWatch } from "./storageWatch.ts"
import { watchedStorage } from "./watchedStorage.ts"

/** How long an expired lease must stay unchanged before it is taken over (ms), because the clock may have been set. */
const watchTime = leaseLength

/**
 * How long after a renewal a tree is certainly held (ms). It is shorter than `watchTime` by the longest delay of a
 * fiber.
 */
const certainTime = watchTime - 1_500

/** How long to wait for a live holder, which may be about to release the tree, and how often to read its lease (ms). */
const holderWait = 2_000
const pollInterval = 100

const isRefused = (error: StorageError): boolean => error.reason === "held"

/** Makes the service, and the storage whose commits it fences. */
export const makeLeases = () =>
  Effect.gen(function*() {
    const given = yield* SessionStorage
    const owner = yield* Owner
    const clock = yield* Effect.clock
    const watch = new StorageWatch(clock)
    const storage = given.mail === undefined
      ? given
      : watchedStorage(given, watch.watch((error) => Effect.suspend(() => leaveAll(error))))
    const moment = (): Moment => ({ steady: steady(clock), wall: clock.unsafeCurrentTimeMillis() })
    const pace = makeLeasePace(clock)
    const isShared = storage.mail !== undefined
    /** Whether no other process can have acquired a tree. Always true if no other process has access. */
    const isCertain = ({ renewed }: Held) => {
      const now = moment()
      return !isShared || Math.max(now.steady - renewed.steady, now.wall - renewed.wall) < certainTime
    }
    /** For how long nobody else can acquire a tree, in milliseconds: its lease ends later, as it was renewed later. */
    const timeLeft = ({ renewed }: Held) =>
      isShared ? Math.max(0, renewed.steady + leaseLength - steady(clock)) : Number.POSITIVE_INFINITY
    /** The tree of each session in memory. */
    const trees = new Map<SessionID, SessionID>()
    /** The epoch in which each of them was last held here. */
    const epochs = new Map<SessionID, number>()
    /** What was seen of the leases of others. */
    let observations = new Map<SessionID, Observed>()
    /** The leases that nobody held when they were last looked at. */
    let due = new Map<SessionID, StoredLease>()
    /** Each while someone has it or waits for it. */
    const locks = new Map<SessionID, { readonly lock: FairSemaphore; users: number }>()
    /**
     * Trees that are being left, and why: fibers that end now store nothing, and must not acquire the tree again. The same
     * process may, once they have ended: until then it could not tell their commits from its own.
     */
    const leaving = new Map<SessionID, StorageError>()
    /** Sessions that are being deleted, or were, until they leave memory. */
    const removed = new Set<SessionID>()
    const flights = new Flights(clock)
    const { outage, register, released, renewed: toldRenewed, stale, takenOver } = makeLeaseListeners()

    const withLock = <B, E>(rootID: SessionID, effect: Effect.Effect<B, E>) =>
      Effect.acquireUseRelease(
        Effect.sync(() => {
          const entry = locks.get(rootID) ?? { lock: new FairSemaphore(1), users: 0 }
          entry.users++
          locks.set(rootID, entry)
          return entry
        }),
        ({ lock }) => lock.withPermit(effect),
        (entry) => Effect.sync(() => void (--entry.users === 0 && locks.delete(rootID)))
      )

    const release = (leases: ReadonlyArray<Lease>) =>
      Effect.catchAll(
        storage.commit(leases.map((lease): Write => ({ _tag: "Release", lease }))),
        ({ message }) => Effect.logWarning("A session could not be released; its lease will expire", message)
      )

    /** Stores the last writes to a tree that is about to be released. The next holder can do without them. */
    const storeLast = (lease: Lease, writes: ReadonlyArray<Write>) =>
      Effect.catchAll(
        storage.commit([{ _tag: "Fence", lease }, ...writes]),
        ({ message }) => Effect.logWarning("The last state of a session could not be stored", message)
      )

    /** Returns whether it was idle. */
    const releaseIdle = (tree: Held): Effect.Effect<boolean> =>
      Effect.uninterruptible(withLock(
        tree.lease.rootID,
        Effect.suspend(() => {
          const { lease } = tree
          if (tree.uses > 0 || !held.drop(tree)) return Effect.succeed(false)
          return release([lease]).pipe(Effect.zipRight(released(lease.rootID)), Effect.as(true))
        })
      ))

    // Runs after everything that uses the trees has ended.
    yield* Effect.addFinalizer(() =>
      Effect.suspend(() => {
        const all = held.all().filter(held.drop).map(({ lease }) => lease)
        return all.length === 0 ? Effect.void : Effect.zipRight(failpoint("shutdown_drain"), release(all))
      })
    )
    const held: HeldTrees = yield* makeHeldTrees((tree) => Effect.asVoid(releaseIdle(tree)))

    /** Ends what runs here of a lost tree, because of `error`. Forked, because a fiber of the tree may call it. */
    const lose = (tree: Held, error: StorageError, told: Effect.Effect<void>): boolean => {
      const { rootID } = tree.lease
      // A tree that was deleted here was not taken over.
      if (!held.drop(tree) || removed.has(rootID)) return false
      countLost()
      leaving.set(rootID, error)
      const ended = Effect.sync(() => void leaving.delete(rootID))
      held.begin(Effect.zipRight(told, Effect.ensuring(stale(rootID), ended)))
      return true
    }

    const loseTaken = (tree: Held) =>
      Effect.sync(() => {
        const { rootID } = tree.lease
        const told = Effect.logError(`The session ${rootID} was taken over by another process: its work here ends.`)
        lose(tree, heldByAnother("hold", { rootID }), told)
      })

    /**
     * Leaves all trees as a crash would, because nothing can be stored or read: their next holder resumes them, which may be
     * this process. What may still be stored is read again then. Before that error reaches anybody: nothing
     * of it may be stored as an end.
     */
    const leaveAll = (error: StorageError): Effect.Effect<void> =>
      Effect.suspend(() => {
        const lost = held.all().filter((tree) => {
          epochs.delete(tree.lease.rootID)
          return lose(tree, error, Effect.void)
        })
        if (lost.length === 0) return Effect.void
        const passes = isOutage(error)
        if (passes) outage(lost.map(({ lease }) => lease.rootID))
        return Effect.logError(
          `The storage ${passes ? "is away" : "has failed"} (${error.message}) The work in ${lost.length} ${
            lost.length === 1 ? "tree" : "trees"
          } has stopped here. ${
            passes ? "It continues from the last stored step once the storage is back." : "Nothing more is stored."
          }`
        )
      })

    const isStillHeld = (tree: Held) => held.get(tree.lease.rootID) === tree

    const renew = (some: ReadonlyArray<Held>): Effect.Effect<void, StorageError> =>
      Effect.suspend(() => {
        const [only, ...others] = some
        if (only === undefined) return Effect.void
        if (isShared && flights.stalled > longestStall) return leaveAll(stalled())
        const renewed = moment()
        const length = pace.length()
        return storage.commit(some.map(({ lease }) => ({ _tag: "Renew", lease, length }))).pipe(
          Effect.map(() => {
            const left = renewed.steady + length - steady(clock)
            for (const tree of some) {
              tree.renewed = renewed
              toldRenewed(tree.lease.rootID, left)
            }
          }),
          Effect.catchIf(
            isRefused,
            () =>
              others.length === 0
                ? loseTaken(only)
                // Some may have been released meanwhile.
                : Effect.forEach(some.filter(isStillHeld), (tree) => renew([tree]), { discard: true })
          )
        )
      })

    const renewal = Effect.suspend(() => renew(held.all())).pipe(
      Effect.catchAll(({ message }) =>
        Effect.logWarning("The leases of the held sessions could not be renewed", message)
      ),
      Effect.zipRight(Effect.sync(pace.roundEnded))
    )

    const isEnded = (holder: string) => holder === owner.id ? Effect.succeed(true) : owner.isGone(holder)
    const isFree = ({ owner: holder }: StoredLease) => holder === undefined ? Effect.succeed(true) : isEnded(holder)

    const other = (rootID: SessionID) =>
      Effect.gen(function*() {
        if (held.get(rootID) !== undefined) return undefined
        const stored = Option.getOrUndefined(yield* storage.lease(rootID))
        return stored === undefined || isOver(stored) || (yield* isFree(stored)) ? undefined : stored.owner
      })

    /** Those of the trees that no process holds. */
    const findDue = (rootIDs: ReadonlyArray<SessionID>) =>
      Effect.gen(function*() {
        const others = rootIDs.filter((rootID) => held.get(rootID) === undefined && !leaving.has(rootID))
        const stored = yield* storage.leases(others)
        // Many trees have the same holder.
        const owners = new Set([...stored.values()].flatMap((lease) => lease.owner ?? []))
        const gone = new Set(yield* Effect.filter(owners, isEnded))
        const before = observations
        observations = new Map()
        due = new Map()
        for (const [rootID, lease] of stored) {
          const isLost = lease.owner === undefined || gone.has(lease.owner)
          const observed = isLost ? undefined : observe(lease, elapsed(clock), before.get(rootID))
          if (observed !== undefined) observations.set(rootID, observed)
          if (isLost || (isOver(lease) && (observed?.unchanged ?? 0) >= watchTime)) due.set(rootID, lease)
        }
        return others.filter((rootID) => due.has(rootID))
      })

    /** What is known of the lease of another when this process begins to wait for it. */
    const watched = (rootID: SessionID): Observed | undefined => {
      const observed = observations.get(rootID)
      return observed === undefined ? undefined : { ...observed, isRenewed: false }
    }

    /** Acquires a tree whose lease is still as it was found; else fails with reason `held`. */
    const takeFrom = (rootID: SessionID, found: StoredLease): Effect.Effect<Held, StorageError> =>
      Effect.gen(function*() {
        const lease: Lease = { rootID, owner: owner.id, epoch: found.epoch + 1 }
        const renewed = moment()
        yield* storage.commit([{ _tag: "Hold", lease, length: pace.length(), found }])
        // From here on the other one stores nothing. Its commands must not go on either.
        const isLeft = found.owner === undefined || found.owner === owner.id
        const lingers = !isLeft && !(yield* owner.evict(found.owner, rootID))
        // Another process changed the tree since: forget it before anyone here uses it.
        const isKnown = epochs.get(rootID) === found.epoch && (found.owner ?? owner.id) === owner.id
        if (!isKnown) yield* stale(rootID)
        epochs.set(rootID, lease.epoch)
        const taken = isKnown || found.owner === owner.id ? undefined : { from: found.owner }
        return held.keep(lease, renewed, { lingers, taken })
      })

    /** Acquires a tree. Waits, since `since`, for a holder that may be about to release it, or may be dead. */
    const take = (rootID: SessionID, since: number, before?: Observed): Effect.Effect<() => void, StorageError> =>
      Effect.gen(function*() {
        const stored = yield* storage.lease(rootID)
        if (Option.isNone(stored)) return yield* Effect.as(stale(rootID), () => {})
        const found = stored.value
        if (!(yield* isFree(found))) {
          const observed = observe(found, elapsed(clock), before)
          const isAlive = observed.isRenewed && !isOver(found)
          if (isAlive && observed.at - since >= holderWait) return yield* heldElsewhere(rootID, found.owner)
          if (!isOver(found) || observed.unchanged < watchTime) {
            yield* Effect.interruptible(Effect.sleep(pollInterval))
            return yield* take(rootID, since, observed)
          }
        }
        const taking = Effect.map(takeFrom(rootID, found), (tree) => held.use(tree))
        return yield* Effect.catchIf(taking, isRefused, () => take(rootID, since))
      })

    /** Acquires a tree if nobody held it at the last look. Waits for nobody. */
    const claim = (rootID: SessionID): Effect.Effect<boolean, StorageError> =>
      Effect.suspend(() => {
        const found = due.get(rootID)
        if (found === undefined || leaving.has(rootID) || held.get(rootID) !== undefined) return Effect.succeed(false)
        due.delete(rootID)
        return takeFrom(rootID, found).pipe(Effect.as(true), Effect.catchIf(isRefused, () => Effect.succeed(false)))
      })

    const acquire = (rootID: SessionID): Effect.Effect<() => void, StorageError> =>
      Effect.suspend(() => {
        const error = leaving.get(rootID)
        if (error !== undefined) return error
        const tree = held.get(rootID)
        // If another process may have taken it over, a renewal finds out.
        if (tree !== undefined && isCertain(tree)) return Effect.succeed(held.use(tree))
        return withLock(
          rootID,
          Effect.gen(function*() {
            const present = held.get(rootID)
            if (present !== undefined && !isCertain(present)) yield* renew([present])
            if (present !== undefined && held.get(rootID) === present) return held.use(present)
            // It may have been lost while this waited, and what ends of it here would count as this holder's.
            const lost = leaving.get(rootID)
            return yield* lost ?? take(rootID, elapsed(clock), watched(rootID))
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

    if (isShared) yield* Effect.forkScoped(Effect.forever(Effect.zipRight(Effect.sleep(renewalInterval), renewal)))

    const leases = {
      machine: machineOfOwner(owner.id),
      note: (id: SessionID, rootID: SessionID) => void trees.set(id, rootID),
      forget: (id: SessionID) => {
        trees.delete(id)
        removed.delete(id)
        if (held.get(id) === undefined) epochs.delete(id)
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
          return Effect.map(store({ _tag: "Hold", lease, length: pace.length(), found }), () => {
            epochs.set(rootID, lease.epoch)
            held.keep(lease, renewed)
          })
        }),
      remove: <E>(ids: readonly [SessionID, ...ReadonlyArray<SessionID>], store: Effect.Effect<void, E>) =>
        Effect.uninterruptibleMask((restore) => {
          for (const id of ids) removed.add(id)
          flights.noteLate(removed)
          return Effect.onExit(restore(store), (exit) =>
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
      holdsAny: () => held.all().length > 0,
      isUsed: (rootID: SessionID) => (held.get(rootID)?.uses ?? 0) > 0,
      release: (rootID: SessionID) =>
        Effect.suspend(() => {
          const tree = held.get(rootID)
          return tree === undefined ? Effect.succeed(false) : releaseIdle(tree)
        }),
      epoch: (rootID: SessionID) => held.get(rootID)?.lease.epoch ?? 0,
      renew: (rootID: SessionID) =>
        Effect.suspend(() => {
          const tree = held.get(rootID)
          if (tree !== undefined && isCertain(tree)) return Effect.succeed(timeLeft(tree))
          const left = Effect.suspend(() => {
            const present = held.get(rootID)
            return present === undefined ? heldByAnother("renew", { rootID }) : Effect.succeed(timeLeft(present))
          })
          return tree === undefined ? left : Effect.zipRight(renew([tree]), left)
        }),
      other,
      holder: (rootID: SessionID) =>
        Effect.suspend(() => held.get(rootID) === undefined ? other(rootID) : Effect.succeed(owner.id)),
      due: findDue,
      claim: (rootID: SessionID) => Effect.uninterruptible(withLock(rootID, claim(rootID))),
      abandon: (rootID: SessionID, error: StorageError) =>
        Effect.sync(() => {
          const tree = held.get(rootID)
          if (!isShared || tree === undefined) return
          lose(tree, error, Effect.logError(`The work in ${rootID} has stopped. ${error.message}`))
        }),
      failure: (rootID: SessionID) => leaving.get(rootID) ?? heldByAnother("hold", { rootID }),
      hasOrphanProcesses: (rootID: SessionID) => held.get(rootID)?.lingers === true,
      leave: (rootID: SessionID, last: () => ReadonlyArray<Write> = () => []) =>
        Effect.suspend(() => {
          const tree = held.get(rootID)
          if (tree === undefined || !held.drop(tree)) return Effect.void
          leaving.set(rootID, heldByAnother("hold", { rootID }))
          const writes = last()
          // Release only after everything of the tree has ended here.
          return stale(rootID).pipe(
            Effect.zipRight(writes.length === 0 ? Effect.void : storeLast(tree.lease, writes)),
            Effect.zipRight(release([tree.lease])),
            Effect.ensuring(Effect.sync(() => {
              leaving.delete(rootID)
              // A reader may have read the tree before its last state was stored.
              epochs.delete(rootID)
            }))
          )
        }).pipe(Effect.uninterruptible),
      continued: (rootID: SessionID) => {
        const tree = held.get(rootID)
        if (tree?.taken === undefined) return
        const { from } = tree.taken
        tree.taken = undefined
        takenOver(rootID, from)
      },
      ...register
    }
    return { leases, storage: { ...storage, commit }, health: yield* makeHealth(watch, isShared) }
  })
