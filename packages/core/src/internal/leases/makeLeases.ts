/** The lifecycle of leases: acquired with a commit, renewed while in use, and released once the tree is idle. */
import type { SessionID } from "@skein/domain/Id"
import type { Holder } from "@skein/domain/TreeSnapshot"
import type * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FiberSet from "effect/FiberSet"
import * as Option from "effect/Option"
import { failpoint } from "../../Failpoints.ts"
import { isOver, type Lease, leaseLength, longestOwn, type StoredLease } from "../../Lease.ts"
import { changeTrees, countLost } from "../../Metrics.ts"
import { type AwakeTime, awakeTime, between, later, steadyTime, wallTime } from "../../MonotonicClock.ts"
import { holderOf, machineOfOwner, Owner } from "../../Owner.ts"
import { SessionStorage } from "../../SessionStorage.ts"
import { heldByAnother, isOutage, StorageError } from "../../StorageError.ts"
import type { Hold, Write } from "../../Write.ts"
import { makeGuard, type Member } from "./guard.ts"
import { makeHealth, StorageWatch, watchedStorage } from "./storageWatch.ts"
import {
  type Held,
  isCertain,
  isDue,
  knownOf,
  next,
  type Renewal,
  renewalInterval,
  see,
  type Seen,
  type TreeEvent,
  type TreeState,
  unknown
} from "./TreeState.ts"

/** How long an idle tree is kept (ms), because the next prompt may follow soon. */
const idleTime = 250

/** How long to wait for a live holder, which may be about to release the tree, and how often to read its lease (ms). */
const holderWait = 2_000
const pollInterval = 100

/** How much longer a lease is for each millisecond by which renewals were late: the next ones may be later still. */
const caution = 3

/** From here on, more delay makes leases no longer (ms). */
const mostLate = (longestOwn - leaseLength) / caution

/**
 * From here on a process whose commits do not end renews no leases (ms): others take its trees up. Commits end, or fail,
 * within 30 seconds, also if the database is restarted.
 */
const longestStall = 35_000

const isRefused = (error: StorageError): boolean => error.reason === "held"

/** Another process holds the tree; `owner` names it, with its address if it is a server. */
const heldElsewhere = (rootID: SessionID, owner: string | undefined) => {
  const { host, pid, url }: Holder = owner === undefined ? {} : holderOf(owner)
  const who = pid === undefined ? "" : ` (process ${pid} on the host ${host})`
  const message = url === undefined
    ? `Another process works in the session ${rootID}${who}. Wait for it, or stop it with \`skein sessions stop ${rootID}\`. \`skein run --fork -s ${rootID} "…"\` continues a copy instead.`
    : `The server at ${url} works in the session ${rootID}. Work through it: skein run --attach=${url} -s ${rootID}, with its token in SKEIN_TOKEN. Or continue with a copy: skein run --fork -s ${rootID}.`
  return new StorageError({ operation: "hold", reason: "held", message })
}

/** Commits hang, and will not even fail. */
const stalled = () =>
  new StorageError({
    operation: "commit",
    reason: "busy",
    message: `Nothing could be stored for ${
      longestStall / 1_000
    } seconds. Check that the database is running, then try again.`
  })

/** Decides how long leases are: longer while this process renews them late. Delays count half as much after each further round. */
const makePace = (clock: Clock.Clock) => {
  let late = 0
  let last = awakeTime(clock)
  return {
    /** How long a lease has to be now (ms). */
    length: () => leaseLength + Math.round(caution * late),
    /** To be called after each round of renewals, also a failed one. */
    roundEnded: () => {
      const now = awakeTime(clock)
      late = Math.min(mostLate, Math.max(between(last, now) - renewalInterval, late / 2))
      last = now
    }
  }
}

type Told = (rootID: SessionID) => Effect.Effect<void>

