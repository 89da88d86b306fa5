import { expect, it } from "@effect/vitest"
import { readFileSync } from "node:fs"

/** The example of the README; the whole-program tests check that it is typed and runs. */
const example = /```ts\n([\s\S]*?)```/.exec(readFileSync(new URL("../README.md", import.meta.url), "utf8"))?.[1] ?? ""

it("shows how to test a tree of three levels in fewer than 15 lines", () => {
  const lines = example.split("\n").filter((line) => line.trim() !== "" && !line.startsWith("import "))
  expect(lines.length).toBeGreaterThan(0)
  expect(lines.length).toBeLessThan(15)
  for (const agent of ["build:", "lead:", "scout:"]) expect(example).toContain(agent)
  expect(example).toContain("TestClock.adjust")
})
