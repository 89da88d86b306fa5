import { didYouMean, nearest, similar } from "@skein/domain/Lookup"
import { describe, expect, it } from "vitest"

describe("an unknown name", () => {
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
    ["x", undefined],
    ["agnetx", "agent"],
    ["p".repeat(1_000_000), undefined]
  ])("may be a misspelling of another: %.20s", (typed, meant) => {
    expect(nearest(typed, names)).toBe(meant)
  })

  it.each([
    ["rnu", ["run"], "run"],
    ["in", ["init", "run"], undefined],
    ["a", ["b"], undefined],
    ["tets", ["test"], "test"],
    ["lits", ["test"], undefined],
    ["perm", ["permissions"], undefined],
    ["permisions", ["permissions"], "permissions"],
    ["prmisins", ["permissions"], undefined],
    ["modeels", ["models", "model"], "models"]
  ])("is similar within two edits, and at most half of its letters: %s", (typed, all, meant) => {
    expect(similar(typed, all)).toBe(meant)
  })

  it("is reported with or without a suggestion", () => {
    expect(didYouMean("modle", names, (name) => `--${name}`)).toBe(" Did you mean --model?")
    expect(didYouMean("zzz", names)).toBe("")
  })
})
