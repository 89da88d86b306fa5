/** The trees that this process holds, for as long as something goes on in them and a moment longer. */
import type { SessionID } from "@skein/domain/Id"
import * as Effect from "effect/Effect"
import * as ExecutionStrategy from "effect/ExecutionStrategy"
import * as Exit from "effect/Exit"
import * as Runtime from "effect/Runtime"
import * as Scope from "effect/Scope"
import type { Lease } from "../../Lease.ts"
import { elapsed } from "../../MonotonicClock.ts"

/** How long a tree is kept that nothing goes on in (ms): the next prompt may be about to come. */
const linger = 250

/** A time on two clocks (ms): one that cannot be set, and one that goes on while the machine sleeps. */
export interface Moment {
  readonly steady: number
  readonly wall: number
}

/** A tree that is held. */
export interface Held {
  readonly lease: Lease
  /** When the renewal was sent that was acknowledged last, or the taking where there was none. */
  renewed: Moment
  uses: number
  /** When it was last used (ms). */
  rested: number
  isResting: boolean
}

/** What is held. */
export interface HeldTrees {
  readonly get: (rootID: SessionID) => Held | undefined
  readonly all: () => ReadonlyArray<Held>
  /** Puts a tree among them; one that nobody uses is let go soon. */
  readonly keep: (lease: Lease, renewed: Moment) => Held
  /** Takes a tree from among them; says whether it was. */
  readonly drop: (tree: Held) => boolean
  /** Marks that something goes on in a tree, until the function that it gives is called. */
  readonly use: (tree: Held) => () => void
  /** Begins something that nobody waits for; it ends with the scope. */
  readonly begin: (effect: Effect.Effect<void>) => void
}

/** Makes them; `letGo` is called for a tree in which nothing has gone on for a moment, and decides again. */
export const makeHeldTrees = (
  letGo: (tree: Held) => Effect.Effect<void>
): Effect.Effect<HeldTrees, never, Scope.Scope> =>
  Effect.gen(function*() {
    const clock = yield* Effect.clock
    const runtime = yield* Effect.runtime<never>()
    const scope = yield* Effect.acquireRelease(
      Scope.make(ExecutionStrategy.parallel),
      (made) => Scope.close(made, Exit.void)
    )
    const now = () => elapsed(clock)
    const trees = new Map<SessionID, Held>()
    const isHeld = (tree: Held) => trees.get(tree.lease.rootID) === tree
    const begin = (effect: Effect.Effect<void>) => void Runtime.runFork(runtime)(effect, { scope })

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
