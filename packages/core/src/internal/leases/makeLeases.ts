/** Leases as they are kept: taken with a commit, renewed while they last, and let go when nothing of a tree goes on. */
import type { SessionID } from "@skein/domain/Id"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as ExecutionStrategy from "effect/ExecutionStrategy"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Runtime from "effect/Runtime"
import * as Scope from "effect/Scope"
import { failpoint } from "../../Failpoints.ts"
import type { Leases } from "../../Leases.ts"
import { Owner } from "../../Owner.ts"
import { type Lease, SessionStorage, type StoredLease, type Write } from "../../SessionStorage.ts"
import { heldByAnother, StorageError } from "../../StorageError.ts"
import { sessionOf } from "./treesOf.ts"

/** For how long a tree is held at a time (ms), and how often that is renewed: a process may stand still in between. */
const duration = 15_000
const pace = duration / 3

/** How much of a lease is left at least when something begins that cannot be undone (ms): clocks differ. */
const margin = 2_000

/** How long a tree is kept that nothing goes on in (ms): the next prompt may be about to come. */
const linger = 250

/** How long somebody is waited for who may be about to let go, and how often that is looked for. */
const patience = 2_000
const look = 100

type Fence = Extract<Write, { readonly _tag: "Fence" }>

/** A tree that is held. */
interface Held {
  readonly lease: Lease
  until: number
  uses: number
  /** When it was last used (ms). */
  rested: number
  isResting: boolean
}

const busy = (rootID: SessionID, owner: string | undefined) =>
  new StorageError({
    operation: "hold",
    reason: "held",
    message:
      `The session ${rootID} is at work in another process (${owner}). Wait for that, stop it there, or go on with a copy: skein run --fork -s ${rootID}.`
  })

