import { widthOf } from "@skein/tui/Width"
import * as Effect from "effect/Effect"
import { describe, expect, it } from "vitest"
import { printList } from "../../src/internal/print.ts"
import { Stdio } from "../../src/Stdio.ts"

const long = "word ".repeat(140).trim()
const rows = [["agent.a.prompt", long, "skein.json"], ["model", "日本語".repeat(30), "skein.json"]]

/** The lines of a listing on a terminal of so many columns, or in a pipe. */
const printed = (
  columns: number | undefined,
  full = false,
  shown: ReadonlyArray<ReadonlyArray<string | undefined>> = rows
): ReadonlyArray<string> => {
  let text = ""
  const stdio = {
    out: (more: string) => text += more,
    err: () => undefined,
    isTerminal: { input: false, output: columns !== undefined, error: false },
    size: () => ({ columns: columns ?? 80, rows: 24 })
  }
  const listing = printList({ format: "default", full }, {
    items: shown,
    columns: { KEY: ([key]) => key, VALUE: ([, value]) => value, FROM: ([, , from]) => from },
    empty: ""
  })
  Effect.runSync(Effect.provideService(listing, Stdio, stdio as unknown as typeof Stdio.Service))
  return text.replace(/\n$/, "").split("\n")
}

describe("a listing", () => {
  it.each([30, 80, 120])("fits a terminal of %i columns, and cuts only what is long", (columns) => {
    const lines = printed(columns)
    for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(columns)
    expect(lines[1]).toContain("…")
    expect(lines[2]).toContain("…")
    if (columns >= 80) {
      for (const line of lines.slice(1)) expect(line).toMatch(/^(agent\.a\.prompt|model {9}) .* skein\.json$/)
    }
  })

  it.each([20, 40, 60])("never cuts an id, on %i columns", (columns) => {
    const ids = ["ses_0000000000000001abcdef", "run_0000000000000002ghijkl"]
    const lines = printed(columns, false, [[ids[0], long, "skein.json"], [long, ids[1], "skein.json"]])
    for (const id of ids) expect(lines.join("\n")).toContain(id)
    const single = printed(columns, false, [[ids[0], long, "skein.json"]])
    expect(single[1]).toContain(ids[0])
    expect(widthOf(single[1] ?? "")).toBeLessThanOrEqual(Math.max(columns, 28))
  })

  it("shows long values whole with --full", () => {
    const lines = printed(80, true)
    expect(lines[1]).toContain(long)
    expect(lines.join("")).not.toContain("…")
  })

  it("is neither cut nor padded in a pipe", () => {
    expect(printed(undefined)).toEqual(["KEY\tVALUE\tFROM", ...rows.map((row) => row.join("\t"))])
  })

  it("has the same number of fields in each line of a pipe, also where values are empty or hold tabs", () => {
    const odd = [["", "a\tb", ""], ["x", "c\nd"], ["y", "", ""]]
    expect(printed(undefined, false, odd)).toEqual(["KEY\tVALUE\tFROM", "\ta\\tb\t", "x\tc\\nd\t", "y\t\t"])
  })
})
