/** Sums of what is held of budgets, kept up to date at each session in whose budget it counts. */
import type { Bound } from "@skein/domain/Budget"
import { plainDecimal } from "@skein/domain/Usage"
import * as BigDecimal from "effect/BigDecimal"
import { type Amount, zero } from "./amount.ts"

/** How much of each is held. */
export type Sums = Map<Bound, Amount>

/** What is held of the budget of a session, whether or not it has one. */
export interface Held {
  /** For tasks below it with a budget of their own: what they have not used of that. */
  readonly promised: Sums
  /** For requests under way, of its own and of those below that no promise covers. */
  readonly requested: Sums
}

/** Nothing is held. */
export const noneHeld = (): Held => ({ promised: new Map(), requested: new Map() })

/** How much is held. */
export const heldOf = (sums: Sums, bound: Bound): Amount => sums.get(bound) ?? zero

/** All that is held, as it is shown. */
export const keptBelow = ({ promised, requested }: Held): Partial<Record<Bound, string>> =>
  Object.fromEntries(
    [...new Set([...promised.keys(), ...requested.keys()])].map((bound) => [
      bound,
      plainDecimal(BigDecimal.sum(heldOf(promised, bound), heldOf(requested, bound)))
    ])
  )

/** Adds to what is held, or takes away from it. */
export const addHeld = (sums: Sums, bound: Bound, amount: Amount): void => {
  const sum = BigDecimal.sum(heldOf(sums, bound), amount)
  if (BigDecimal.isZero(sum)) sums.delete(bound)
  else sums.set(bound, sum)
}
