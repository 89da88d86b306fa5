/** Exact amounts of what budgets limit. */
import * as BigDecimal from "effect/BigDecimal"

/** An exact amount of what a budget limits. */
export type Amount = BigDecimal.BigDecimal

/** Nothing. */
export const zero: Amount = BigDecimal.fromBigInt(0n)

/** A stored amount; undefined if it is unknown. Of a cost that is known in part, it is that part. */
export const toAmount = (stored: string | number): Amount | undefined =>
  stored === "unknown" ? undefined : BigDecimal.unsafeFromString(String(stored).replace("+", ""))
