/** Sums of what is held, kept up to date at each session in whose budget it counts. */
import type { Bound } from "@skein/domain/Budget"
import { plainDecimal } from "@skein/domain/Usage"
import * as BigDecimal from "effect/BigDecimal"
import { type Amount, zero } from "./amount.ts"

/** How much of each is held. */
export class Sums {
  /** Most sessions hold nothing. */
  #amounts: Map<Bound, Amount> | undefined

  get(bound: Bound): Amount | undefined {
    return this.#amounts?.get(bound)
  }

  /** What is held. */
  get bounds(): ReadonlyArray<Bound> {
    return this.#amounts === undefined ? [] : [...this.#amounts.keys()]
  }

  /** Sets what is held; zero is nothing. */
  set(bound: Bound, amount: Amount): void {
    if (!BigDecimal.isZero(amount)) (this.#amounts ??= new Map()).set(bound, amount)
    else if (this.#amounts?.delete(bound) === true && this.#amounts.size === 0) this.#amounts = undefined
  }
}

/** What is held of a session's budget, whether or not it has one. */
export interface Held {
  /** For tasks below it with their own budget: the unused part. */
  readonly promised: Sums
  /** For open requests: its own, and those below that no reservation covers. */
  readonly requested: Sums
}

/** Nothing is held. */
export const noneHeld = (): Held => ({ promised: new Sums(), requested: new Sums() })

/** How much is held. */
export const heldOf = (sums: Sums, bound: Bound): Amount => sums.get(bound) ?? zero

/** Everything that is held, for display. */
export const keptBelow = ({ promised, requested }: Held): Partial<Record<Bound, string>> =>
  Object.fromEntries(
    [...new Set([...promised.bounds, ...requested.bounds])].map((bound) => [
      bound,
      plainDecimal(BigDecimal.sum(heldOf(promised, bound), heldOf(requested, bound)))
    ])
  )

/** Adds to what is held, or subtracts from it. */
export const addHeld = (sums: Sums, bound: Bound, amount: Amount): void => {
  sums.set(bound, BigDecimal.sum(heldOf(sums, bound), amount))
}
