import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import { expect, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { vi } from "vitest"
import { loadFiles } from "../workspace.ts"

const loaded = vi.hoisted(() => {
  // An earlier file of this process may have loaded it.
  vi.resetModules()
  return { parser: false }
})
vi.mock("jsonc-parser", async (original) => {
  loaded.parser = true
  return await original()
})

layer(NodeFileSystem.layer)("configFile", (it) => {
  it.scoped("is not loaded, nor is a parser, until there is a file", () =>
    Effect.gen(function*() {
      yield* loadFiles({}, { overrides: { info: { model: "a/b" }, origin: "--model" } })
      expect(loaded.parser).toBe(false)
      yield* loadFiles({ "project/skein.json": {} })
      expect(loaded.parser).toBe(true)
    }))
})
