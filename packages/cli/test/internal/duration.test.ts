import { formatDuration } from "@skein/view/Numbers"
import { describe, expect, it } from "vitest"
import { parseDuration } from "../../src/internal/arguments.ts"

describe("a time on the command line", () => {
  it("is never shown as nothing", () => {
    expect([1, 49, 50, 0].map(formatDuration)).toEqual(["1 ms", "49 ms", "0.1 s", "0.0 s"])
  })

  it.each([
    ["90s", 90_000],
    ["30m", 1_800_000],
    ["1h", 3_600_000],
    ["1.5h", 5_400_000],
    ["500ms", 500],
    ["5", 5_000],
    ["0.4", 400],
    ["2147483647ms", 2_147_483_647]
  ])("%s is %i ms", (text, milliseconds) => {
    expect(parseDuration(text)).toBe(milliseconds)
  })

  it.each([
    "",
    " ",
    "0",
    "0s",
    "-5",
    "-5s",
    "NaN",
    "Infinity",
    "1e3",
    "s",
    "5x",
    "5 s x",
    "1h30",
    "2147483648ms",
    "2147484",
    "25d",
    "1000h"
  ])(
    "%j is none",
    (text) => {
      expect(parseDuration(text)).toBeUndefined()
    }
  )
})

it.each([
  [-5, "0.0 s"],
  [0, "0.0 s"],
  [440, "0.4 s"],
  [9_940, "9.9 s"],
  [9_960, "10 s"],
  [59_400, "59 s"],
  [59_600, "1 m 00 s"],
  [185_000, "3 m 05 s"],
  [7_620_000, "2 h 07 m"]
])("%i ms are written %s", (milliseconds, text) => {
  expect(formatDuration(milliseconds)).toBe(text)
})
