/** What a request costs in counters that no other load on the machine changes: they only fall. */
import { expect, it, vi } from "vitest"
import { countAll, record, risen } from "../scripts/bench/counters.mjs"

vi.setConfig({ testTimeout: 180_000 })

it("counts no more for a request than before", async () => {
  const found = await countAll()
  expect(Object.keys(found)).toEqual(Object.keys(record()))
  expect(risen(found)).toEqual([])
})

it("names a counter that rose", () => {
  const [[name, value] = ["", 0]] = Object.entries(record())
  expect(risen({ [name]: value * 1.5 })).toEqual([`${name}: ${value * 1.5}, and it was ${value}`])
  expect(risen({ [name]: value })).toEqual([])
})
