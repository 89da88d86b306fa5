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

const strictness = { allow: 0, ask: 1, deny: 2 } as const

/**
 * The rules to append to `base`, so that what `base` denies stays denied, and the rest is as if `over` had been appended.
 * A last match can only lift a denial, so after each rule that would do so come the denials of `base` again, cut down to
 * what that rule covers, and what `base` takes out of them. Where two wildcards cut each other in a way that no wildcard
 * can say, the result is stricter than that, never laxer.
 */
export const narrow = <R extends Rule>(base: ReadonlyArray<R>, over: ReadonlyArray<R>): ReadonlyArray<R> =>
  over.flatMap((rule) => rule.action === "deny" ? [rule] : confine(base, rule, ({ action }) => action === "deny"))

/** The rules to append to `base`, as `narrow` gives them, so that what `base` asks about is not allowed either. */
export const tighten = <R extends Rule>(base: ReadonlyArray<R>, over: ReadonlyArray<R>): ReadonlyArray<R> =>
  over.flatMap((rule) => {
    const isStricter = ({ action }: Rule) => strictness[action] > strictness[rule.action]
    // Such a question, repeated in full, would lift denials outside of what the rule covers.
    const isUncut = rule.action === "allow"
      && base.some((each) => each.action === "ask" && !apart(each, rule) && intersection(each, rule) === undefined)
    return isUncut ? narrow(base, [{ ...rule, action: "ask" }]) : confine(base, rule, isStricter)
  })

const confine = <R extends Rule>(
  base: ReadonlyArray<R>,
  rule: R,
  isStricter: (before: Rule) => boolean
): ReadonlyArray<R> => {
  let rules = [rule]
  let restricted = false
  for (const before of base) {
    const restricts = isStricter(before)
    if ((!restricts && !restricted) || apart(before, rule)) continue
    const region = intersection(before, rule)
    if (restricts) {
      restricted = true
      if (region === undefined) rules.push(before)
      else if (same(region, rule)) rules = [{ ...before, ...region }]
      else rules.push({ ...before, ...region })
    } else if (region !== undefined) {
      if (same(region, rule)) {
        rules = [rule]
        restricted = false
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
