import { expect, it } from "vitest"
import { parseAge } from "../../src/commands/prune.ts"

const hour = 3_600_000

it.each([["24h", 24], ["1d", 24], ["90d", 90 * 24], ["12w", 12 * 7 * 24]])("%s is an age", (text, hours) => {
  expect(parseAge(text)).toBe(hours * hour)
})

it.each(["", "90", "23h", "0d", "-1d", "1.5d", "1y", "30m", "1d1h", "9999999d"])(
  "%j is none of a day or more",
  (text) => {
    expect(parseAge(text)).toBeUndefined()
  }
)
