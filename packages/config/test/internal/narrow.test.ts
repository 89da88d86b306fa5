import { evaluate, stricter } from "@skein/core/Ruleset"
import type { Action, Rule } from "@skein/domain/Rule"
import * as FastCheck from "effect/FastCheck"
import { expect, it } from "vitest"
import { inside, narrow, tighten, within } from "../../src/internal/mergeProject.ts"

const rulesOf = (permission: FastCheck.Arbitrary<string>, pattern: FastCheck.Arbitrary<string>) =>
  FastCheck.array(
    FastCheck.record({ permission, pattern, action: FastCheck.constantFrom<Action>("allow", "ask", "deny") }),
    { maxLength: 6 }
  )

// Any two of these are nested or disjoint.
const tidy = rulesOf(
  FastCheck.constantFrom("*", "a", "b"),
  FastCheck.constantFrom("*", "a*", "ab*", "ab", "b", "a *", "a", "a b")
)
const letters = FastCheck.string({ unit: FastCheck.constantFrom("a", "b", "*", "?", " ", "/"), maxLength: 5 })
const wild = rulesOf(FastCheck.oneof(FastCheck.constantFrom("*", "a", "?", "a*"), letters), letters)

const calls = FastCheck.record({
  permission: FastCheck.constantFrom("a", "b", "ab"),
  pattern: FastCheck.string({ unit: FastCheck.constantFrom("a", "b", " ", "/"), maxLength: 4 })
})

/** The result of laying `over` on `base`: the denials of `base`, and otherwise the last match of both. */
const wanted = (base: ReadonlyArray<Rule>, over: ReadonlyArray<Rule>, permission: string, pattern: string) =>
  evaluate(base, permission, pattern) === "deny" ? "deny" : evaluate([...base, ...over], permission, pattern)

it("keeps every denial of the base, and changes nothing else", () => {
  FastCheck.assert(
    FastCheck.property(tidy, tidy, calls, (base, over, { pattern, permission }) => {
      const found = evaluate([...base, ...narrow(base, over)], permission, pattern)
      expect(found).toBe(wanted(base, over, permission, pattern))
    }),
    { numRuns: 3000 }
  )
})

it("is never more permissive, with any wildcards", () => {
  FastCheck.assert(
    FastCheck.property(wild, wild, calls, (base, over, { pattern, permission }) => {
      const found = evaluate([...base, ...narrow(base, over)], permission, pattern) ?? "allow"
      expect(stricter(found, wanted(base, over, permission, pattern) ?? "allow")).toBe(found)
    }),
    { numRuns: 10_000 }
  )
})

it("keeps denials and questions of the base when it tightens, and changes nothing else", () => {
  FastCheck.assert(
    FastCheck.property(tidy, tidy, calls, (base, over, { pattern, permission }) => {
      const before = evaluate(base, permission, pattern)
      const plain = evaluate([...base, ...over], permission, pattern)
      const wanted = before === undefined || plain === undefined ? plain : stricter(before, plain)
      expect(evaluate([...base, ...tighten(base, over)], permission, pattern)).toBe(wanted)
    }),
    { numRuns: 3000 }
  )
})

it("never loosens when it tightens, with any wildcards", () => {
  FastCheck.assert(
    FastCheck.property(wild, wild, calls, (base, over, { pattern, permission }) => {
      const before = evaluate(base, permission, pattern) ?? "allow"
      const plain = evaluate([...base, ...over], permission, pattern) ?? "allow"
      const found = evaluate([...base, ...tighten(base, over)], permission, pattern) ?? "allow"
      expect(stricter(found, stricter(before, plain))).toBe(found)
    }),
    { numRuns: 10_000 }
  )
})

it("appends no more than necessary", () => {
  const rule = (permission: string, pattern: string, action: Action): Rule => ({ permission, pattern, action })
  const base = [rule("edit", "*", "deny"), rule("edit", "notes/*", "allow")]
  expect(narrow(base, [rule("bash", "*", "ask")])).toEqual([rule("bash", "*", "ask")])
  expect(narrow(base, [rule("edit", "*", "ask")])).toEqual([rule("edit", "*", "deny"), rule("edit", "notes/*", "ask")])
  expect(narrow(base, [rule("edit", "notes/a", "ask")])).toEqual([rule("edit", "notes/a", "ask")])
  expect(narrow(base, [rule("edit", "src/a", "ask")])).toEqual([rule("edit", "src/a", "deny")])
  expect(narrow(base, [rule("edit", "*", "deny")])).toEqual([rule("edit", "*", "deny")])
})

it("does not assume a home directory", () => {
  const base: ReadonlyArray<Rule> = [{ permission: "read", pattern: "/home/me/*", action: "deny" }]
  const over: ReadonlyArray<Rule> = [{ permission: "read", pattern: "~/secret", action: "ask" }]
  const rules = [...base, ...narrow(base, over)].map((rule) => ({
    ...rule,
    pattern: rule.pattern.replace("~", "/home/me")
  }))
  expect(evaluate(rules, "read", "/home/me/secret")).toBe("deny")
})

it("restores the rules of the base for one region", () => {
  FastCheck.assert(
    FastCheck.property(tidy, calls, (base, { pattern, permission }) => {
      const rules: ReadonlyArray<Rule> = [{ permission: "*", pattern: "*", action: "deny" }, ...within(base, "a")]
      const before = evaluate(base, permission, pattern)
      expect(evaluate(rules, permission, pattern)).toBe(permission === "a" ? before ?? "deny" : "deny")
    }),
    { numRuns: 2000 }
  )
})

it("restores every denial that cannot be cut down to the region", () => {
  const base: ReadonlyArray<Rule> = [
    { permission: "*", pattern: "*", action: "ask" },
    { permission: "mcp_*_write", pattern: "*", action: "deny" }
  ]
  expect(evaluate(within(base, "mcp_a*"), "mcp_a_write", "x")).toBe("deny")
  expect(evaluate(within(base, "mcp_a*"), "mcp_a_read", "x")).toBe("ask")
})

it("restores the rules of the base for one region, no more permissive than the base there or the restriction elsewhere", () => {
  FastCheck.assert(
    FastCheck.property(wild, calls, letters, (base, { pattern, permission }, region) => {
      const over: ReadonlyArray<Rule> = [{ permission: "*", pattern: "*", action: "ask" }]
      const rules: ReadonlyArray<Rule> = [
        ...over,
        ...base,
        ...narrow(base, [...over, ...inside(base, { permission: "*", pattern: region }) ?? []])
      ]
      const found = evaluate(rules, permission, pattern) ?? "allow"
      const before = evaluate([...over, ...base], permission, pattern) ?? "allow"
      const isInside = evaluate([{ permission: "*", pattern: region, action: "deny" }], permission, pattern) === "deny"
      const least = isInside ? before : "ask"
      expect(stricter(found, least)).toBe(found)
    }),
    { numRuns: 10_000 }
  )
})

it("restores nothing if no wildcards can express the questions", () => {
  const base: ReadonlyArray<Rule> = [
    { permission: "read", pattern: "*", action: "allow" },
    { permission: "read", pattern: "*.env", action: "ask" }
  ]
  expect(inside(base, { permission: "read", pattern: "src/*" })).toBeUndefined()
  expect(inside(base, { permission: "read", pattern: "*" })).toEqual(base)
})
