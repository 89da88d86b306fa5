import { expect, it } from "vitest"
import { suggest } from "../../src/internal/suggest.ts"

it.each([
  ["modle", "model"],
  ["permision", "permission"],
  ["baseURL", "base_url"],
  ["default-agent", "default_agent"],
  ["agents", "agent"],
  ["zzz", undefined],
  ["m".repeat(100_000), undefined]
])("%.20s may mean %s", (text, meant) => {
  expect(suggest(text, ["model", "small_model", "permission", "base_url", "default_agent", "agent"])).toBe(meant)
})
