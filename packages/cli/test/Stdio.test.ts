/** The streams of a real terminal. Needs python3, whose pty module makes it. */
import { spawnSync } from "node:child_process"
import { expect, it } from "vitest"

const hasPython = spawnSync("python3", ["-c", "import pty"]).status === 0
if (!hasPython) console.warn("Stdio.test.ts is skipped: python3, whose pty module it needs, is not there.")

/** Runs in one go, so that no signal is handled between the sizes. */
const program = `
import * as Effect from "effect/Effect"
import { spawnSync } from "node:child_process"
import { Stdio } from ${JSON.stringify(import.meta.resolve("../src/Stdio.ts"))}

const resized = (columns, rows) =>
  spawnSync("stty", ["cols", String(columns), "rows", String(rows)], { stdio: "inherit" })

Effect.runSync(Effect.provide(Effect.map(Stdio, (stdio) => {
  resized(80, 24)
  const first = stdio.size()
  resized(30, 12)
  stdio.out(JSON.stringify([first, stdio.size()]))
}), Stdio.layer))
`

it.skipIf(!hasPython)("knows the size that a terminal has, before it is told that it changed (needs python3)", () => {
  const argv = [process.execPath, "--input-type=module", "--eval", program]
  const { stdout } = spawnSync("python3", ["-c", "import pty, sys; pty.spawn(sys.argv[1:])", ...argv], {
    cwd: import.meta.dirname,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"]
  })
  expect(stdout).toContain(JSON.stringify([{ columns: 80, rows: 24 }, { columns: 30, rows: 12 }]))
})
