/** Lays rules over others in such a way that nothing that the others deny is lifted. */
import type { Rule } from "@skein/domain/Rule"
import { coversAll, overlaps } from "./pattern.ts"

interface Region {
  readonly permission: string
  readonly pattern: string
}

const both = (a: string, b: string): string | undefined => coversAll(a, b) ? b : coversAll(b, a) ? a : undefined

const apart = (a: Region, b: Region): boolean =>
  !overlaps(a.permission, b.permission) || !overlaps(a.pattern, b.pattern)

const intersection = (a: Region, b: Region): Region | undefined => {
  const permission = both(a.permission, b.permission)
  const pattern = both(a.pattern, b.pattern)
  return permission === undefined || pattern === undefined ? undefined : { permission, pattern }
}

const same = (a: Region, b: Region): boolean => a.permission === b.permission && a.pattern === b.pattern

/**
 * The rules to append to `base`, so that what `base` denies stays denied, and the rest is as if `over` had been appended.
 * A last match can only lift a denial, so after each rule that would do so come the denials of `base` again, cut down to
 * what that rule covers, and what `base` takes out of them. Where two wildcards cut each other in a way that no wildcard
 * can say, the result is stricter than that, never laxer.
 */
export const narrow = <R extends Rule>(base: ReadonlyArray<R>, over: ReadonlyArray<R>): ReadonlyArray<R> =>
  over.flatMap((rule) => rule.action === "deny" ? [rule] : confine(base, rule))

const confine = <R extends Rule>(base: ReadonlyArray<R>, rule: R): ReadonlyArray<R> => {
  let rules = [rule]
  let denied = false
  for (const before of base) {
    if ((before.action !== "deny" && !denied) || apart(before, rule)) continue
    const region = intersection(before, rule)
    if (before.action === "deny") {
      denied = true
      if (region === undefined) rules.push(before)
      else if (same(region, rule)) rules = [{ ...before, ...region }]
      else rules.push({ ...before, ...region })
    } else if (region !== undefined) {
      if (same(region, rule)) {
        rules = [rule]
        denied = false
      } else rules.push({ ...rule, ...region })
    }
  }
  return rules
}

/**
 * What `base` says of one region: appended to a denial, these rules bring it back. Denials that no wildcard can cut down
 * to the region come back whole.
 */
export const within = <R extends Rule>(
  base: ReadonlyArray<R>,
  permission: string,
  pattern: string = "*"
): ReadonlyArray<R> =>
  base.flatMap((rule) => {
    const region = intersection(rule, { permission, pattern })
    if (region !== undefined) return [{ ...rule, ...region }]
    return rule.action === "deny" && !apart(rule, { permission, pattern }) ? [rule] : []
  })

/**
 * What `base` says of one region, to be appended to rules that restrict it: no laxer than `base` there, and no laxer than
 * those rules elsewhere. Undefined where no wildcards can say that.
 */
export const inside = <R extends Rule>(base: ReadonlyArray<R>, region: Region): ReadonlyArray<R> | undefined => {
  let found: ReadonlyArray<R> = []
  for (const rule of base) {
    if (apart(rule, region)) continue
    const part = intersection(rule, region)
    if (part === undefined && rule.action === "ask") return undefined
    if (part !== undefined) found = [...(same(part, region) ? [] : found), { ...rule, ...part }]
    else if (rule.action === "deny") found = [...found, rule]
  }
  return found
}
