/** Charges what a session used, to it and to all above it. */
import { add, type Usage } from "@skein/domain/Usage"
import type { Entry } from "../../JournalEntry.ts"
import { spend } from "../budget/account.ts"
import { usePromise } from "../budget/reservations.ts"
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
