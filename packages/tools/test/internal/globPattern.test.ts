import { describe, expect, it } from "@effect/vitest"
import * as Either from "effect/Either"
import { compileGlob } from "../../src/GlobTool.ts"

const matches = (pattern: string, path: string): boolean => Either.getOrThrow(compileGlob(pattern))(path)

describe("globPattern", () => {
  it.each([
    ["*.ts", "a.ts"],
    ["*.ts", "deep/er/a.ts"],
    ["/*.ts", "a.ts"],
    ["./src/*.ts", "src/a.ts"],
    ["src/**", "src/a/b.ts"],
    ["**", "a/b"],
    ["**/b", "b"],
    ["**/b", "a/b"],
    ["a/**/b", "a/b"],
    ["a/**/**/b", "a/x/y/b"],
    ["**/x/**/z", "a/x/x/y/z"],
    ["{a,b}/*.{ts,tsx}", "b/x.tsx"],
    ["{a,{b,c}}.ts", "c.ts"],
    ["{}", "{}"],
    ["[a-c]?.js", "bz.js"],
    ["[!a]", "b"],
    ["app/[id]/*", "app/[id]/page.tsx"],
    ["\\*.md", "*.md"],
    ["*", ".hidden"],
    ["?", "é"],
    ["*😀?", "a😀b"]
  ])("%s fits %s", (pattern, path) => {
    expect(matches(pattern, path)).toBe(true)
  })

  it.each([
    ["/*.ts", "deep/a.ts"],
    ["src/*.ts", "src/a/b.ts"],
    ["src/**", "src"],
    ["a/**/b", "ab"],
    ["*.ts", "a.tsx"],
    ["[!a]", "a"],
    ["[a-c]", "d"],
    ["a?c", "a/c"],
    ["a*c", "a/c"],
    ["{a,b}", "c"],
    ["*.MD", "a.md"],
    ["a.ts", "axts"]
  ])("%s does not fit %s", (pattern, path) => {
    expect(matches(pattern, path)).toBe(false)
  })

  it("ends for the worst patterns, and refuses braces that stand for too many", () => {
    const names = `${"a".repeat(250)}/`.repeat(15) + "a".repeat(250)
    expect(matches(`${"**/*a*a*a*a*a*a*a*a*b/".repeat(8)}x`, names)).toBe(false)
    expect(matches(`${"*a".repeat(120)}b`, "a".repeat(250))).toBe(false)
    expect(Either.isLeft(compileGlob("{a,b}".repeat(40)))).toBe(true)
  })
})
