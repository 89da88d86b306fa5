import * as fc from "effect/FastCheck"
import { describe, expect, it } from "vitest"
import { fileDiff, filesDiff } from "../../src/internal/edit/lineDiff.ts"

const bytes = (text: string) => Buffer.from(text)
const diff = (before: string | undefined, after: string | undefined) =>
  fileDiff(before === undefined ? undefined : bytes(before), after === undefined ? undefined : bytes(after))

const numbered = (count: number) => Array.from({ length: count }, (_, i) => `line ${i + 1}`)

/** What a diff makes of a text: each hunk at the lines that it names. */
const applied = (before: ReadonlyArray<string>, changes: string): ReadonlyArray<string> => {
  const out: Array<string> = []
  let at = 0
  for (const line of changes === "" ? [] : changes.split("\n")) {
    const hunk = /^@@ -(\d+),(\d+) \+\d+,\d+ @@$/.exec(line)
    if (hunk !== null) {
      const first = Number(hunk[1]) - (hunk[2] === "0" ? 0 : 1)
      while (at < first) out.push(before[at++] ?? "")
    } else if (line.startsWith("+")) out.push(line.slice(1))
    else {
      expect(before[at]).toBe(line.slice(1))
      if (line.startsWith(" ")) out.push(line.slice(1))
      at++
    }
  }
  return [...out, ...before.slice(at)]
}

describe("a change of a file", () => {
  it("has its lines with their places, and what stands around them", () => {
    const lines = numbered(30)
    const after = lines.with(9, "changed").toSpliced(20, 1)
    expect(diff(`${lines.join("\n")}\n`, `${after.join("\n")}\n`)).toEqual({
      added: 1,
      removed: 2,
      diff: [
        "@@ -7,7 +7,7 @@",
        " line 7",
        " line 8",
        " line 9",
        "-line 10",
        "+changed",
        " line 11",
        " line 12",
        " line 13",
        "@@ -18,7 +18,6 @@",
        " line 18",
        " line 19",
        " line 20",
        "-line 21",
        " line 22",
        " line 23",
        " line 24"
      ].join("\n")
    })
  })

  it("of a file that is new or goes has only such lines", () => {
    expect(diff(undefined, "a\nb\n")).toEqual({ added: 2, removed: 0, diff: "@@ -0,0 +1,2 @@\n+a\n+b" })
    expect(diff("a\n", undefined)).toEqual({ added: 0, removed: 1, diff: "@@ -1,1 +0,0 @@\n-a" })
    expect(diff("a\n", "a\n")).toEqual({ added: 0, removed: 0, diff: "" })
  })

  it("makes the new text of the old one, whatever they are", () => {
    const line = fc.constantFrom("a", "b", "c", "", "d e")
    fc.assert(
      fc.property(fc.array(line, { maxLength: 30 }), fc.array(line, { maxLength: 30 }), (before, after) => {
        const text = (lines: ReadonlyArray<string>) => lines.map((each) => `${each}\n`).join("")
        const found = diff(text(before), text(after))
        expect(applied(before, found?.diff ?? "")).toEqual(after)
        expect((found?.added ?? 0) - (found?.removed ?? 0)).toBe(after.length - before.length)
      })
    )
  })

  it("that is large is cut, counted whole, and compared in bounded time", () => {
    const found = diff(numbered(5_000).join("\n"), numbered(5_000).map((each) => `${each}!`).join("\n"))
    expect(found).toMatchObject({ added: 5_000, removed: 5_000 })
    expect(found?.diff).toMatch(/… \(more is not shown\)$/)
    expect(found?.diff.length).toBeLessThan(11_000)
  })

  it("that is no text is not shown", () => {
    expect(diff("a\0b", "c")).toBeUndefined()
    expect(diff("x".repeat(3 * 1024 * 1024), "")).toBeUndefined()
  })
})

it("changes of several files stand behind their names", () => {
  expect(filesDiff([["a", bytes("x\n"), bytes("y\n")], ["b", undefined, bytes("\0")], ["c", undefined, bytes("z\n")]]))
    .toEqual({
      added: 2,
      removed: 1,
      diff: "+++ a\n@@ -1,1 +1,1 @@\n-x\n+y\n+++ c\n@@ -0,0 +1,1 @@\n+z"
    })
  expect(filesDiff([])).toBeUndefined()
})
