/** Decides how a limit on requests is divided among runners: fair over the trees that want them. */
import type { Demand } from "@skein/core/SharedGate"

/** What a runner wants of a limit. */
type Wish = Omit<Demand, "limit">

/** From this many places for each runner on, one is kept for each of those that want none, so that it need not wait. */
const roomy = 4

/**
 * Divides a limit; no share is larger than needed, unless something is left over. Who gets what cannot be divided changes
 * with `turn`, a number that counts up.
 */
export const divide = (limit: number, wishes: ReadonlyArray<Wish>, turn: number): ReadonlyArray<number> => {
  const least = limit >= roomy * wishes.length ? 1 : 0
  const wanted = wishes.map(({ held, waiting }) => held + waiting)
  const shares = wanted.map((each): number => each === 0 ? least : 0)
  let left = limit - shares.reduce((sum, each) => sum + each, 0)
  const give = (at: number, count: number) => {
    shares[at] = (shares[at] ?? 0) + count
    left -= count
  }
  const missing = (at: number) => (wanted[at] ?? 0) - (shares[at] ?? 0)
  const all = wishes.map((_, at) => at)
  for (let open = all; left > 0; open = open.filter((at) => missing(at) > 0)) {
    // What nobody wants now is divided evenly: the next request has it at once.
    const some = open.filter((at) => missing(at) > 0)
    const isSpare = some.length === 0
    const takers = isSpare ? all : some
    const weightOf = (at: number) => isSpare ? 1 : Math.max(1, wishes[at]?.roots ?? 1)
    const weights = takers.reduce((sum, at) => sum + weightOf(at), 0)
    const round = left
    for (const at of takers) {
      const part = Math.floor(round * weightOf(at) / weights)
      give(at, isSpare ? part : Math.min(part, missing(at)))
    }
    // Less than one place for each: some of them get it, in turn.
    if (left === round || isSpare) {
      const first = turn % takers.length
      for (const at of [...takers.slice(first), ...takers.slice(0, first)]) if (left > 0) give(at, 1)
    }
  }
  return shares
}
