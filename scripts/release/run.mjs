// @ts-check
// `npm run release` publishes all packages, once they are checked, packed and tried. `npm run release -- --dry-run` does all
// of that but publish.
import { spawnSync } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { root } from "../layout.mjs"
import { packagesOf } from "./packages.mjs"
import { problemsOf } from "./problems.mjs"
import { rehearse } from "./rehearse.mjs"

/** @import { Tarball } from "./install.mjs" */

const usage = `usage: npm run release [-- --dry-run]

Checks that the tree is clean, that all packages have one version, and that CHANGELOG.md, if there is one, describes it.
Builds and packs each package, installs the tarballs in an empty directory, and tries them. Then publishes them with npm.

  --dry-run  do everything except publish, and say what would be published
  --help     show this`

const say = (/** @type {string} */ line) => process.stdout.write(`${line}\n`)
const complain = (/** @type {string} */ line) => process.stderr.write(`release: ${line}\n`)

const options = () => {
  try {
    return parseArgs({
      options: { "dry-run": { type: "boolean", default: false }, help: { type: "boolean", default: false } }
    })
      .values
  } catch (cause) {
    complain(`${cause instanceof Error ? cause.message : String(cause)}\n\n${usage}`)
    return undefined
  }
}

/**
 * Publishes one after the other, and stops at the first that fails.
 * @param {ReadonlyArray<Tarball>} tarballs
 */
const publish = (tarballs) => {
  for (const [index, { file, name }] of tarballs.entries()) {
    const { status } = spawnSync("npm", ["publish", file], { stdio: "inherit", shell: process.platform === "win32" })
    if (status === 0) continue
    const left = tarballs.slice(index).map((each) => `  npm publish ${each.file}`)
    complain(
      `${name} was not published; npm's message is above. Fix its cause, then publish the rest:\n${left.join("\n")}`
    )
    return false
  }
  return true
}

/** Returns whether all went well, and whether the tarballs are still needed. */
const release = async (/** @type {string} */ directory, /** @type {boolean} */ isRehearsal) => {
  const packages = packagesOf()
  const tarballs = await rehearse(packages, directory, say)
  const names = packages.map(({ manifest }) => `${manifest.name}@${manifest.version}`)
  if (!isRehearsal) return publish(tarballs)
  say(`Nothing was published. Without --dry-run, npm publish would run for these, in this order:`)
  names.forEach((name, index) => say(`  ${index + 1}. ${name}`))
  return true
}

const main = async () => {
  const values = options()
  if (values === undefined) return 2
  if (values.help) {
    say(usage)
    return 0
  }
  const problems = problemsOf(root)
  for (const problem of problems) complain(problem)
  if (problems.length > 0) return 1
  const directory = mkdtempSync(join(tmpdir(), "skein-release-"))
  try {
    // What could not be published is still needed.
    if (!await release(directory, values["dry-run"])) return 1
  } catch (cause) {
    complain(cause instanceof Error ? cause.message : String(cause))
    complain(`what was packed is in ${directory}`)
    return 1
  }
  rmSync(directory, { recursive: true, force: true })
  return 0
}

process.exitCode = await main()
