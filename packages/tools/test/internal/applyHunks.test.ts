/** Proves that a patch of many changes reads its file once, and not once for each change. */
import * as Either from "effect/Either"
import { afterEach, expect, it, vi } from "vitest"
import { applyHunks } from "../../src/internal/edit/patch.ts"

afterEach(() => void vi.restoreAllMocks())

it("compares each line of a file with other white space a few times, however many changes there are", () => {
  const numbers = Array.from({ length: 300 }, (_, index) => `number ${index}`)
  const file = Buffer.from(numbers.map((line) => `\t${line}\n\n`).join(""))
  const hunks = numbers.map((text) => ({
    lines: [{ sign: "-", text }, { sign: "+", text: `${text}!` }] as const,
    anchors: [],
    atEnd: false,
    bareEnd: false
  }))
  const compared = vi.spyOn(String.prototype, "trimEnd")
  const after = Either.getOrThrow(applyHunks(file, hunks, "n.txt"))
  expect(compared.mock.calls.length).toBeLessThan(2_000)
  expect(Buffer.from(after).toString()).toBe(numbers.map((line) => `${line}!\n\n`).join(""))
})
