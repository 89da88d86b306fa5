// @ts-check
// `npm run fuzz:bash -- --lines N --seed S`: makes N lines of bash by chance, runs those under strace that the analysis of
// `bash` says may be allowed, and counts what was executed that it did not speak of.
import { spawnSync } from "node:child_process"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { root } from "./layout.mjs"

const { values: { lines, seed } } = parseArgs({
  options: { lines: { type: "string", default: "10000" }, seed: { type: "string", default: "1" } }
})

if (![lines, seed].every((each) => /^\d+$/.test(each))) {
  console.error("Usage: npm run fuzz:bash -- [--lines N] [--seed S], both whole numbers.")
  process.exit(2)
}

const { status } = spawnSync(
  join(root, "node_modules", ".bin", "vitest"),
  ["run", join("packages", "tools", "test", "internal", "bash", "takeApart.test.ts")],
  {
    cwd: root,
    stdio: "inherit",
    shell: process.platform === "win32",
    env: { ...process.env, SKEIN_BASH_LINES: lines, SKEIN_BASH_SEED: seed }
  }
)
process.exitCode = status ?? 1
