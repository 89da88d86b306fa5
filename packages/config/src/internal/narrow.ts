/** Lays rules over others without lifting any of their denials. */
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
 * The rules to append to `base`, so that its denials stay, and the rest is as if `over` had been appended. Only a last
 * match can lift a denial, so each rule that would do so is followed by the denials of `base`, cut down to what that
 * rule covers, and by their exceptions. If no wildcard expresses the intersection of two wildcards, the result is
 * stricter, never more permissive.
 */
export const narrow = <R extends Rule>(base: ReadonlyArray<R>, over: ReadonlyArray<R>): ReadonlyArray<R> =>
  over.flatMap((rule) => rule.action === "deny" ? [rule] : confine(base, rule, ({ action }) => action === "deny"))

/** The rules to append to `base`, as `narrow` returns them, so that its questions are not lifted either. */
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
 * The rules of `base` for one region: appended to a denial, they restore it there. Denials that no wildcard can cut
 * down to the region are restored in full.
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
 * The rules of `base` for one region, to append to rules that restrict it: no more permissive than `base` there, and
 * than those rules elsewhere. Undefined if no wildcards can express that.
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
