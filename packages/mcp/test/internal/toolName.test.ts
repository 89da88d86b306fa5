import { expect, it } from "vitest"
import { toolNames } from "../../src/internal/listing.ts"

it("the name of a tool does not depend on which other servers answer", () => {
  expect(toolNames("a", ["b_c", "b"], ["a", "a_b"])).toEqual([
    { name: expect.stringMatching(/^mcp_a_b_c_[0-9a-f]{8}$/), wished: "mcp_a_b_c" },
    { name: "mcp_a_b", wished: "mcp_a_b" }
  ])
  expect(toolNames("a_b", ["c"], ["a", "a_b"])).toEqual([{ name: "mcp_a_b_c", wished: "mcp_a_b_c" }])
  expect(toolNames("a", ["b_c"], ["a", "other"])).toEqual([{ name: "mcp_a_b_c", wished: "mcp_a_b_c" }])
})

it("servers whose names differ in nothing that a tool's name can show have hashes in all of theirs", () => {
  const names = [toolNames("a.b", ["c"], ["a.b", "a/b"]), toolNames("a/b", ["c"], ["a.b", "a/b"])].flat()
  expect(new Set(names.map(({ name }) => name)).size).toBe(2)
  for (const { name } of names) expect(name).toMatch(/^mcp_a_b_c_[0-9a-f]{8}$/)
})
