// `npm run check`: every gate, each one to its end, and a line for each. It changes no source file; `npm run fix` does.
// `--except GATE` leaves one out, if you have just run it.
import { spawnSync } from "node:child_process"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { root } from "./layout.mjs"

const bin = (/** @type {string} */ name) => join(root, "node_modules", ".bin", name)

/** @type {ReadonlyArray<readonly [gate: string, command: ReadonlyArray<string>, advice: string]>} */
const gates = [
  ["format", [bin("dprint"), "check", "--list-different"], "npm run fix"],
  ["lint", [bin("oxlint")], "npm run fix repairs some of them"],
  ["types and Effect diagnostics", [bin("tsc"), "-b"], "each line names file, line and rule"],
  ["boundaries", [process.execPath, join(root, "scripts", "boundaries.mjs")], "each line says how"],
  ["unused code", [bin("knip"), "--no-config-hints"], "remove what it lists, or use it"],
  ["prose", [process.execPath, join(root, "scripts", "prose.mjs")], "each line says what to write instead"],
  [
    "reference",
    [process.execPath, join(root, "scripts", "reference.mjs"), "--check"],
    "npm run reference"
  ],
  ["tests", [bin("vitest"), "run"], "npx vitest FILE runs one file again on every change"]
]

const { values: { except } } = parseArgs({ options: { except: { type: "string", multiple: true, default: [] } } })
const unknown = except.filter((name) => gates.every(([gate]) => gate !== name))
if (unknown.length > 0) {
  console.error(`There is no gate ${unknown.join(", ")}. There are: ${gates.map(([gate]) => gate).join(", ")}.`)
  process.exit(2)
}
const wanted = gates.filter(([gate]) => !except.includes(gate))

const failed = wanted.filter(([gate, [command, ...args], advice]) => {
  const start = Date.now()
  const { status } = spawnSync(/** @type {string} */ (command), args, {
    cwd: root,
    stdio: "inherit",
    shell: process.platform === "win32"
  })
  const time = `${((Date.now() - start) / 1000).toFixed(1)} s`
  console.log(status === 0 ? `ok      ${gate} (${time})` : `FAILED  ${gate} (${time}): ${advice}`)
  return status !== 0
})

if (failed.length > 0) {
  console.log(`\n${failed.length} of ${wanted.length} gates failed: ${failed.map(([gate]) => gate).join(", ")}`)
  process.exitCode = 1
}
