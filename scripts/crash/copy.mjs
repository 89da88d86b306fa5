// @ts-check
// Separate copies of the program, which other builds do not change. The source of one may be changed.
import { spawnSync } from "node:child_process"
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { root } from "../layout.mjs"

/**
 * A change of a source: the text that stands there once, and what stands there instead.
 * @typedef {{ readonly file: string, readonly from: string, readonly to: string }} Patch
 */

/** @param {string} path */
const isSource = (path) => !/\/(node_modules|dist|test)$/.test(path)

/** Copies the built program into a directory that is not there yet; gives the copy. @param {string} directory */
export const copyBuilt = (directory) => {
  const cli = join("packages", "cli")
  for (const name of ["bin", "dist", "package.json"]) {
    cpSync(join(root, cli, name), join(directory, cli, name), { recursive: true })
  }
  symlinkSync(join(root, "node_modules"), join(directory, "node_modules"))
  return join(directory, cli, "bin", "skein.js")
}

/**
 * Builds a copy in a directory that is not there yet; gives the program.
 * @param {string} directory
 * @param {ReadonlyArray<Patch>} [patches]
 */
export const buildCopy = (directory, patches = []) => {
  for (const name of ["packages", "scripts", "package.json"]) {
    cpSync(join(root, name), join(directory, name), { recursive: true, filter: isSource })
  }
  const modules = join(directory, "node_modules")
  mkdirSync(join(modules, "@skein"), { recursive: true })
  for (const name of readdirSync(join(root, "node_modules"))) {
    if (name !== "@skein" && name !== ".skein-install") {
      symlinkSync(join(root, "node_modules", name), join(modules, name))
    }
  }
  for (const name of readdirSync(join(directory, "packages"), { withFileTypes: true })) {
    if (!name.isDirectory()) continue
    symlinkSync(join(directory, "packages", name.name), join(modules, "@skein", name.name))
    // Some packages have another version of a library than the rest.
    const own = join(root, "packages", name.name, "node_modules")
    if (existsSync(own)) symlinkSync(own, join(directory, "packages", name.name, "node_modules"))
  }
  for (const { file, from, to } of patches) {
    const path = join(directory, file)
    const source = readFileSync(path, "utf8")
    if (source.split(from).length !== 2) {
      throw new Error(
        `${file} does not contain this exactly once; update scripts/crash/mutants.mjs:\n${from}`
      )
    }
    writeFileSync(path, source.replace(from, () => to))
  }
  const build = "import { bundle } from \"./scripts/build.mjs\"; await bundle()"
  const built = spawnSync(process.execPath, ["--input-type=module", "-e", build], { cwd: directory, encoding: "utf8" })
  if (built.status !== 0) throw new Error(`The copy in ${directory} could not be built: ${built.stderr}`)
  return join(directory, "packages", "cli", "bin", "skein.js")
}