/** Makes the service, and the storage that goes with it. */
export const makeLeases = <A>(
  give: (leases: Context.Tag.Service<Leases>, storage: Context.Tag.Service<SessionStorage>) => A
) =>
  Effect.gen(function*() {
    const storage = yield* SessionStorage
    const owner = yield* Owner
    const clock = yield* Effect.clock
    const scope = yield* Effect.scope
    const now = () => clock.unsafeCurrentTimeMillis()
    const isShared = storage.mail !== undefined
    /** Where no other process has access, nothing runs out. */
    const lasting = () => isShared ? now() + duration : Number.MAX_SAFE_INTEGER
    /** The tree of each session in memory. */
    const trees = new Map<SessionID, SessionID>()
    const held = new Map<SessionID, Held>()
    /** The epoch in which each tree was last held here. */
    const epochs = new Map<SessionID, number>()
    const turns = new Map<SessionID, Effect.Semaphore>()
    const listeners: Array<(rootID: SessionID) => Effect.Effect<void>> = []

    const inTurn = <B, E>(rootID: SessionID, effect: Effect.Effect<B, E>) => {
      let turn = turns.get(rootID)
      if (turn === undefined) turns.set(rootID, turn = Effect.unsafeMakeSemaphore(1))
      return turn.withPermits(1)(effect)
    }

    const hands = yield* Scope.fork(scope, ExecutionStrategy.parallel)
    const runtime = yield* Effect.runtime<never>()
    const begin = (effect: Effect.Effect<void>) => {
      Runtime.runFork(runtime)(effect, { scope: hands })
    }

    /** Ends what runs of a tree that another has taken over. Nobody who runs for the tree waits for it. */
    const lose = (tree: Held): Effect.Effect<void> =>
      Effect.sync(() => {
        const { rootID } = tree.lease
        if (held.get(rootID) !== tree) return
        held.delete(rootID)
        begin(Effect.zipRight(
          Effect.logError(`The session ${rootID} was taken over by another process: what runs of it here is ended.`),
          Effect.forEach(listeners, (lost) => lost(rootID), { discard: true })
        ))
      })

    const renewOne = (tree: Held, until: number) =>
      storage.commit([{ _tag: "Renew", lease: tree.lease, until }]).pipe(
        Effect.map(() => {
          tree.until = until
        }),
        Effect.catchIf((error) => error.reason === "held", () => lose(tree))
      )

    const renew = Effect.suspend(() => {
      const all = [...held.values()]
      if (all.length === 0) return Effect.void
      const until = lasting()
      return storage.commit(all.map(({ lease }) => ({ _tag: "Renew", lease, until }))).pipe(
        Effect.map(() => {
          for (const tree of all) tree.until = until
        }),
        Effect.catchIf(
          (error) => error.reason === "held",
          () => Effect.forEach(all, (tree) => renewOne(tree, until), { discard: true })
        )
      )
    }).pipe(
      Effect.catchAll((error) => Effect.logWarning("What is held could not be renewed", error.message))
    )

    /** Lets go of a tree once nothing has gone on in it for a moment. */
    const rest = (tree: Held): Effect.Effect<void> =>
      Effect.suspend(() => {
        const { rootID } = tree.lease
        if (tree.uses > 0 || held.get(rootID) !== tree) {
          tree.isResting = false
          return Effect.void
        }
        const left = tree.rested + linger - now()
        if (left > 0) return Effect.zipRight(Effect.sleep(left), rest(tree))
        return Effect.uninterruptible(inTurn(
          rootID,
          Effect.suspend(() => {
            if (tree.uses > 0 || held.get(rootID) !== tree) return rest(tree)
            held.delete(rootID)
            return Effect.catchAll(
              storage.commit([{ _tag: "Release", lease: tree.lease }]),
              (error) =>
                Effect.logWarning("A session could not be let go; that happens when its lease runs out", error.message)
            )
          })
        ))
      })

    const arm = (tree: Held) => {
      tree.rested = now()
      if (tree.isResting) return
      tree.isResting = true
      begin(rest(tree))
    }

    const keep = (lease: Lease, until: number) => {
      const tree: Held = { lease, until, uses: 0, rested: now(), isResting: false }
      held.set(lease.rootID, tree)
      epochs.set(lease.rootID, lease.epoch)
      arm(tree)
    }

    const use = (rootID: SessionID) => {
      const tree = held.get(rootID)
      if (tree === undefined) return () => {}
      tree.uses++
      let isOver = false
      return () => {
        if (isOver) return
        isOver = true
        if (--tree.uses === 0 && held.get(rootID) === tree) arm(tree)
      }
    }

    const isFree = ({ owner: other, until }: StoredLease) =>
      other === undefined || other === owner.id || until <= now() ? Effect.succeed(true) : owner.isGone(other)

    const take = (rootID: SessionID, since: number): Effect.Effect<boolean, StorageError> =>
      Effect.gen(function*() {
        const stored = yield* storage.lease(rootID)
        if (Option.isNone(stored)) return true
        const found = stored.value
        if (!(yield* isFree(found))) {
          if (now() - since >= patience) return yield* busy(rootID, found.owner)
          yield* Effect.sleep(look)
          return yield* take(rootID, since)
        }
        const lease: Lease = { rootID, owner: owner.id, epoch: found.epoch + 1 }
        const until = lasting()
        return yield* Effect.uninterruptible(
          Effect.map(storage.commit([{ _tag: "Hold", lease, until, found }]), () => {
            const isKnown = epochs.get(rootID) === found.epoch && (found.owner ?? owner.id) === owner.id
            keep(lease, until)
            return !isKnown
          })
        ).pipe(Effect.catchIf((error) => error.reason === "held", () => take(rootID, since)))
      })

    const hold = (rootID: SessionID) =>
      Effect.suspend(() => {
        const tree = held.get(rootID)
        // Nobody else took it over in the time of its lease; after that, a renewal shows whether somebody did.
        if (tree !== undefined && tree.until > now()) return Effect.succeed(false)
        return inTurn(
          rootID,
          Effect.suspend(() => {
            const present = held.get(rootID)
            if (present === undefined) return take(rootID, now())
            return present.until > now()
              ? Effect.succeed(false)
              : Effect.flatMap(
                renewOne(present, lasting()),
                () => held.get(rootID) === present ? Effect.succeed(false) : take(rootID, now())
              )
          })
        )
      })

    const isFresh = (rootID: SessionID) =>
      Effect.suspend(() => {
        if (held.has(rootID)) return Effect.succeed(true)
        return Effect.map(
          storage.lease(rootID),
          (stored) => Option.isSome(stored) && stored.value.epoch === (epochs.get(rootID) ?? 0)
        )
      })

    /** What a commit has to say besides: that every tree that it changes is held. */
    const fences = (writes: ReadonlyArray<Write>): ReadonlyArray<Fence> | Lease => {
      const found: Array<Fence> = []
      const seen = new Set<SessionID>()
      for (const write of writes) {
        const session = sessionOf(write)
        const rootID = session === undefined ? undefined : trees.get(session)
        if (rootID === undefined || seen.has(rootID)) continue
        seen.add(rootID)
        const tree = held.get(rootID)
        if (tree === undefined) return { rootID, owner: owner.id, epoch: epochs.get(rootID) ?? 0 }
        found.push({ _tag: "Fence", lease: tree.lease })
      }
      return found
    }

    const commit = (writes: ReadonlyArray<Write>) =>
      Effect.suspend(() => {
        const guard = fences(writes)
        if ("rootID" in guard) return Effect.fail(heldByAnother("commit", guard))
        if (guard.length === 0) return storage.commit(writes)
        return Effect.tapError(storage.commit([...guard, ...writes]), (error) =>
          error.reason === "held"
            ? Effect.forEach(guard, ({ lease }) => recheck(lease), { discard: true })
            : Effect.void)
      })

    /** Of several trees in a refused commit one was lost; which, a renewal shows. */
    const recheck = ({ rootID }: Lease) =>
      Effect.suspend(() => {
        const tree = held.get(rootID)
        return tree === undefined ? Effect.void : Effect.ignoreLogged(renewOne(tree, tree.until))
      })

    if (isShared) yield* Effect.forkScoped(Effect.forever(Effect.zipRight(Effect.sleep(pace), renew)))
    // All that ran has ended by now.
    yield* Effect.addFinalizer(() =>
      Effect.suspend(() => {
        const all = [...held.values()].map(({ lease }): Write => ({ _tag: "Release", lease }))
        held.clear()
        return all.length === 0
          ? Effect.void
          : Effect.catchAll(
            Effect.zipRight(failpoint("shutdown_drain"), storage.commit(all)),
            (error) =>
              Effect.logWarning(
                "What was held could not be let go; that happens when the leases run out",
                error.message
              )
          )
      })
    )
    yield* Effect.addFinalizer(() => Scope.close(hands, Exit.void))

    const leases: Context.Tag.Service<Leases> = {
      note: (id, rootID) => void trees.set(id, rootID),
      forget: (id) => void trees.delete(id),
      hold,
      isFresh,
      begin: (rootID, store) =>
        Effect.suspend(() => {
          const lease: Lease = { rootID, owner: owner.id, epoch: 1 }
          const until = lasting()
          const found = { owner: undefined, epoch: 0, until: 0 }
          return Effect.map(store({ _tag: "Hold", lease, until, found }), () => keep(lease, until))
        }),
      use,
      epoch: (rootID) => held.get(rootID)?.lease.epoch ?? 0,
      renew: (rootID) =>
        Effect.suspend(() => {
          const tree = held.get(rootID)
          if (tree !== undefined && tree.until > now() + margin) return Effect.void
          const lease = tree?.lease ?? { rootID, owner: owner.id, epoch: 0 }
          const lost = Effect.suspend(() => held.has(rootID) ? Effect.void : heldByAnother("renew", lease))
          return tree === undefined ? lost : Effect.zipRight(renewOne(tree, lasting()), lost)
        }),
      onLost: (lost) => void listeners.push(lost)
    }
    return give(leases, { ...storage, commit })
  })
