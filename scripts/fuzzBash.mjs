// @ts-check
// `npm run fuzz:bash -- --lines N --execute N --seed S`: makes N random lines of bash. Of those that the analysis of
// `bash` may allow it compares what it found with a second reading, and runs some under strace. Counts what the
// analysis missed.
import { spawnSync } from "node:child_process"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { root } from "./layout.mjs"

const { values: { execute, lines, seed } } = parseArgs({
  options: {
    lines: { type: "string", default: "300000" },
    execute: { type: "string", default: "5000" },
    seed: { type: "string", default: "1" }
  }
})

if (![execute, lines, seed].every((each) => /^\d+$/.test(each))) {
  console.error("Usage: npm run fuzz:bash -- [--lines N] [--execute N] [--seed S], all whole numbers.")
  process.exit(2)
}

const { status } = spawnSync(
  join(root, "node_modules", ".bin", "vitest"),
  ["run", join("packages", "tools", "test", "internal", "bash", "takeApart.test.ts")],
  {
    cwd: root,
    stdio: "inherit",
    shell: process.platform === "win32",
    env: { ...process.env, SKEIN_BASH_LINES: lines, SKEIN_BASH_EXECUTE: execute, SKEIN_BASH_SEED: seed }
  }
)
process.exitCode = status ?? 1
