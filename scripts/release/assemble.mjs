// @ts-check
// Builds what the packages publish, and lays each of them out in a directory of its own, as its tarball has it.
import * as esbuild from "esbuild"
import { spawnSync } from "node:child_process"
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join, relative, sep } from "node:path"
import { root } from "../layout.mjs"
import { thirdParties } from "../licences.mjs"
import { builtIn, publishedManifest } from "./packages.mjs"

/** @import { Package } from "./packages.mjs" */

/** @param {string} directory @returns {ReadonlyArray<string>} */
const filesBelow = (directory) =>
  readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))

/** @param {string} command @param {ReadonlyArray<string>} args */
const run = (command, args) => {
  const { error, status, stderr, stdout } = spawnSync(process.execPath, [join(root, command), ...args], {
    cwd: root,
    encoding: "utf8"
  })
  if (status !== 0) throw new Error(`${command} failed:\n${error?.message ?? ""}${stdout}${stderr}`)
}

const thirdPartyFile = "THIRD-PARTY.txt"

/**
 * The compiler leaves the output of sources that are gone.
 * @param {string} directory of a package
 * @param {boolean} hasThirdParties
 */
const removeStale = (directory, hasThirdParties) => {
  const dist = join(directory, "dist")
  for (const file of filesBelow(dist)) {
    // It was written when the modules were built that it belongs to, and these are up to date.
    if (hasThirdParties && file === join(dist, thirdPartyFile)) continue
    const source = join(directory, "src", relative(dist, file).replace(/(\.d)?\.[jt]s$/, ".ts"))
    if (!file.endsWith(".tsbuildinfo") && !existsSync(source)) rmSync(file)
  }
}

/**
 * Builds these libraries into the modules of a package that import them. All other imports stay as they are.
 * @param {string} dist
 * @param {ReadonlyArray<string>} libraries
 */
const buildIn = async (dist, libraries) => {
  const isBuiltIn = (/** @type {string} */ specifier) =>
    libraries.some((library) => specifier === library || specifier.startsWith(`${library}/`))
  const importing = new RegExp(`from "(${libraries.join("|")})[/"]`)
  const modules = filesBelow(dist).filter((file) => file.endsWith(".js") && importing.test(readFileSync(file, "utf8")))
  if (modules.length === 0) return
  const { metafile } = await esbuild.build({
    absWorkingDir: root,
    entryPoints: modules,
    outbase: dist,
    outdir: dist,
    allowOverwrite: true,
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node22",
    metafile: true,
    legalComments: "none",
    logLevel: "warning",
    plugins: [{
      name: "all-else-external",
      setup: ({ onResolve }) => {
        onResolve({ filter: /.*/ }, ({ importer, kind, path }) => {
          if (kind === "entry-point" || isBuiltIn(path)) return undefined
          // Modules of a library import each other relatively.
          const isOwn = path.startsWith(".") && importer.includes(`${sep}node_modules${sep}`)
          return isOwn ? undefined : { external: true, path }
        })
      }
    }]
  })
  writeFileSync(join(dist, thirdPartyFile), thirdParties(Object.keys(metafile.inputs)))
}

/**
 * Builds what these packages publish. Those that they depend on are built as well.
 * @param {ReadonlyArray<Package>} packages
 */
export const build = async (packages) => {
  // The program is one bundle: setup builds it where it is older than its sources.
  const libraries = packages.filter(({ manifest }) => manifest["bin"] === undefined)
  if (libraries.length < packages.length) run(join("scripts", "setup.mjs"), [])
  if (libraries.length > 0) {
    const directories = libraries.map(({ directory }) => directory)
    run(join("node_modules", "typescript", "bin", "tsc"), ["-b", ...directories])
  }
  for (const { directory, manifest } of libraries) {
    const parts = builtIn[manifest.name]
    removeStale(directory, parts !== undefined)
    if (parts !== undefined) await buildIn(join(directory, "dist"), parts)
  }
}

/**
 * Lays a package that was built out in a directory.
 * @param {Package} from
 * @param {string} to
 */
export const assemble = ({ directory, manifest }, to) => {
  mkdirSync(to, { recursive: true })
  for (const part of ["bin", "dist", "LICENSE", "README.md"]) {
    const path = join(directory, part)
    if (existsSync(path)) cpSync(path, join(to, part), { recursive: true })
  }
  writeFileSync(join(to, "package.json"), `${JSON.stringify(publishedManifest(manifest), undefined, 2)}\n`)
}
