import { describe, expect, it } from "@effect/vitest"
import { covers, denials, deniesAll, evaluate, stricter } from "@skein/core/Ruleset"
import { type Action, fromConfig, type Ruleset } from "@skein/domain/Rule"
import * as FastCheck from "effect/FastCheck"

/** The meaning of wildcards, in the simplest way: try every length for a star. */
const naive = (pattern: string, text: string): boolean => {
  const [head = "", ...rest] = pattern
  const tail = rest.join("")
  if (pattern === "") return text === ""
  if (head === "*") {
    return Array.from({ length: text.length + 1 }, (_, skip) => skip).some((skip) => naive(tail, text.slice(skip)))
  }
  return text !== "" && (head === "?" || head === text[0]) && naive(tail, text.slice(1))
}
const oracle = (pattern: string, text: string): boolean =>
  naive(pattern, text) || (pattern.endsWith(" *") && naive(pattern.slice(0, -2), text))

const few = (characters: string, maxLength: number) =>
  FastCheck.array(FastCheck.constantFrom(...characters), { maxLength }).map((all) => all.join(""))
const action = FastCheck.constantFrom<Action>("allow", "ask", "deny")
const key = FastCheck.constantFrom("edit", "bash", "e*", "*", "?dit")
const rules: FastCheck.Arbitrary<Ruleset> = FastCheck.array(
  FastCheck.record({ permission: key, pattern: few("ab*? ", 7), action }),
  { maxLength: 6 }
)
const holds = <T>(arbitrary: FastCheck.Arbitrary<T>, check: (value: T) => void, numRuns = 1_000) =>
  FastCheck.assert(FastCheck.property(arbitrary, check), { numRuns })

describe("a wildcard", () => {
  it("matches the same as an exhaustive search", () => {
    holds(FastCheck.tuple(few("ab*? \n/", 7), few("ab \n/", 7)), ([pattern, text]) => {
      expect(covers(pattern, text)).toBe(oracle(pattern, text))
    }, 5_000)
  })

  it("of `*` match slashes and line breaks, of `?` one character", () => {
    expect(covers("src/*.ts", "src/a/b/c.ts")).toBe(true)
    expect(covers("*", "one\ntwo")).toBe(true)
    expect(covers("?", "\n")).toBe(true)
    expect(covers("?", "")).toBe(false)
    expect(covers("a?c", "abbc")).toBe(false)
  })

  it("at the end after a space also match the bare command, and nothing that only begins like it", () => {
    expect(covers("git log *", "git log")).toBe(true)
    expect(covers("git log *", "git log -1")).toBe(true)
    expect(covers("git log *", "git logs")).toBe(false)
    expect(covers("git log*", "git logs")).toBe(true)
    expect(covers("git log *", "git")).toBe(false)
  })

  it("treat other characters literally", () => {
    expect(covers("a.b", "axb")).toBe(false)
    expect(covers("[ab]", "a")).toBe(false)
    expect(covers("(a|b)+", "(a|b)+")).toBe(true)
    expect(covers("\\*", "\\anything")).toBe(true)
  })

  it("of many stars terminate quickly", () => {
    expect(covers(`${"a*".repeat(40)}b`, "a".repeat(20_000))).toBe(false)
  })
})

describe("rules", () => {
  it("are decided by the last one that matches", () => {
    holds(FastCheck.tuple(rules, key, few("ab ", 7)), ([set, permission, pattern]) => {
      const matching = set.filter((rule) => oracle(rule.permission, permission) && oracle(rule.pattern, pattern))
      expect(evaluate(set, permission, pattern)).toBe(matching.at(-1)?.action)
    }, 10_000)
  })

  it("decide nothing if none matches", () => {
    expect(evaluate([], "edit", "a")).toBeUndefined()
    expect(evaluate(fromConfig({ bash: "deny" }), "edit", "a")).toBeUndefined()
  })

  it("deny all of a permission only if nothing of it can be allowed", () => {
    holds(FastCheck.tuple(rules, few("ab ", 4)), ([set, pattern]) => {
      if (deniesAll(set, "edit")) expect(evaluate(set, "edit", pattern)).toBe("deny")
    })
    expect(deniesAll(fromConfig({ edit: "deny" }), "edit")).toBe(true)
    expect(deniesAll(fromConfig({ "*": "deny" }), "edit")).toBe(true)
    expect(deniesAll(fromConfig({ edit: { "*": "deny", "a.md": "allow" } }), "edit")).toBe(false)
    expect(deniesAll(fromConfig({ edit: { "a.md": "allow", "*": "deny" } }), "edit")).toBe(true)
    expect(deniesAll(fromConfig({ edit: { "*": "deny", "a.md": "ask" } }), "edit")).toBe(false)
    expect(deniesAll(fromConfig({ edit: { "src/*": "deny" } }), "edit")).toBe(false)
    expect(deniesAll(fromConfig({ "*": "deny", edit: "ask" }), "edit")).toBe(false)
    expect(deniesAll([], "edit")).toBe(false)
  })

  it("as a ceiling keep what was denied and add nothing to it", () => {
    holds(FastCheck.tuple(rules, key, few("ab ", 4)), ([set, permission, pattern]) => {
      const own = evaluate(set, permission, pattern)
      const below = evaluate(denials(set), permission, pattern)
      expect(below === "deny").toBe(own === "deny")
      expect(below === "ask").toBe(false)
    })
  })

  it("of one action for all match every permission", () => {
    expect(evaluate(fromConfig("deny"), "anything", "at all")).toBe("deny")
  })
})

describe("the stricter of two actions", () => {
  it("is a meet: commutative, associative, idempotent, and deny is the bottom", () => {
    holds(FastCheck.tuple(action, action, action), ([a, b, c]) => {
      expect(stricter(a, b)).toBe(stricter(b, a))
      expect(stricter(stricter(a, b), c)).toBe(stricter(a, stricter(b, c)))
      expect(stricter(a, a)).toBe(a)
      expect(stricter(a, "deny")).toBe("deny")
      expect(stricter(a, "allow")).toBe(a)
    })
  })
})
