/** The reference is written from the code's tables, and a stale one is detected. */
import { spawnSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { expect, it, vi } from "vitest"

vi.setConfig({ testTimeout: 60_000 })

const script = fileURLToPath(new URL("../scripts/reference.mjs", import.meta.url))
const run = (...args: ReadonlyArray<string>) => spawnSync(process.execPath, [script, ...args], { encoding: "utf8" })

it("lists commands, flags, keys, events, errors and tools, and detects a stale file", () => {
  const place = mkdtempSync(join(tmpdir(), "skein-reference-"))
  try {
    const file = join(place, "reference.md")
    expect(run("--file", file)).toMatchObject({ status: 0, stderr: "" })
    const text = readFileSync(file, "utf8")
    for (
      const each of [
        "#### `skein sessions resume`",
        "`--budget-usd USD`",
        "`limits.subagent_depth` ",
        "`subagent.completed`",
        "`SessionNotFound`",
        "`task_wait`",
        "A permission that nobody could grant"
      ]
    ) expect(text).toContain(each)
    expect(run("--check", "--file", file)).toMatchObject({ status: 0, stdout: "" })
    writeFileSync(file, text.replace("`--budget-usd USD`", "`--budget-eur EUR`"))
    expect(run("--check", "--file", file)).toMatchObject({ status: 1, stdout: expect.stringContaining("is stale") })
  } finally {
    rmSync(place, { recursive: true })
  }
})
