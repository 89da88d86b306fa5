/** Holds what every request costs before any work: the bench of the fixed prefix, which needs no model and is exact. */
import { spawnSync } from "node:child_process"
import { fileURLToPath } from "node:url"
import { expect, it, vi } from "vitest"

vi.setConfig({ testTimeout: 60_000 })

it("keeps the fixed prefix of the root and its subagents within their targets", () => {
  const bench = fileURLToPath(new URL("../scripts/bench/prefix.mjs", import.meta.url))
  const { status, stderr, stdout } = spawnSync(process.execPath, [bench], { encoding: "utf8" })
  expect(status, `${stdout}\n${stderr}`).toBe(0)
  for (const agent of ["root", "explore", "general"]) expect(stdout).toMatch(new RegExp(`^${agent} +\\d+ `, "m"))
})
