/** Exact amounts of what budgets bound. */
import * as BigDecimal from "effect/BigDecimal"

/** An exact amount of what a budget bounds. */
export type Amount = BigDecimal.BigDecimal

/** Nothing. */
export const zero: Amount = BigDecimal.fromBigInt(0n)

/** An amount as it is stored; undefined where nobody knows it. */
export const toAmount = (stored: string | number): Amount | undefined =>
  stored === "unknown" ? undefined : BigDecimal.unsafeFromString(String(stored))
