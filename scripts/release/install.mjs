// @ts-check
// Packs packages as they are published, and installs the tarballs in a project of their own, outside of the clone.
import { spawnSync } from "node:child_process"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { assemble, build } from "./assemble.mjs"

/** @import { Package } from "./packages.mjs" */

/**
 * @typedef {{
 *   readonly name: string, readonly directory: string, readonly file: string, readonly size: number,
 *   readonly unpackedSize: number, readonly files: ReadonlyArray<{ readonly path: string, readonly size: number }>
 * }} Tarball
 */

/**
 * Runs npm and returns what it wrote.
 * @param {ReadonlyArray<string>} args
 * @param {string} cwd
 */
const npm = (args, cwd) => {
  const { error, status, stderr, stdout } = spawnSync("npm", [...args], {
    cwd,
    encoding: "utf8",
    maxBuffer: 2 ** 26,
    shell: process.platform === "win32",
    // Settings of an npm that started this one, as in `npm run`, are not those of the project.
    env: Object.fromEntries(
      Object.entries(process.env).filter(([name]) => !/^npm_(config_local_prefix|package)/i.test(name))
    )
  })
  if (status === 0) return stdout
  throw new Error(`npm ${args.join(" ")} failed in ${cwd}:\n${error?.message ?? ""}${stdout}${stderr}`)
}

/**
 * Builds and packs these packages; what is packed stays laid out beside the tarballs.
 * @param {ReadonlyArray<Package>} packages
 * @param {string} into
 * @returns {Promise<ReadonlyArray<Tarball>>}
 */
export const pack = async (packages, into) => {
  await build(packages)
  return packages.map((each) => {
    const directory = join(into, "packages", each.manifest.name)
    assemble(each, directory)
    const [{ filename, files, name, size, unpackedSize }] = JSON.parse(
      npm(["pack", "--json", "--pack-destination", into], directory)
    )
    return { name, directory, file: join(into, filename), size, unpackedSize, files }
  })
}

/**
 * Installs tarballs and other packages in a project of this directory. No install script runs: nothing may need one.
 * @param {string} directory
 * @param {ReadonlyArray<Tarball>} tarballs
 * @param {object} [manifest] what its package.json says besides
 */
export const install = (directory, tarballs, manifest = {}) => {
  mkdirSync(directory, { recursive: true })
  const dependencies = Object.fromEntries(tarballs.map(({ file, name }) => [name, `file:${file}`]))
  const project = { name: "somebodys-project", private: true, type: "module", dependencies, ...manifest }
  writeFileSync(join(directory, "package.json"), JSON.stringify(project))
  npm(["install", "--ignore-scripts", "--prefer-offline", "--no-audit", "--no-fund"], directory)
}
