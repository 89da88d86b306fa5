import { didYouMean, nearest } from "@skein/core/Nearest"
import { describe, expect, it } from "vitest"

describe("a name that nothing is called by", () => {
  const names = ["model", "small_model", "permission", "base_url", "default_agent", "agent"]

  it.each([
    ["modle", "model"],
    ["permision", "permission"],
    ["baseURL", "base_url"],
    ["default-agent", "default_agent"],
    ["agents", "agent"],
    ["BASE-URL", "base_url"],
    ["perm", "permission"],
    ["zzz", undefined],
    ["", undefined],
    ["p".repeat(1_000_000), undefined]
  ])("may mean another: %.20s", (typed, meant) => {
    expect(nearest(typed, names)).toBe(meant)
  })

  it("is told with what was meant, or without", () => {
    expect(didYouMean("modle", names, (name) => `--${name}`)).toBe(" Did you mean --model?")
    expect(didYouMean("zzz", names)).toBe("")
  })
})
