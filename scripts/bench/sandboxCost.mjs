// @ts-check
// `node scripts/bench/sandboxCost.mjs [--pairs N]`: what the sandbox adds to a command that does nothing. Runs pairs, one bare
// and one confined, so that the load of the machine weighs on both alike.
import { Sandbox } from "@skein/tools/Sandbox"
import * as Effect from "effect/Effect"
import { spawnSync } from "node:child_process"
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { parseArgs } from "node:util"

const { values } = parseArgs({ options: { pairs: { type: "string", default: "50" } } })
const pairs = Number(values.pairs)
if (!Number.isInteger(pairs) || pairs < 1) {
  console.error("Usage: node scripts/bench/sandboxCost.mjs [--pairs N]")
  process.exit(2)
}

const top = realpathSync(mkdtempSync("/var/tmp/skein-cost-"))
const repo = join(top, "repo")
for (let at = 0; at < 200; at++) mkdirSync(join(repo, "src", `part${at}`), { recursive: true })
writeFileSync(join(repo, ".env"), "A=1\n")
spawnSync("git", ["init", "-q", repo])

/** @param {ReadonlyArray<string>} confined */
const run = (confined) => {
  const [file = "bash", ...args] = [...confined, "bash", "-c", "true"]
  const { status } = spawnSync(file, args, { cwd: repo, stdio: "ignore" })
  if (status !== 0) throw new Error("The command failed: is bubblewrap there?")
}

/** @param {ReadonlyArray<number>} figures */
const middle = (figures) => figures.toSorted((a, b) => a - b)[Math.floor(figures.length / 2)] ?? 0

const measured = Effect.gen(function*() {
  const { confine } = yield* Sandbox
  const place = {
    directory: repo,
    approved: [],
    reads: (/** @type {string} */ path) =>
      path.endsWith(".env") ? /** @type {const} */ ("ask") : /** @type {const} */ ("allow")
  }
  let prepared = 0
  const confined = Effect.scoped(Effect.map(confine(place), (line) => {
    prepared = performance.now()
    run(line)
  }))
  yield* confined
  /** @type {Array<readonly [bare: number, confined: number, preparing: number]>} */
  const found = []
  for (let at = 0; at < pairs; at++) {
    const begin = performance.now()
    run([])
    const between = performance.now()
    yield* confined
    found.push([between - begin, performance.now() - between, prepared - between])
  }
  return found
})

const sandbox = Sandbox.layerRequired({
  network: false,
  dataDirectory: join(top, "data"),
  environment: { PATH: process.env["PATH"], HOME: join(top, "home") }
})
mkdirSync(join(top, "data", "spill"), { recursive: true })
const found = await Effect.runPromise(Effect.scoped(Effect.provide(measured, sandbox)))
  .finally(() => rmSync(top, { recursive: true, force: true }))
const [bare, inside] = [middle(found.map(([each]) => each)), middle(found.map(([, each]) => each))]
const preparing = middle(found.map(([, , each]) => each))
const added = middle(found.map(([first, second]) => second - first))
console.log(
  `${pairs} pairs, medians: bare ${bare.toFixed(1)} ms, in the sandbox ${inside.toFixed(1)} ms (${
    preparing.toFixed(1)
  } ms of that to prepare it), added ${added.toFixed(1)} ms`
)
