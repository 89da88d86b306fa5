/** What the bundle replaces in Effect: fibers end as before, and those that wait keep less. */
import { build } from "esbuild"
import { spawnSync } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterAll, describe, expect, it, vi } from "vitest"
import { leanerLibraries } from "../scripts/leanerLibraries.mjs"

vi.setConfig({ testTimeout: 60_000 })

const directory = mkdtempSync(join(tmpdir(), "skein-leaner-"))
afterAll(() => rmSync(directory, { recursive: true, force: true }))

const run = async (name: string, isLean: boolean) => {
  const outfile = join(directory, `${name}.mjs`)
  await build({
    entryPoints: [fileURLToPath(new URL("fixtures/waitingFiber.mjs", import.meta.url))],
    outfile,
    bundle: true,
    platform: "node",
    format: "esm",
    conditions: ["module"],
    plugins: isLean ? [leanerLibraries] : [],
    logLevel: "error"
  })
  const { stderr, stdout } = spawnSync(process.execPath, ["--expose-gc", outfile], {
    encoding: "utf8",
    timeout: 60_000
  })
  expect(stderr).toBe("")
  return JSON.parse(stdout) as { readonly results: ReadonlyArray<string>; readonly kept: ReadonlyArray<boolean> }
}

describe("Effect in the bundle", () => {
  it("ends effects as Effect does, and keeps nothing of what ran while a fiber waits", async () => {
    const [plain, lean] = [await run("plain", false), await run("lean", true)]
    expect(plain.results.length).toBeGreaterThan(80)
    expect(lean.results).toEqual(plain.results)
    // Otherwise this test would say nothing.
    expect(plain.kept.every((isKept) => isKept)).toBe(true)
    expect(lean.kept.some((isKept) => isKept)).toBe(false)
  })
})
