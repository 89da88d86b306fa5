// @ts-check
// Bundles the command line program, packages/cli/src/bin.ts and all that it imports, from source: into a few modules that
// start about four times as fast as several hundred separate ones (what is imported lazily stays a module of its own), and
// into one script whose compiled code is kept, which halves that again on the Node that it was built with.
import * as esbuild from "esbuild"
import { spawnSync } from "node:child_process"
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { basename, join, relative } from "node:path"
import { parseSync } from "oxc-parser"
import { bundleDir, bundleScript, codeCache, root, thirdPartyFile } from "./layout.mjs"
import { thirdParties } from "./licences.mjs"
import { pageDir, writePage } from "./webPage.mjs"

const cli = join(root, "packages", "cli")

/** Native modules and programs: they are looked up in node_modules at run time. */
const external = ["better-sqlite3", "@vscode/ripgrep", "@parcel/watcher", "msgpackr-extract", "*.node"]

/** What all builds of the program share. @type {esbuild.BuildOptions} */
export const common = {
  absWorkingDir: root,
  entryPoints: { skein: join(cli, "src", "bin.ts") },
  outdir: bundleDir,
  bundle: true,
  platform: "node",
  target: "node22",
  conditions: ["module"],
  external,
  alias: {
    // Its main entry is UMD, whose inner requires a bundle cannot follow.
    "jsonc-parser": "jsonc-parser/lib/esm/main.js",
    // Of its CommonJS nothing can be left out.
    "yaml": join(root, "node_modules", "yaml", "browser", "dist", "index.js")
  },
  minify: true,
  legalComments: "none",
  logLevel: "warning",
  define: {
    "process.env.NODE_ENV": "\"production\"",
    "__SKEIN_VERSION__": JSON.stringify(JSON.parse(readFileSync(join(cli, "package.json"), "utf8")).version)
  }
}

/** Dependencies that are still CommonJS call `require` for Node's own modules. */
export const banner = {
  js:
    "import { createRequire as __createRequire } from \"node:module\"; const require = __createRequire(import.meta.url);"
}

/**
 * Writes the modules and the licences of what they hold, and returns the names of the files.
 * @param {ReadonlyArray<string>} page what the page is made of
 */
const writeModules = async (page) => {
  const { metafile } = await esbuild.build({
    ...common,
    outExtension: { ".js": ".mjs" },
    chunkNames: "[name]-[hash]",
    splitting: true,
    format: "esm",
    sourcemap: "linked",
    sourcesContent: false,
    metafile: true,
    banner
  })
  const used = Object.values(metafile.outputs).flatMap(({ inputs }) =>
    Object.entries(inputs).flatMap(([file, { bytesInOutput }]) => bytesInOutput > 0 ? [file] : [])
  )
  writeFileSync(thirdPartyFile, thirdParties([...used, ...page]))
  return [
    ...Object.keys(metafile.outputs).map((path) => relative(bundleDir, join(root, path))),
    basename(thirdPartyFile),
    basename(pageDir)
  ]
}

/**
 * Turns each `import()` into a call of `__import`: in a precompiled script, Node no longer knows which loader to use.
 * @param {string} source
 */
const throughLoader = (source) => {
  /** @type {Array<number>} */
  const starts = []
  const visit = (/** @type {unknown} */ value) => {
    if (typeof value !== "object" || value === null) return
    if ("type" in value && value.type === "ImportExpression" && "start" in value) starts.push(Number(value.start))
    Object.values(value).forEach(visit)
  }
  visit(parseSync("skein.cjs", source, { sourceType: "script" }).program)
  return starts.toSorted((a, b) => b - a).reduce((text, at) => `${text.slice(0, at)}__${text.slice(at)}`, source)
}

/** Writes the script: a function of `require`, `__import`, and what it calls when it is about to prompt a model. */
const writeScript = async () => {
  const { outputFiles } = await esbuild.build({
    ...common,
    // What serves others is not started often, and would make every start a little slower: it is only there as modules.
    external: [
      ...external,
      "*/internal/serve/execute.ts",
      "*/internal/mcpServe/execute.ts",
      "*/internal/mcpCommands/reach.ts",
      "*/internal/acp/execute.ts"
    ],
    format: "cjs",
    // Node reads it faster, one byte for each character.
    charset: "ascii",
    // A script does not know its own path; the given loader does.
    define: { ...common.define, "import.meta.url": "__skeinURL" },
    logOverride: { "empty-import-meta": "error" },
    write: false
  })
  const source = outputFiles?.[0]?.text ?? ""
  const url = "const __skeinURL = require(\"node:url\").pathToFileURL(require.resolve(\"./skein.cjs\")).href;"
  writeFileSync(bundleScript, `(function (require, __import, __skeinPrompts) {${url}${throughLoader(source)}})\n`)
}

const compileAhead = () => {
  const { status, stderr } = spawnSync(process.execPath, [join(root, "scripts", "codeCache.mjs")], {
    stdio: ["ignore", "ignore", "pipe"],
    encoding: "utf8",
    timeout: 60_000
  })
  if (status === 0) return
  process.stderr.write(`skein: the program could not be compiled ahead, so it starts more slowly. ${stderr}\n`)
}

/**
 * Builds the bundle and removes what an earlier build left beside it.
 * @param {(name: string, run: () => unknown) => Promise<void>} step runs a part of it, which has a name
 */
export const bundle = async (step = async (_, run) => void await run()) => {
  rmSync(codeCache, { force: true })
  /** @type {ReadonlyArray<string>} */
  let page = []
  await step("building the page", async () => page = await writePage())
  await step("bundling the program", async () => {
    const [modules] = await Promise.all([writeModules(page), writeScript()])
    const written = new Set([...modules, basename(bundleScript)])
    for (const name of readdirSync(bundleDir)) {
      if (!written.has(name)) rmSync(join(bundleDir, name), { recursive: true })
    }
  })
  await step("compiling it ahead, for faster starts", compileAhead)
}
