// Makes the clone ready to run: brings a newer Node where this one is too old, installs what package-lock.json says,
// builds the command line program.
// npm runs it before `start`, `test`, `check`, `build` and `bench`, so it must need no dependency and cost next to
// nothing when there is nothing to do.
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { builtFrom } from "./builtFrom.mjs"
import { buildStamp, bundleEntry, expectedStamp, installStamp, readStamp, root } from "./layout.mjs"
import { linkPackages, packagesIn } from "./linkPackages.mjs"
import { linkOwnNode, needNewerNode, npm } from "./ownNode.mjs"

/** @param {string} line */
const say = (line) => process.stderr.write(`skein: ${line}\n`)

/**
 * @param {string} line
 * @returns {never}
 */
const fail = (line) => {
  say(line)
  process.exit(1)
}

/** @param {number} start */
const seconds = (start) => `${((Date.now() - start) / 1000).toFixed(1)} s`

/**
 * Whether node_modules already holds what package-lock.json says, as it does after `npm install <package>`, for which npm
 * does not run the `prepare` script.
 */
const holdsTheLock = () => {
  const hidden = join("node_modules", ".package-lock.json")
  if (!existsSync(join(root, hidden))) return false
  const found = packagesIn(root, hidden)
  return Object.entries(packagesIn(root, "package-lock.json")).every(([path, { link, optional, version }]) =>
    !path.includes("node_modules/") || link === true || (optional === true && found[path] === undefined)
    || found[path]?.version === version
  )
}

/** The packages whose install scripts may run, of those that are installed. */
const packagesWithScripts = () =>
  Object.entries(JSON.parse(readFileSync(join(root, "package.json"), "utf8")).allowScripts)
    .flatMap(([name, allowed]) => allowed === true && existsSync(join(root, "node_modules", name)) ? [name] : [])

/**
 * npm takes better-sqlite3, which comes compiled, for a package to compile when it installs it from package-lock.json. So
 * no scripts run at first, and then those of the packages that need theirs.
 */
const installPackages = () => {
  const { error, status } = npm(["ci", "--ignore-scripts", "--no-audit", "--no-fund"])
  if (error !== undefined || status !== 0) return { error, status }
  const names = packagesWithScripts()
  return names.length === 0 ? { error, status } : npm(["rebuild", "--no-audit", "--no-fund", ...names])
}

const install = async () => {
  const found = readStamp(installStamp)
  const expected = expectedStamp()
  if (found === expected) return
  const sameNode = found?.split(" lock ")[0] === expected.split(" lock ")[0]
  if (sameNode && holdsTheLock()) {
    linkPackages(root)
    return await import("./prepare.mjs")
  }
  const start = Date.now()
  say(
    found === undefined
      ? "installing dependencies with npm ci; a minute or two, once"
      : "package-lock.json or Node changed: installing again with npm ci"
  )
  const { error, status } = installPackages()
  if (error !== undefined) fail(`npm could not be started (${error.message}). Run "npm ci" by hand to see why.`)
  if (status !== 0) {
    fail(
      "npm ci failed; its own message is above. It needs the npm registry, or a filled npm cache. Run the command again once it can be reached."
    )
  }
  await import("./prepare.mjs")
  say(`installed in ${seconds(start)}`)
}

const build = async () => {
  // Of what the sources are before the build: what is saved meanwhile must be built again.
  const expected = builtFrom(root)
  if (existsSync(bundleEntry) && readStamp(buildStamp) === expected) return
  rmSync(buildStamp, { force: true })
  const { bundle } = await import("./build.mjs")
  try {
    await bundle(async (name, run) => {
      const start = Date.now()
      process.stderr.write(`skein: ${name} … `)
      await run()
      process.stderr.write(`${seconds(start)}\n`)
    })
  } catch {
    fail("the program could not be built; esbuild's message is above.")
  }
  writeFileSync(buildStamp, expected)
}

needNewerNode()
await install()
linkOwnNode()
await build()
