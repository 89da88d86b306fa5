#!/usr/bin/env -S node --max-semi-space-size=16
// Starts the program. A build leaves it twice: as modules, and as one script beside the code that V8 compiled from it,
// which starts in about half the time. That code is good for the Node of the build alone and is not published: where it is
// missing, damaged or refused, the modules are started. scripts/codeCache.mjs says how it is laid out. The flag above keeps
// V8 from doubling the room for new objects, which Node 24 does: a tree of 100 agents then takes some 100 MB more.
import { existsSync, readFileSync } from "node:fs"
import module from "node:module"
import { fileURLToPath } from "node:url"
import { Script } from "node:vm"
import zlib from "node:zlib"
import { followLauncher, isTooOld, onNewerNode } from "./node.js"

const bundle = new URL("../dist/bundle/", import.meta.url)
const filename = fileURLToPath(new URL("skein.cjs", bundle))

const compiled = () => {
  // Only modules have source maps, and some commands need next to nothing of the program.
  if (process.sourceMapsEnabled || /^--?(version|v|help|h)$/.test(process.argv[2])) return
  try {
    const cache = readFileSync(new URL("skein.cache", bundle))
    const source = readFileSync(filename)
    const cachedData = cache.subarray(8)
    // V8 checks that the code is its own, but not that it is whole or of this very source: with damaged code it crashes.
    const isWhole = cache.readUInt32LE(0) === zlib.crc32(source) && cache.readUInt32LE(4) === zlib.crc32(cachedData)
    const script = isWhole ? new Script(source.toString("latin1"), { filename, cachedData }) : undefined
    return script?.cachedDataRejected === false ? script : undefined
  } catch {
    // There is none.
    return undefined
  }
}

const start = async () => {
  const script = compiled()
  if (script !== undefined) {
    const load = (/** @type {string} */ specifier) => import(specifier)
    return script.runInThisContext()(module.createRequire(filename), load)
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

if (isTooOld(process.versions.node)) {
  onNewerNode()
} else {
  followLauncher()
  start()
}
