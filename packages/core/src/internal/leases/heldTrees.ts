/**
 * Holds trees while they are in use, and a moment longer.
 *
 * An `RcMap` does not fit. It times idleness by the wall clock, which jumps. An old entry that was invalidated in use
 * removes the new entry of its key. And it keeps failed lookups. See docs/decisions/0053.
 */
import type { SessionID } from "@skein/domain/Id"
import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"
import type * as Scope from "effect/Scope"
import type { Lease } from "../../Lease.ts"
import { changeTrees } from "../../Metrics.ts"
import { elapsed } from "../../MonotonicClock.ts"

/** How long an idle tree is kept (ms), because the next prompt may follow soon. */
const idleTime = 250

/** A time on two clocks (ms): a monotonic one, and the wall clock, which also runs while the machine sleeps. */
export interface Moment {
  readonly steady: number
  readonly wall: number
}

/** A held tree. */
export interface Held {
  readonly lease: Lease
  /** Whether commands of the holder before may still run. */
  readonly lingers: boolean
  /** Set until listeners know that unfinished work of another process continues here: that process, unless it left the tree. */
  taken: { readonly from: string | undefined } | undefined
  /** When the last acknowledged renewal was sent; before the first one, when the tree was acquired. */
  renewed: Moment
  uses: number
  /** When it was last used (ms). */
  lastUsed: number
  hasIdleTimer: boolean
}

/** The held trees. */
export interface HeldTrees {
  readonly get: (rootID: SessionID) => Held | undefined
  readonly all: () => ReadonlyArray<Held>
  /** Adds a tree, which is released soon unless it is used. */
  readonly keep: (lease: Lease, renewed: Moment, before?: Pick<Held, "lingers" | "taken">) => Held
  /** Removes a tree; false if it is no longer held. */
  readonly drop: (tree: Held) => boolean
  /** Keeps a tree in use until you call the returned function. */
  readonly use: (tree: Held) => () => void
  /** Starts a fiber that ends with the scope. */
  readonly begin: (effect: Effect.Effect<void>) => void
}

/** Calls `release` for each tree that was idle for a moment; `release` must check again whether it still is. */
export const makeHeldTrees = (
  release: (tree: Held) => Effect.Effect<void>
): Effect.Effect<HeldTrees, never, Scope.Scope> =>
  Effect.gen(function*() {
    const clock = yield* Effect.clock
    const run = yield* FiberSet.makeRuntime<never>()
    const now = () => elapsed(clock)
    const trees = new Map<SessionID, Held>()
    const isHeld = (tree: Held) => trees.get(tree.lease.rootID) === tree
    const begin = (effect: Effect.Effect<void>) => void run(effect)

    const releaseWhenIdle = (tree: Held): Effect.Effect<void> =>
      Effect.suspend(() => {
        if (tree.uses > 0 || !isHeld(tree)) {
          tree.hasIdleTimer = false
          return Effect.void
        }
        const left = tree.lastUsed + idleTime - now()
        return left > 0
          ? Effect.zipRight(Effect.sleep(left), releaseWhenIdle(tree))
          : Effect.zipRight(release(tree), releaseWhenIdle(tree))
      })

    const startIdleTimer = (tree: Held) => {
      tree.lastUsed = now()
      if (tree.hasIdleTimer) return
      tree.hasIdleTimer = true
      begin(releaseWhenIdle(tree))
    }

    return {
      get: (rootID) => trees.get(rootID),
      all: () => [...trees.values()],
      keep: (lease, renewed, before = { lingers: false, taken: undefined }) => {
        const tree: Held = { lease, ...before, renewed, uses: 0, lastUsed: now(), hasIdleTimer: false }
        if (!trees.has(lease.rootID)) changeTrees(1)
        trees.set(lease.rootID, tree)
        startIdleTimer(tree)
        return tree
      },
      drop: (tree) => {
        if (!isHeld(tree)) return false
        changeTrees(-1)
        return trees.delete(tree.lease.rootID)
      },
      use: (tree) => {
        tree.uses++
        let isOver = false
        return () => {
          if (isOver) return
          isOver = true
          if (--tree.uses === 0 && isHeld(tree)) startIdleTimer(tree)
        }
      },
      begin
    }
  })
