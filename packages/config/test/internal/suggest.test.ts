import { expect, it } from "vitest"
import { suggest } from "../../src/internal/suggest.ts"

it.each([
  ["modle", "model"],
  ["permision", "permission"],
  ["baseURL", "base_url"],
  ["default-agent", "default_agent"],
  ["agents", "agent"],
  ["BASE-URL", "base_url"],
  ["zzz", undefined]
])("%s may mean %s", (text, meant) => {
  expect(suggest(text, ["model", "small_model", "permission", "base_url", "default_agent", "agent"])).toBe(meant)
})
