import { describe, expect, it } from "@effect/vitest"
import { glob, globOf, walk } from "@skein/core/Ruleset"
import * as FastCheck from "effect/FastCheck"

/** The meaning of the signs, in the simplest way: try every length for a run. */
const naive = (signs: ReadonlyArray<string>, items: ReadonlyArray<string>): boolean => {
  const [sign, ...others] = signs
  if (sign === undefined) return items.length === 0
  if (sign === "*") {
    return Array.from({ length: items.length + 1 }, (_, at) => at).some((at) => naive(others, items.slice(at)))
  }
  return items.length > 0 && (sign === "?" || sign === items[0]) && naive(others, items.slice(1))
}

const text = (characters: string, maxLength: number) =>
  FastCheck.string({ unit: FastCheck.constantFrom(...characters), maxLength })
const fits = (sign: string, item: string): boolean => sign === "?" || sign === item

describe("a wildcard", () => {
  it("matches the same as an exhaustive search", () => {
    FastCheck.assert(
      FastCheck.property(text("ab*?\n/", 8), text("ab\n/", 8), (pattern, each) => {
        const expected = naive([...pattern], [...each])
        expect(glob(pattern, each)).toBe(expected)
        expect(globOf(pattern)(each)).toBe(expected)
        expect(walk([...pattern], [...each], "*", fits)).toBe(expected)
      }),
      { numRuns: 10_000 }
    )
  })

  it("treats other signs literally", () => {
    for (const [pattern, each] of [["a.b", "axb"], ["[ab]", "a"], ["\\*", "*"]] as const) {
      expect(glob(pattern, each)).toBe(false)
      expect(globOf(pattern)(each)).toBe(false)
    }
  })
})

describe("the walk", () => {
  /** The number of comparisons between a sign and an item. */
  const asked = (signs: string, items: string): number => {
    let count = 0
    walk(signs, items, "*", (sign: string, item) => {
      count++
      return fits(sign, item)
    })
    return count
  }

  it("compares each pair of a sign and an item at most once", () => {
    FastCheck.assert(
      FastCheck.property(text("ab*?", 30), text("ab", 60), (signs, items) => {
        expect(asked(signs, items)).toBeLessThanOrEqual(signs.length * items.length)
      }),
      { numRuns: 10_000 }
    )
  })

  it("stays within that bound where an exhaustive search would never end", () => {
    const signs = `${"a*".repeat(200)}b`
    const items = "a".repeat(2_000)
    expect(asked(signs, items)).toBeLessThanOrEqual(signs.length * items.length)
  })

  it("works for names and predicates as well", () => {
    const signs = ["src", "**", (name: string) => name.endsWith(".ts")] as const
    const matches = (...names: ReadonlyArray<string>) =>
      walk<"**", string | ((name: string) => boolean), string>(
        signs,
        names,
        "**",
        (sign, name) => typeof sign === "string" ? sign === name : sign(name)
      )
    expect(matches("src", "a.ts")).toBe(true)
    expect(matches("src", "a", "b", "c.ts")).toBe(true)
    expect(matches("src", "a", "b.md")).toBe(false)
    expect(matches("src")).toBe(false)
  })
})
