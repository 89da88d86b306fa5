/** The benchmark: only correct runs count, and the table compares the medians with raw and with the targets. */
import { spawnSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterAll, expect, it, vi } from "vitest"
import { measure } from "../scripts/bench/measure.mjs"
import { peers } from "../scripts/bench/peers.mjs"
import { summarise } from "../scripts/bench/results.mjs"
import { scenario } from "../scripts/bench/scenarios.mjs"
import { makeWorkspace, restoreHome } from "../scripts/bench/workspace.mjs"

vi.setConfig({ testTimeout: 60_000 })

const directory = mkdtempSync(join(tmpdir(), "skein-bench-test-"))
afterAll(() => rmSync(directory, { recursive: true, force: true }))

const run = async (spec: string, args: ReadonlyArray<string>) => {
  const wanted = scenario(spec)
  if (wanted === undefined) throw new Error(`there is no scenario ${spec}`)
  const workspace = makeWorkspace(directory)
  await restoreHome(
    workspace,
    "empty",
    undefined,
    () => Promise.resolve({ correct: true, exitCode: 0, timedOut: false, requests: 0 })
  )
  return measure(wanted, args, workspace, 30_000)
}

it("runs, and writes the table and the figure", () => {
  const out = join(directory, "out")
  const program = fileURLToPath(new URL("../scripts/bench/run.mjs", import.meta.url))
  const args = [program, "--peers", "raw", "--scenarios", "S1,S2:2", "--reps", "1", "--out", out]
  const { status, stdout } = spawnSync(process.execPath, args, { encoding: "utf8" })
  expect(status).toBe(0)
  expect(stdout).toMatch(/\| S2:2 +\| 2 subagents in parallel +\| wall time, ms +\| \d+ +\|/)
  expect(readFileSync(join(out, "table.md"), "utf8")).toBe(stdout)
  expect(readFileSync(join(out, "figure.svg"), "utf8")).toMatch(/^<svg [^]*raw 1\.0 ×[^]*<\/svg>\n$/)
})

it("counts the run of a complete loop", async () => {
  const raw = await run("S3:3", peers["raw"]?.run("FANOUT n=3 k=3", false) ?? [])
  expect(raw).toMatchObject({ correct: true, exitCode: 0, requests: 14, mostOpen: 3 })
})

it.each<readonly [name: string, args: ReadonlyArray<string>]>([
  ["asks nothing", ["--eval", "0"]],
  ["leaves out a subagent", peers["raw"]?.run("FANOUT n=2 k=3", false) ?? []],
  ["leaves out a round", peers["raw"]?.run("FANOUT n=3 k=2", false) ?? []],
  ["fails", ["--eval", "process.exit(1)"]]
])("does not count the run of a system that %s", async (_, args) => {
  expect(await run("S2:3", args)).toMatchObject({ correct: false })
})

const result = (peer: string, spec: string, figures: object, correct = true) => ({
  peer,
  spec,
  correct,
  exitCode: 0,
  timedOut: false,
  requests: 1,
  ...figures
})

it("takes the median of the correct runs, its ratio to raw, and whether the target is reached", () => {
  const [wall, cpu] = summarise([
    ...[100, 90, 5_000].map((wallMs) => result("raw", "S2:100", { wallMs, cpuS: 1 })),
    ...[220, 230, 240].map((wallMs) => result("skein", "S2:100", { wallMs, cpuS: 4.5 })),
    result("skein", "S2:100", { wallMs: 1, cpuS: 0.1 }, false)
  ])
  expect(wall).toMatchObject({
    field: "wallMs",
    cells: [{ peer: "raw", value: 100, ratio: 1 }, { peer: "skein", runs: 4, correct: 3, value: 230, ratio: 2.3 }],
    target: { says: "2.4 × raw", ratio: 2.4, met: true }
  })
  expect(cpu).toMatchObject({ field: "cpuS", target: { says: "3 × raw", met: false } })
})

it("compares a continued session with a cold start", () => {
  const rows = summarise([
    result("raw", "S1", { firstMs: 40, wallMs: 90 }),
    result("skein", "S1", { firstMs: 160, wallMs: 300 }),
    result("skein", "S5:200", { firstMs: 200 })
  ])
  expect(rows.at(-1)).toMatchObject({
    cells: [{ value: 200, ratio: 5 }],
    target: { says: "S1 + 50 ms", ratio: 5.25, met: true }
  })
})
