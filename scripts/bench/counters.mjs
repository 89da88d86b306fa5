// @ts-check
// `npm run bench:counters`: what a request costs in things that no other load on the machine changes. It builds the program
// with counters in Effect's run loop, which no user gets, runs three scenarios, and compares with counters.json.
// `--write` stores the counters where they fell, and fails where one rose.
import * as esbuild from "esbuild"
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import { banner, common } from "../build.mjs"
import { root } from "../layout.mjs"
import { measure } from "./measure.mjs"
import { peers } from "./peers.mjs"
import { scenario } from "./scenarios.mjs"
import { makeWorkspace, restoreHome, writeHome } from "./workspace.mjs"

const here = (/** @type {string} */ name) => fileURLToPath(new URL(name, import.meta.url))
const recordFile = here("counters.json")
const program = join(root, "packages", "cli", "bin", "skein.js")

/** Where Effect counts, by file. @type {ReadonlyArray<readonly [file: string, text: string, instead: string]>} */
const counted = [
  ["tracer.js", "context: f => f()", "context: f => { globalThis.__skeinCounters.operations++; return f() }"],
  ["fiberRuntime.js", "super();", "super(); globalThis.__skeinCounters.fibers++;"],
  [
    "fiberRefs.js",
    "const locals = new Map(self.locals);\n  unsafeUpdateAs",
    "const locals = new Map(self.locals);\n  globalThis.__skeinCounters.copies++;\n  unsafeUpdateAs"
  ]
]

/** @type {esbuild.Plugin} */
const counting = {
  name: "counting",
  setup: (build) => {
    for (const [file, text, instead] of counted) {
      build.onLoad({ filter: new RegExp(`effect/dist/esm/internal/${file}$`) }, ({ path }) => {
        const source = readFileSync(path, "utf8")
        if (!source.includes(text)) {
          throw new Error(`${path} has no ${text}: count elsewhere (scripts/bench/counters.mjs)`)
        }
        return { contents: source.replace(text, instead) }
      })
    }
  }
}

/** Builds the counted program; returns the arguments of node that start it. */
const build = async () => {
  const outdir = join(root, "packages", "cli", "dist", "counted")
  rmSync(outdir, { recursive: true, force: true })
  await esbuild.build({
    ...common,
    outdir,
    plugins: [counting],
    format: "esm",
    splitting: true,
    banner,
    outExtension: { ".js": ".mjs" }
  })
  copyFileSync(here("counting.cjs"), join(outdir, "counting.cjs"))
  return {
    args: ["--require", join(outdir, "counting.cjs"), join(outdir, "skein.mjs")],
    read: () => JSON.parse(readFileSync(join(outdir, "counters.json"), "utf8"))
  }
}

/**
 * What is counted, by name: the scenario, the figure, and by how many percent it may differ between two runs of one program.
 * @type {Readonly<Record<string, readonly [spec: string, of: (counters: any, requests: number) => number, spread: number]>>}
 */
const figures = {
  "S1: operations": ["S1", ({ operations }) => operations, 3],
  "S1: undici loaded": ["S1", ({ undici }) => undici ? 1 : 0, 0],
  "S2:100: operations a request": ["S2:100", ({ operations }, requests) => operations / requests, 3],
  "S2:100: KB allocated a request": ["S2:100", ({ allocated }, requests) => allocated / 1024 / requests, 5],
  "S2:100: fibers": ["S2:100", ({ fibers }) => fibers, 5],
  "S2:100: copies of fiberRefs": ["S2:100", ({ copies }) => copies, 5],
  "S2:100: file calls a request": ["S2:100", ({ fileCalls }, requests) => fileCalls / requests, 5],
  "S4:200: operations a turn": ["S4:200", ({ operations }, requests) => operations / requests, 3],
  "S4:200: statements a turn": ["S4:200", ({ statements }, requests) => statements / requests, 3],
  "S4:200: transactions a turn": ["S4:200", ({ transactions }, requests) => transactions / requests, 3]
}

/** Runs the scenarios, and returns each figure. */
export const countAll = async () => {
  const skein = peers["skein"]
  if (skein === undefined) throw new Error("there is no skein among the peers")
  const { args, read } = await build()
  const work = mkdtempSync(join(tmpdir(), "skein-counters-"))
  const workspace = makeWorkspace(join(work, "skein"))
  /** @param {string} spec */
  const run = async (spec) => {
    const wanted = scenario(spec)
    if (wanted?.prompt === undefined) throw new Error(`there is no scenario ${spec}`)
    for (const [path, text] of Object.entries(skein.settings ?? {})) writeHome(workspace, path, text)
    const given = skein.run(wanted.prompt, false)
    const at = given.indexOf(program)
    const done = await measure(wanted, [...given.slice(0, at), ...args, ...given.slice(at + 1)], workspace, 120_000)
    if (!done.correct) throw new Error(`${spec} was not done: ${done.output}`)
    return { counters: read(), requests: done.requests }
  }
  const prepared = async () => ({ correct: true, exitCode: 0, timedOut: false, requests: (await run("S1")).requests })
  /** @type {Record<string, number>} */
  const found = {}
  for (const spec of ["S1", "S2:100", "S4:200"]) {
    await restoreHome(workspace, "warm", undefined, prepared)
    const { counters, requests } = await run(spec)
    for (const [name, [of, figure]] of Object.entries(figures)) {
      if (of === spec) found[name] = Math.round(figure(counters, requests) * 100) / 100
    }
  }
  rmSync(work, { recursive: true, force: true })
  return found
}

/** The figures as they were stored last. @returns {Readonly<Record<string, number>>} */
export const record = () => JSON.parse(readFileSync(recordFile, "utf8"))

/** The figures that are above the record by more than their spread. @param {Readonly<Record<string, number>>} found */
export const risen = (found) =>
  Object.entries(found).flatMap(([name, value]) => {
    const stored = record()[name]
    const spread = figures[name]?.[2] ?? 0
    return stored !== undefined && value > stored * (1 + spread / 100)
      ? [`${name}: ${value}, and it was ${stored}`]
      : []
  })

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { values: { write } } = parseArgs({ options: { write: { type: "boolean", default: false } } })
  const found = await countAll()
  const stored = record()
  const width = Math.max(...Object.keys(found).map((name) => name.length))
  for (const [name, value] of Object.entries(found)) {
    console.log(`${name.padEnd(width)}  ${String(value).padStart(9)}  stored ${stored[name] ?? "never"}`)
  }
  const worse = risen(found)
  if (worse.length > 0) {
    console.error(`\nThese rose, and counters only fall:\n${worse.join("\n")}`)
    process.exitCode = 1
  } else if (write) {
    const lower = Object.fromEntries(
      Object.entries(found).map(([name, value]) => [name, Math.min(value, stored[name] ?? value)])
    )
    writeFileSync(recordFile, `${JSON.stringify(lower, null, 2)}\n`)
  }
}
