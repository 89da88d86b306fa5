// Bundles the command line program: packages/cli/src/bin.ts and all that it imports, from source, into a few files that
// start about four times as fast as several hundred separate modules. What is imported lazily stays a chunk of its own.
import * as esbuild from "esbuild"
import { readdirSync, readFileSync, rmSync, utimesSync } from "node:fs"
import { join, relative } from "node:path"
import { bundleDir, bundleEntry, root } from "./layout.mjs"

const cli = join(root, "packages", "cli")

/** Native modules and programs: they are looked up in node_modules at run time. */
const external = ["better-sqlite3", "@vscode/ripgrep", "@parcel/watcher", "msgpackr-extract", "*.node"]

/** Builds the bundle and removes what an earlier build left beside it. */
export const bundle = async () => {
  const start = new Date()
  const { version } = JSON.parse(readFileSync(join(cli, "package.json"), "utf8"))
  const { metafile } = await esbuild.build({
    absWorkingDir: root,
    entryPoints: { skein: join(cli, "src", "bin.ts") },
    outdir: bundleDir,
    outExtension: { ".js": ".mjs" },
    chunkNames: "[name]-[hash]",
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node20",
    conditions: ["skein-source", "module"],
    external,
    // Its main entry is UMD, whose inner requires a bundle cannot follow.
    alias: { "jsonc-parser": "jsonc-parser/lib/esm/main.js" },
    minify: true,
    sourcemap: "linked",
    sourcesContent: false,
    legalComments: "none",
    logLevel: "warning",
    metafile: true,
    define: {
      "process.env.NODE_ENV": "\"production\"",
      "__SKEIN_VERSION__": JSON.stringify(version)
    },
    // Dependencies that are still CommonJS call `require` for Node's own modules.
    banner: {
      js:
        "import { createRequire as __createRequire } from \"node:module\"; const require = __createRequire(import.meta.url);"
    }
  })
  const written = new Set(Object.keys(metafile.outputs).map((path) => relative(bundleDir, join(root, path))))
  for (const name of readdirSync(bundleDir)) if (!written.has(name)) rmSync(join(bundleDir, name), { recursive: true })
  // A source that was saved while the build ran must count as newer.
  utimesSync(bundleEntry, start, start)
}
