// @ts-check
// Which packages are published, in which order, and what their published package.json says. In the clone `exports` name
// the sources, so that nothing has to be built before they can be imported; published ones name what was built.
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { root } from "../layout.mjs"

/**
 * @typedef {Readonly<Record<string, string>>} Versions
 * @typedef {{
 *   readonly name: string, readonly version: string, readonly exports?: Readonly<Record<string, unknown>>,
 *   readonly dependencies?: Versions, readonly peerDependencies?: Versions, readonly devDependencies?: Versions,
 *   readonly [key: string]: unknown
 * }} Manifest
 * @typedef {{ readonly directory: string, readonly manifest: Manifest }} Package
 */

/**
 * What is built into a library instead of being installed beside it. @effect/sql-sqlite-node asks for a better-sqlite3
 * that has to be compiled; built in, it finds the newer one that the library asks for, which comes compiled. npm reads
 * `overrides` of the top package only, so these cannot do it for those who install the library.
 * @type {Readonly<Record<string, ReadonlyArray<string>>>}
 */
export const builtIn = { "@skein/storage": ["@effect/sql-sqlite-node"] }

/**
 * Whether what is published of a package has this dependency in it, so that it need not be installed beside it. The program
 * is one bundle, and the page another one.
 * @param {string} name
 * @param {string} dependency
 */
export const isBuiltIn = (name, dependency) =>
  name === "skein" || name === "@skein/web"
    ? dependency !== "@skein/testing"
    : builtIn[name]?.includes(dependency) === true

/** @param {string} directory @returns {Manifest} */
const readManifest = (directory) => JSON.parse(readFileSync(join(directory, "package.json"), "utf8"))

/**
 * The packages that are published, each after those that it depends on.
 * @param {string} [workspace]
 * @returns {ReadonlyArray<Package>}
 */
export const packagesOf = (workspace = root) => {
  const folder = join(workspace, "packages")
  const found = readdirSync(folder)
    .map((name) => join(folder, name))
    .filter((directory) => existsSync(join(directory, "package.json")))
    .map((directory) => ({ directory, manifest: readManifest(directory) }))
    .filter(({ manifest }) => manifest["private"] !== true)
  /** @type {Set<Package>} */
  const ordered = new Set()
  const add = (/** @type {Package} */ each) => {
    const { dependencies = {}, peerDependencies = {} } = each.manifest
    for (const other of found) {
      if (other.manifest.name in { ...dependencies, ...peerDependencies } && !ordered.has(other)) add(other)
    }
    ordered.add(each)
  }
  // The program, which is what users look for, comes last: then all that it speaks of is there.
  for (const each of found.toSorted((a, b) => Number("bin" in a.manifest) - Number("bin" in b.manifest))) add(each)
  return [...ordered]
}

/** @param {unknown} target */
const builtTarget = (target) => {
  const match = typeof target === "string" ? /^\.\/src\/(.+)\.ts$/.exec(target) : null
  return match === null ? target : { types: `./dist/${match[1]}.d.ts`, default: `./dist/${match[1]}.js` }
}

/**
 * What the package.json of a tarball says: `exports` name what was built; what only the clone needs is left out.
 * @param {Manifest} manifest
 * @returns {Manifest}
 */
export const publishedManifest = (manifest) => ({
  ...Object.fromEntries(Object.entries(manifest).filter(([key]) => key !== "devDependencies" && key !== "scripts")),
  name: manifest.name,
  version: manifest.version,
  exports: Object.fromEntries(Object.entries(manifest.exports ?? {}).map(([key, to]) => [key, builtTarget(to)]))
})
