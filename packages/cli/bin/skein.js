#!/usr/bin/env -S node --max-semi-space-size=8
// Starts the program. A build leaves it twice: as modules, and as one script, which starts faster with code that V8
// compiled ahead (compiled.js). The flag above bounds the room for new objects, which is large in Node 24: without it, a tree
// of 100 agents takes some 100 MB more.
import { existsSync, readFileSync } from "node:fs"
import module from "node:module"
import { fileURLToPath } from "node:url"
import { followLauncher, isTooOld, onNewerNode } from "./node.js"

const bundle = new URL("../dist/bundle/", import.meta.url)
const filename = fileURLToPath(new URL("skein.cjs", bundle))

const compiled = async () => {
  // Only modules have source maps and what serves others, and some commands need next to nothing of the program.
  if (process.sourceMapsEnabled || /^(--?(help|h)|serve|mcp|acp)$/.test(process.argv[2])) return
  const { compiledScript } = await import("./compiled.js")
  return compiledScript(filename)
}

// How often V8 runs a function before it optimises it, in two stages: ten and twenty times as often as by itself. In a run of
// seconds, optimising takes more CPU time than it saves.
const patience = ["--invocation-count-for-maglev=4000", "--invocation-count-for-turbofan=60000"]

const start = async () => {
  const found = await compiled()
  if (found !== undefined) {
    const load = (/** @type {string} */ specifier) => import(specifier)
    const prompts = () => {
      // A run that prompted a model has compiled what matters; code of less would slow down all later runs. V8 keeps its flags
      // with the code, and takes it only with the same ones. Those above are the same in the versions of Node here.
      const { keep } = found
      if (keep !== undefined) process.once("exit", (exitCode) => exitCode === 0 && keep())
      else if (/^v2[2-4]\./.test(process.version)) {
        patience.forEach(process.getBuiltinModule("node:v8").setFlagsFromString)
      }
    }
    return found.script.runInThisContext()(module.createRequire(filename), load, prompts)
  }
  const entry = new URL("skein.mjs", bundle)
  if (existsSync(entry)) {
    // It does the same for modules, from the second start on.
    module.enableCompileCache()
    return import(entry.href)
  }
  process.stderr.write(
    "skein: the program is not built yet. In a clone, \"npm run build\" builds it, and so does \"npm start\".\n"
  )
  process.exitCode = 1
}

/** Scripts and editors ask for the version, which needs nothing of the program. */
const asksVersion = ([first, ...rest]) =>
  first === "--version" || first === "-v" || (first === "version" && rest.length === 0)

if (isTooOld(process.versions.node)) {
  onNewerNode()
} else if (asksVersion(process.argv.slice(2))) {
  const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"))
  process.stdout.write(`${version}\n`)
} else {
  followLauncher()
  start()
}
