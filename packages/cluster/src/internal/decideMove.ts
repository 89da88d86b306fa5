/** Decides which tree moves from a runner with too much work to another one, and when. It has no clock and asks nobody. */
import type { SessionID } from "@skein/domain/Id"

/** How many agents could work at a runner, and how many may. */
export interface Burden {
  readonly wanted: number
  readonly limit: number
}

/** Another runner. */
export interface Other extends Burden {
  readonly url: string
}

/** A tree at this runner, and how many of its agents could work. */
export interface Movable {
  readonly rootID: SessionID
  readonly slots: number
}

/** A tree, and where it goes. */
export interface Move extends Movable {
  readonly url: string
}

/** How many times as busy as the other one a runner must be, in proportion to their limits. */
const clear = 2

/** How long the imbalance must last before a tree moves, in milliseconds. */
const settling = 3_000

/** How long a tree stays after it has moved, or could not be moved, in milliseconds. */
const treeRest = 30_000

/** How long a runner is not asked after it has refused, or did not answer, in milliseconds. */
const runnerRest = 10_000

/**
 * The move that relieves a runner whose agents wait because of its own limit: of the runners that are clearly less busy, the
 * one with most room, and the largest tree for which that has room. So no runner gets agents that have to wait there.
 */
export const bestMove = (
  own: Burden,
  trees: ReadonlyArray<Movable>,
  others: ReadonlyArray<Other>
): Move | undefined => {
  if (own.wanted <= own.limit) return undefined
  const room = ({ limit, wanted }: Burden) => limit - wanted
  const isClear = ({ limit, wanted }: Burden) => own.wanted * limit > clear * wanted * own.limit
  const targets = others.filter((other) => room(other) > 0 && isClear(other)).toSorted((a, b) => room(b) - room(a))
  const [target] = targets
  if (target === undefined) return undefined
  const [tree] = trees.filter(({ slots }) => slots > 0 && slots <= room(target)).toSorted((a, b) => b.slots - a.slots)
  return tree === undefined ? undefined : { ...tree, url: target.url }
}

/** What one runner has decided, and what it waits for. Times are milliseconds of any clock that only moves forward. */
export class MoveDecision {
  /** Since when a tree should move. */
  #since: number | undefined
  readonly #trees = new Map<SessionID, number>()
  readonly #runners = new Map<string, number>()

  /** A tree has arrived from another runner, or could not leave: it stays for a while. */
  rest(rootID: SessionID, now: number): void {
    this.#trees.set(rootID, now + treeRest)
  }

  /** A runner took nothing: it is left alone for a while. */
  leaveAlone(url: string, now: number): void {
    this.#runners.set(url, now + runnerRest)
  }

  /** The tree that moves now, if one should have for some seconds. After that, the next one takes as long. */
  next(
    now: number,
    own: Burden,
    trees: ReadonlyArray<Movable>,
    others: ReadonlyArray<Other>
  ): Move | undefined {
    for (const [rootID, until] of this.#trees) if (until <= now) this.#trees.delete(rootID)
    for (const [url, until] of this.#runners) if (until <= now) this.#runners.delete(url)
    const move = bestMove(
      own,
      trees.filter(({ rootID }) => !this.#trees.has(rootID)),
      others.filter(({ url }) => !this.#runners.has(url))
    )
    this.#since = move === undefined ? undefined : this.#since ?? now
    if (this.#since === undefined || now - this.#since < settling) return undefined
    this.#since = undefined
    return move
  }
}
