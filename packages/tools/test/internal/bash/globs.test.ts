import { spawnSync } from "node:child_process"
import { describe, expect, it } from "vitest"
import { takeApart } from "../../../src/internal/bash/takeApart.ts"

/** What a pattern of one name is read as. */
const fitsOf = (pattern: string) =>
  takeApart(`ls ${pattern}`).invocations.flatMap(({ args }) => args.flatMap(({ glob = [] }) => glob)).at(-1)?.fits

const names = ["a", "ab", "abc", "aab", "b", ".a", ".ab", "a*", "a.b", "abab", "a\nb", "a b", "ba"]
const patterns = [
  "*",
  "a*",
  "*a",
  "*a*",
  "a*b",
  "a*b*",
  "?",
  "a?",
  "?b",
  "a\\*",
  "'a*'*",
  "a.*",
  ".*",
  ".?",
  "*b*b",
  "a??"
]

describe("a pattern of names", () => {
  it.each(patterns)("%s fits what bash says that it fits", (pattern) => {
    const fits = fitsOf(pattern)
    const script = `for name; do case $name in ${pattern}) echo yes;; *) echo no;; esac; done`
    const said = spawnSync("bash", ["-c", script, "-", ...names], { encoding: "utf8" }).stdout.trim().split("\n")
    const wild = /(?<!\\)[*?]/.test(pattern.replace(/'[^']*'/, ""))
    // What is matched by `case` and hidden is no match of a name that begins with a wildcard.
    const isFit = (at: number, name: string) => said[at] === "yes" && (!/^[*?]/.test(pattern) || !name.startsWith("."))
    expect(names.filter((name) => wild ? fits?.(name) : name === "a*")).toEqual(
      names.filter((name, at) => isFit(at, name))
    )
  })

  it("is compared with a name in bounded time", () => {
    expect(fitsOf(`${"*a".repeat(100)}*b`)?.("a".repeat(255))).toBe(false)
    expect(fitsOf(`${"?*".repeat(100)}`)?.("a".repeat(255))).toBe(true)
  })

  it("takes one character for as many as there may be in some locale", () => {
    expect(["é", "éa", "日本", "x"].map((name) => fitsOf("??a")?.(name))).toEqual([false, true, false, false])
  })
})
