// @ts-check
// `node scripts/release/installed.mjs DIRECTORY` packs the program, installs it there as users do, and prints the path to
// start it by. With that as SKEIN_CLI, the tests in /test run the packed program.
import { realpathSync } from "node:fs"
import { join, resolve } from "node:path"
import { install, pack } from "./install.mjs"
import { packagesOf } from "./packages.mjs"

/**
 * Packs and installs the program; returns the path to start it by.
 * @param {string} directory
 */
export const installProgram = async (directory) => {
  const tarballs = await pack(packagesOf().filter(({ manifest }) => manifest["bin"] !== undefined), directory)
  const project = join(directory, "project")
  install(project, tarballs)
  return realpathSync(join(project, "node_modules", ".bin", "skein"))
}

if (process.argv[1] === import.meta.filename) {
  const [directory] = process.argv.slice(2)
  if (directory === undefined) {
    process.stderr.write("usage: node scripts/release/installed.mjs DIRECTORY\n")
    process.exit(2)
  }
  process.stdout.write(`${await installProgram(resolve(directory))}\n`)
}
