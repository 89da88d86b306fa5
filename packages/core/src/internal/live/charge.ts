/** Decides what a request has used, and charges it to its session and to all above it. */
import { add, type Cost, costOf, noTokens, type Reserved, type Tokens, type Usage } from "@skein/domain/Usage"
import * as BigDecimal from "effect/BigDecimal"
import type { Entry } from "../../Write.ts"
import { toAmount, zero } from "../budget/BudgetNode.ts"
import { spend, usePromise } from "../budget/reservations.ts"
import { lineOf, type Live } from "./Live.ts"

/**
 * Charges it; commit the returned writes. Work that is not the session's own leaves its date unchanged (`keepsDate`).
 */
export const charge = (live: Live, used: Usage, now: number, keepsDate = false): ReadonlyArray<Entry> => {
  const line = lineOf(live)
  const writes = line.map((each) => {
    const { own, subtree } = each.info.usage
    const usage = { own: each === live ? add(own, used) : own, subtree: add(subtree, used) }
    const patch = { usage, ...spend(each.budget, used) }
    return keepsDate && each === live ? each.record.annotate(patch) : each.record.change(now, patch)
  })
  for (const each of line) usePromise(each.budget)
  return writes
}

/** What a provider reports of a request. */
export interface Reported {
  readonly tokens: Tokens
  readonly cost?: Cost | undefined
}

/** An estimated input; at the price of writing it to a cache if that costs more. */
const estimatedInput = ({ input, price }: Reserved): Tokens => {
  const isDearer = BigDecimal.greaterThan(
    toAmount(price?.cacheWrite ?? "0") ?? zero,
    toAmount(price?.input ?? "0") ?? zero
  )
  return { ...noTokens, input, cacheWrite: isDearer ? input : 0 }
}

/**
 * What a request has used: what its model reported. Without that, or if a cut answer is longer (`isWhole` is false), its
 * estimated input and the tokens that arrived of its answer.
 */
export const usedBy = (
  reserved: Reserved,
  reported: Reported | undefined,
  received: number,
  isWhole: boolean
): Pick<Usage, "cost" | "estimated" | "tokens"> => {
  if (reported !== undefined && (isWhole || reported.tokens.output >= received)) {
    return { tokens: reported.tokens, cost: reported.cost ?? costOf(reported.tokens, reserved.price) }
  }
  const tokens = { ...(reported?.tokens ?? estimatedInput(reserved)), output: received }
  return { tokens, cost: costOf(tokens, reserved.price), estimated: true }
}
