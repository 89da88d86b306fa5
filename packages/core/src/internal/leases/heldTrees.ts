/**
 * Keeps the trees that this process holds: while they are in use, and a moment longer.
 *
 * An `RcMap` does not fit. It times idleness by the wall clock, which jumps. An old entry that was invalidated in use removes
 * the new entry of its key. And it keeps failed lookups. See docs/decisions/0053.
 */
import type { SessionID } from "@skein/domain/Id"
import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"
import type * as Scope from "effect/Scope"
import type { Lease } from "../../Lease.ts"
import { elapsed } from "../../MonotonicClock.ts"

/** How long an idle tree is kept (ms), because the next prompt may follow soon. */
const linger = 250

/** A time on two clocks (ms): one that nobody can set, and one that runs while the machine sleeps. */
export interface Moment {
  readonly steady: number
  readonly wall: number
}

/** A tree that is held. */
export interface Held {
  readonly lease: Lease
  /** When the last acknowledged renewal was sent; before the first one, when the tree was taken. */
  renewed: Moment
  uses: number
  /** When it was last used (ms). */
  rested: number
  isResting: boolean
}

/** The held trees. */
export interface HeldTrees {
  readonly get: (rootID: SessionID) => Held | undefined
  readonly all: () => ReadonlyArray<Held>
  /** Adds a tree. It is let go soon unless somebody uses it. */
  readonly keep: (lease: Lease, renewed: Moment) => Held
  /** Removes a tree; false where it is not held any more. */
  readonly drop: (tree: Held) => boolean
  /** Keeps a tree in use until you call the function that it returns. */
  readonly use: (tree: Held) => () => void
  /** Starts a fiber that ends with the scope. */
  readonly begin: (effect: Effect.Effect<void>) => void
}

/** Calls `letGo` for each tree that was idle for a moment; `letGo` looks again whether it still is. */
export const makeHeldTrees = (
  letGo: (tree: Held) => Effect.Effect<void>
): Effect.Effect<HeldTrees, never, Scope.Scope> =>
  Effect.gen(function*() {
    const clock = yield* Effect.clock
    const run = yield* FiberSet.makeRuntime<never>()
    const now = () => elapsed(clock)
    const trees = new Map<SessionID, Held>()
    const isHeld = (tree: Held) => trees.get(tree.lease.rootID) === tree
    const begin = (effect: Effect.Effect<void>) => void run(effect)

    const rest = (tree: Held): Effect.Effect<void> =>
      Effect.suspend(() => {
        if (tree.uses > 0 || !isHeld(tree)) {
          tree.isResting = false
          return Effect.void
        }
        const left = tree.rested + linger - now()
        return left > 0 ? Effect.zipRight(Effect.sleep(left), rest(tree)) : Effect.zipRight(letGo(tree), rest(tree))
      })

    const arm = (tree: Held) => {
      tree.rested = now()
      if (tree.isResting) return
      tree.isResting = true
      begin(rest(tree))
    }

    return {
      get: (rootID) => trees.get(rootID),
      all: () => [...trees.values()],
      keep: (lease, renewed) => {
        const tree: Held = { lease, renewed, uses: 0, rested: now(), isResting: false }
        trees.set(lease.rootID, tree)
        arm(tree)
        return tree
      },
      drop: (tree) => isHeld(tree) && trees.delete(tree.lease.rootID),
      use: (tree) => {
        tree.uses++
        let isOver = false
        return () => {
          if (isOver) return
          isOver = true
          if (--tree.uses === 0 && isHeld(tree)) arm(tree)
        }
      },
      begin
    }
  })
