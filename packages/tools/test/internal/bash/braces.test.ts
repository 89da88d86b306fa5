import { describe, expect, it } from "@effect/vitest"
import { share } from "@skein/testing/Seeds"
import * as FastCheck from "effect/FastCheck"
import { execFileSync } from "node:child_process"
import { countBraces } from "../../../src/internal/bash/words.ts"

const counts: ReadonlyArray<readonly [string, number]> = [
  ["a", 1],
  ["{a}", 1],
  ["{a,b}", 2],
  ["x{a,b}{c,d,e}y", 6],
  ["{a,{b,c}d,e{1..3}}", 6],
  ["{1..10}", 10],
  ["{10..1..3}", 4],
  ["{a..e}", 5],
  ["{-2..2}", 5],
  ["{a,b", 1],
  ["{a,{b,c}", 2],
  ["\\{a,b}", 1],
  ["{}", 1],
  ["{b}a,}", 2],
  ["{a,'b,c',\"d,e\"}", 3],
  ["{a,b}".repeat(20), 1_048_576],
  ["{1..1000000}{1..1000000}", 1e12],
  ["{a,".repeat(50_000) + "}".repeat(50_000), 50_001]
]

describe("how many words braces stand for", () => {
  it.each(counts.map(([text, count]) => [text.length > 40 ? `${text.slice(0, 40)}…` : text, text, count] as const))(
    "%s",
    (_, text, count) => {
      expect(countBraces(text)).toBe(count)
    }
  )

  it("is never less than what the shell makes", () => {
    const sign = FastCheck.constantFrom(..."{}{},,ab\\".split(""), "{1..3}", "{a,b}")
    const texts = FastCheck.sample(
      FastCheck.array(sign, { minLength: 1, maxLength: 14 }).map((each) => each.join("")),
      { seed: 20_261_122, numRuns: share(5_000) }
    ).filter((text) => !text.endsWith("\\"))
    const script = texts.map((text) => `set -- ${text}; echo $#`).join("\n")
    const made = execFileSync("bash", { encoding: "utf8", input: script }).trim().split("\n").map(Number)
    expect(made.length).toBe(texts.length)
    expect(texts.filter((text, at) => countBraces(text) < (made[at] ?? 0))).toEqual([])
  })
})