/** Those who listen to what happens to leases; `Leases` describes each case. */
const makeListeners = () => {
  const stale: Array<Told> = []
  const released: Array<Told> = []
  const renewed: Array<(rootID: SessionID, left: number) => void> = []
  const takenOver: Array<(rootID: SessionID, from: string | undefined) => void> = []
  const outage: Array<(rootIDs: ReadonlyArray<SessionID>) => void> = []
  return {
    /** What listeners call. */
    register: {
      onStale: (forget: Told) => void stale.push(forget),
      onReleased: (notify: Told) => void released.push(notify),
      onRenewed: (notify: (rootID: SessionID, left: number) => void) => void renewed.push(notify),
      onTakenOver: (notify: (rootID: SessionID, from: string | undefined) => void) => void takenOver.push(notify),
      onOutage: (notify: (rootIDs: ReadonlyArray<SessionID>) => void) => void outage.push(notify)
    },
    stale: (rootID: SessionID) => Effect.forEach(stale, (forget) => forget(rootID), { discard: true }),
    released: (rootID: SessionID) => Effect.forEach(released, (notify) => notify(rootID), { discard: true }),
    takenOver: (rootID: SessionID, from: string | undefined): void => {
      for (const notify of takenOver) notify(rootID, from)
    },
    renewed: (rootID: SessionID, left: number): void => {
      for (const notify of renewed) notify(rootID, left)
    },
    outage: (rootIDs: ReadonlyArray<SessionID>): void => {
      for (const notify of outage) notify(rootIDs)
    }
  }
}

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
    const moment = (): Renewal => ({ steady: steadyTime(clock), wall: wallTime(clock) })
    const pace = makePace(clock)
    const isShared = storage.mail !== undefined
    /** Whether no other process can have acquired a tree. Always true if no other process has access. */
    const isSafe = (tree: Held) => !isShared || isCertain(tree, moment())
    /** For how long nobody else can acquire a tree, in milliseconds: its lease ends later, as it was renewed later. */
    const timeLeft = ({ renewed }: Held) =>
      isShared ? Math.max(0, leaseLength - between(renewed.steady, steadyTime(clock))) : Number.POSITIVE_INFINITY
    const { outage, register, released, renewed: toldRenewed, stale, takenOver } = makeListeners()

    /** The trees of which something is known. */
    const trees = new Map<SessionID, TreeState>()
    /** The sessions in memory. */
    const members = new Map<SessionID, Member>()

    const stateOf = (rootID: SessionID): TreeState => trees.get(rootID) ?? unknown
    const heldOf = (rootID: SessionID): Held | undefined => {
      const state = trees.get(rootID)
      return state?._tag === "Held" ? state : undefined
    }
    const allHeld = (): ReadonlyArray<Held> => [...trees.values()].filter((state) => state._tag === "Held")

    /** Something happens to a tree; false if it does not fit its state. */
    const tell = (rootID: SessionID, event: TreeEvent): boolean => {
      const before = stateOf(rootID)
      const after = next(before, event)
      if (after === before) return false
      if (after._tag === "Free" && after.known === undefined && after.seen === undefined) trees.delete(rootID)
      else trees.set(rootID, after)
      const change = Number(after._tag === "Held") - Number(before._tag === "Held")
      if (change !== 0) changeTrees(change)
      return true
    }

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
    const releaseIdle = (lease: Lease): Effect.Effect<boolean> =>
      Effect.uninterruptible(Effect.suspend(() => {
        const { rootID } = lease
        const over = Effect.unsafeMakeLatch()
        if (!tell(rootID, { _tag: "Idle", lease, over })) return Effect.succeed(false)
        return release([lease]).pipe(
          Effect.zipRight(released(rootID)),
          Effect.ensuring(Effect.suspend(() => {
            tell(rootID, { _tag: "Released" })
            return over.open
          })),
          Effect.as(true)
        )
      }))

    // Runs after everything that uses the trees has ended.
    yield* Effect.addFinalizer(() =>
      Effect.suspend(() => {
        const all = allHeld().map(({ lease }) => lease)
        for (const { rootID } of all) tell(rootID, { _tag: "Deleted" })
        return all.length === 0 ? Effect.void : Effect.zipRight(failpoint("shutdown_drain"), release(all))
      })
    )
    const run = yield* FiberSet.makeRuntime<never>()

    /** When each held tree that is not in use becomes idle; a fiber waits for that. */
    const idle = new Map<Lease, AwakeTime>()
    const releaseWhenIdle = (lease: Lease): Effect.Effect<void> =>
      Effect.suspend(() => {
        const tree = heldOf(lease.rootID)
        if (tree?.lease !== lease || tree.users > 0) {
          idle.delete(lease)
          return Effect.void
        }
        const now = awakeTime(clock)
        const left = between(now, idle.get(lease) ?? now)
        return Effect.zipRight(left > 0 ? Effect.sleep(left) : releaseIdle(lease), releaseWhenIdle(lease))
      })
    const becomesIdle = (lease: Lease) => {
      const isWaiting = idle.has(lease)
      idle.set(lease, later(awakeTime(clock), idleTime))
      if (!isWaiting) run(releaseWhenIdle(lease))
    }

    const keep = (lease: Lease, renewed: Renewal, more: Pick<Held, "lingers" | "from"> = {}): void => {
      tell(lease.rootID, { _tag: "Acquired", taken: { lease, renewed, ...more } })
      becomesIdle(lease)
    }

    /** Keeps a held tree in use until you call what it returns. */
    const use = ({ lease }: Held): () => void => {
      const { rootID } = lease
      tell(rootID, { _tag: "Used" })
      let isUsed = true
      return () => {
        if (!isUsed) return
        isUsed = false
        tell(rootID, { _tag: "Unused", lease })
        const tree = heldOf(rootID)
        if (tree?.lease === lease && tree.users === 0) becomesIdle(lease)
      }
    }

    /** Ends what runs here of a lost tree, because of `error`. Forked, because a fiber of the tree may call it. */
    const lose = ({ lease }: Held, error: StorageError, told: Effect.Effect<void>): boolean => {
      const { rootID } = lease
      // A tree that was deleted here was not taken over.
      const isDeleted = members.get(rootID)?.isRemoved === true
      if (!tell(rootID, isDeleted ? { _tag: "Deleted" } : { _tag: "Lost", lease, error }) || isDeleted) return false
      countLost()
      run(Effect.zipRight(
        told,
        Effect.ensuring(stale(rootID), Effect.sync(() => void tell(rootID, { _tag: "Ended" })))
      ))
      return true
    }

    const loseTaken = (tree: Held) =>
      Effect.sync(() => {
        const { rootID } = tree.lease
        // The turn that ends here says so to its caller. This line is for the log of a server.
        const told = Effect.logWarning(`The session ${rootID} was taken over by another process: its work here ends.`)
        lose(tree, heldByAnother("hold", { rootID }), told)
      })

    /**
     * Leaves all trees as a crash would, because nothing can be stored or read: their next holder resumes them, which may be
     * this process. What may still be stored is read again then. Before that error reaches anybody: nothing
     * of it may be stored as an end.
     */
    const leaveAll = (error: StorageError): Effect.Effect<void> =>
      Effect.suspend(() => {
        const lost = allHeld().filter((tree) => lose(tree, error, Effect.void))
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

    const renew = (some: ReadonlyArray<Held>): Effect.Effect<void, StorageError> =>
      Effect.suspend(() => {
        const [only, ...others] = some
        if (only === undefined) return Effect.void
        if (isShared && watch.stalled > longestStall) return leaveAll(stalled())
        const renewed = moment()
        const length = pace.length()
        return storage.commit(some.map(({ lease }) => ({ _tag: "Renew", lease, length }))).pipe(
          Effect.map(() => {
            const left = length - between(renewed.steady, steadyTime(clock))
            for (const { lease } of some) {
              tell(lease.rootID, { _tag: "Renewed", lease, at: renewed })
              toldRenewed(lease.rootID, left)
            }
          }),
          Effect.catchIf(
            isRefused,
            () =>
              others.length === 0
                ? loseTaken(only)
                // Some may have been released meanwhile.
                : Effect.forEach(
                  some.filter(({ lease }) => heldOf(lease.rootID)?.lease === lease),
                  (tree) => renew([tree]),
                  { discard: true }
                )
          )
        )
      })

    const renewal = Effect.suspend(() => renew(allHeld())).pipe(
      Effect.catchAll(({ message }) =>
        Effect.logWarning("The leases of the held sessions could not be renewed", message)
      ),
      Effect.zipRight(Effect.sync(pace.roundEnded))
    )

    const isEnded = (holder: string) => holder === owner.id ? Effect.succeed(true) : owner.isGone(holder)
    const isFree = ({ owner: holder }: StoredLease) => holder === undefined ? Effect.succeed(true) : isEnded(holder)

    const other = (rootID: SessionID) =>
      Effect.gen(function*() {
        if (heldOf(rootID) !== undefined) return undefined
        const stored = Option.getOrUndefined(yield* storage.lease(rootID))
        return stored === undefined || isOver(stored) || (yield* isFree(stored)) ? undefined : stored.owner
      })

    /** Those of the trees that no process holds. */
    const findDue = (rootIDs: ReadonlyArray<SessionID>) =>
      Effect.gen(function*() {
        const others = rootIDs.filter((rootID) => !["Held", "Lost"].includes(stateOf(rootID)._tag))
        const stored = yield* storage.leases(others)
        // Many trees have the same holder.
        const owners = new Set([...stored.values()].flatMap((lease) => lease.owner ?? []))
        const gone = new Set(yield* Effect.filter(owners, isEnded))
        const now = awakeTime(clock)
        for (const [rootID, state] of trees) {
          if (!stored.has(rootID) && state._tag === "Free") tell(rootID, { _tag: "Looked", seen: undefined })
        }
        const due = new Set<SessionID>()
        for (const [rootID, lease] of stored) {
          const state = stateOf(rootID)
          const before = state._tag === "Free" && state.seen?.isFree === false ? state.seen : undefined
          const seen = see(lease, lease.owner === undefined || gone.has(lease.owner), now, before)
          tell(rootID, { _tag: "Looked", seen })
          if (isDue(seen)) due.add(rootID)
        }
        return others.filter((rootID) => due.has(rootID))
      })

    /** Acquires a tree whose lease is still as it was found; else fails with reason `held`. */
    const takeFrom = (rootID: SessionID, found: StoredLease): Effect.Effect<void, StorageError> =>
      Effect.gen(function*() {
        const lease: Lease = { rootID, owner: owner.id, epoch: found.epoch + 1 }
        const renewed = moment()
        yield* storage.commit([{ _tag: "Hold", lease, length: pace.length(), found }])
        // From here on the other one stores nothing. Its commands must not go on either.
        const isLeft = found.owner === undefined || found.owner === owner.id
        const lingers = !isLeft && !(yield* owner.evict(found.owner, rootID))
        // Another process changed the tree since: forget it before anyone here uses it.
        const isKnown = isLeft && knownOf(stateOf(rootID)) === found.epoch
        if (!isKnown) yield* stale(rootID)
        keep(lease, renewed, {
          lingers,
          from: isKnown || found.owner === owner.id ? undefined : { owner: found.owner }
        })
      })

    /** Acquires a tree. Waits, since `since`, for a holder that may be about to release it, or may be dead. */
    const take = (rootID: SessionID, since: AwakeTime, before?: Seen): Effect.Effect<void, StorageError> =>
      Effect.gen(function*() {
        const stored = yield* storage.lease(rootID)
        if (Option.isNone(stored)) return yield* stale(rootID)
        const found = stored.value
        const seen = see(found, yield* isFree(found), awakeTime(clock), before)
        if (!isDue(seen)) {
          const isAlive = seen.isRenewed && !isOver(found)
          if (isAlive && between(since, seen.at) >= holderWait) return yield* heldElsewhere(rootID, found.owner)
          yield* Effect.interruptible(Effect.sleep(pollInterval))
          return yield* take(rootID, since, seen)
        }
        return yield* Effect.catchIf(takeFrom(rootID, found), isRefused, () => take(rootID, since))
      })

    /** Lets one fiber at a time acquire a tree. */
    const alone = <A>(rootID: SessionID, acquiring: Effect.Effect<A, StorageError>): Effect.Effect<A, StorageError> =>
      Effect.suspend(() => {
        const over = Effect.unsafeMakeLatch()
        tell(rootID, { _tag: "Wanted", over })
        return Effect.ensuring(
          acquiring,
          Effect.suspend(() => {
            tell(rootID, { _tag: "GivenUp" })
            return over.open
          })
        )
      })

    /** Acquires a tree if nobody held it at the last look. Waits for nobody. */
    const claim = (rootID: SessionID): Effect.Effect<boolean, StorageError> =>
      Effect.suspend(() => {
        const state = stateOf(rootID)
        if (state._tag !== "Free" || state.seen === undefined || !isDue(state.seen)) return Effect.succeed(false)
        const { lease } = state.seen
        tell(rootID, { _tag: "Looked", seen: undefined })
        const taking = Effect.as(alone(rootID, takeFrom(rootID, lease)), true)
        return Effect.catchIf(taking, isRefused, () => Effect.succeed(false))
      })

    const acquire = (rootID: SessionID): Effect.Effect<() => void, StorageError> =>
      Effect.suspend(() => {
        const state = stateOf(rootID)
        switch (state._tag) {
          case "Held":
            // If another process may have taken it over, a renewal finds out.
            return isSafe(state) ? Effect.succeed(use(state)) : Effect.flatMap(renew([state]), () => {
              const present = heldOf(rootID)
              return present?.lease === state.lease ? Effect.succeed(use(present)) : acquire(rootID)
            })
          case "Lost":
            return state.error
          case "Acquiring":
          case "Leaving":
            return Effect.zipRight(Effect.interruptible(state.over.await), acquire(rootID))
          case "Free": {
            // What is known when this process begins to wait for it.
            const before = state.seen?.isFree === false ? { ...state.seen, isRenewed: false } : undefined
            // In the moment in which it is acquired, so that nobody releases it before.
            const taken = Effect.map(take(rootID, awakeTime(clock), before), () => {
              const tree = heldOf(rootID)
              return tree === undefined ? () => {} : use(tree)
            })
            return alone(rootID, taken)
          }
        }
      })

    const commit = makeGuard(storage.commit, {
      memberOf: (id) => members.get(id),
      leaseOf: (rootID) => heldOf(rootID)?.lease,
      doubted: (rootID) =>
        Effect.suspend(() => {
          const tree = heldOf(rootID)
          return tree === undefined ? Effect.void : Effect.ignoreLogged(renew([tree]))
        })
    })

    if (isShared) yield* Effect.forkScoped(Effect.forever(Effect.zipRight(Effect.sleep(renewalInterval), renewal)))

    const leases = {
      machine: machineOfOwner(owner.id),
      note: (id: SessionID, rootID: SessionID) => void members.set(id, { id, rootID, isRemoved: false }),
      forget: (id: SessionID) => {
        members.delete(id)
        tell(id, { _tag: "Forgotten" })
      },
      hold: <A, E, R>(rootID: SessionID, effect: Effect.Effect<A, E, R>) =>
        Effect.acquireUseRelease(acquire(rootID), () => effect, (done) => Effect.sync(done)),
      isFresh: (rootID: SessionID) =>
        Effect.suspend(() => {
          if (heldOf(rootID) !== undefined) return Effect.succeed(true)
          return Effect.map(
            storage.lease(rootID),
            (stored) => Option.isSome(stored) && stored.value.epoch === (knownOf(stateOf(rootID)) ?? 0)
          )
        }),
      begin: <E>(rootID: SessionID, store: (hold: Hold) => Effect.Effect<void, E>) =>
        Effect.suspend(() => {
          const lease: Lease = { rootID, owner: owner.id, epoch: 1 }
          const renewed = moment()
          const found = { owner: undefined, epoch: 0, until: 0, left: 0 }
          return Effect.map(store({ _tag: "Hold", lease, length: pace.length(), found }), () => keep(lease, renewed))
        }),
      remove: <E>(ids: readonly [SessionID, ...ReadonlyArray<SessionID>], store: Effect.Effect<void, E>) =>
        Effect.uninterruptibleMask((restore) => {
          const gone = ids.flatMap((id) => members.get(id) ?? [])
          for (const each of gone) each.isRemoved = true
          return Effect.onExit(restore(store), (exit) =>
            Effect.sync(() => {
              if (Exit.isSuccess(exit)) return void tell(ids[0], { _tag: "Deleted" })
              for (const each of gone) each.isRemoved = false
            }))
        }),
      use: (rootID: SessionID) => {
        const tree = heldOf(rootID)
        return tree === undefined ? () => {} : use(tree)
      },
      holdsAny: () => allHeld().length > 0,
      isUsed: (rootID: SessionID) => (heldOf(rootID)?.users ?? 0) > 0,
      release: (rootID: SessionID) =>
        Effect.suspend(() => {
          const tree = heldOf(rootID)
          return tree === undefined ? Effect.succeed(false) : releaseIdle(tree.lease)
        }),
      epoch: (rootID: SessionID) => heldOf(rootID)?.lease.epoch ?? 0,
      renew: (rootID: SessionID) =>
        Effect.suspend(() => {
          const tree = heldOf(rootID)
          if (tree !== undefined && isSafe(tree)) return Effect.succeed(timeLeft(tree))
          const left = Effect.suspend(() => {
            const present = heldOf(rootID)
            return present === undefined ? heldByAnother("renew", { rootID }) : Effect.succeed(timeLeft(present))
          })
          return tree === undefined ? left : Effect.zipRight(renew([tree]), left)
        }),
      other,
      holder: (rootID: SessionID) =>
        Effect.suspend(() => heldOf(rootID) === undefined ? other(rootID) : Effect.succeed(owner.id)),
      due: findDue,
      claim: (rootID: SessionID) => Effect.uninterruptible(claim(rootID)),
      abandon: (rootID: SessionID, error: StorageError) =>
        Effect.sync(() => {
          const tree = heldOf(rootID)
          if (!isShared || tree === undefined) return
          lose(tree, error, Effect.logError(`The work in ${rootID} has stopped. ${error.message}`))
        }),
      failure: (rootID: SessionID) => {
        const state = stateOf(rootID)
        return state._tag === "Lost" ? state.error : heldByAnother("hold", { rootID })
      },
      hasOrphanProcesses: (rootID: SessionID) => heldOf(rootID)?.lingers === true,
      leave: (rootID: SessionID, last: () => ReadonlyArray<Write> = () => []) =>
        Effect.suspend(() => {
          const lease = heldOf(rootID)?.lease
          if (lease === undefined) return Effect.void
          tell(rootID, { _tag: "Lost", lease, error: heldByAnother("hold", { rootID }) })
          const writes = last()
          // Release only after everything of the tree has ended here.
          return stale(rootID).pipe(
            Effect.zipRight(writes.length === 0 ? Effect.void : storeLast(lease, writes)),
            Effect.zipRight(release([lease])),
            Effect.ensuring(Effect.sync(() => void tell(rootID, { _tag: "Ended" })))
          )
        }).pipe(Effect.uninterruptible),
      continued: (rootID: SessionID) => {
        const from = heldOf(rootID)?.from
        if (from === undefined) return
        tell(rootID, { _tag: "Continued" })
        takenOver(rootID, from.owner)
      },
      ...register
    }
    return { leases, storage: { ...storage, commit }, health: yield* makeHealth(watch, isShared) }
  })
