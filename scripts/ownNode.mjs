// Skein needs a newer Node than some machines have. Where a script of this clone is started with an older one, this
// module installs a Node below scripts/node and runs the script again with it. Node built-ins only, in syntax that old
// versions read.
import { spawnSync } from "node:child_process"
import { existsSync, lstatSync, mkdirSync, realpathSync, rmSync, symlinkSync } from "node:fs"
import { delimiter, dirname, join } from "node:path"
import { isTooOld, oldestNode, ownNode } from "../packages/cli/bin/node.js"
import { root } from "./layout.mjs"

/** @param {string} line */
const say = (line) => process.stderr.write(`skein: ${line}\n`)

/** The environment in which npm and the scripts that it starts find a Node first. */
const withFirst = (/** @type {string} */ node) => ({
  ...process.env,
  PATH: `${dirname(node)}${delimiter}${process.env["PATH"] ?? ""}`
})

/**
 * Runs npm on this very Node.
 * @param {ReadonlyArray<string>} args
 * @param {string} [cwd]
 */
export const npm = (args, cwd = root) => {
  const cli = process.env["npm_execpath"]
  // What npm prints is progress: standard output belongs to the program that runs afterwards.
  const options = {
    cwd,
    stdio: /** @type {["ignore", number, number]} */ (["ignore", 2, 2]),
    env: withFirst(process.execPath)
  }
  return cli !== undefined && /\.c?js$/.test(cli)
    ? spawnSync(process.execPath, [cli, ...args], options)
    : spawnSync("npm", [...args], { ...options, shell: process.platform === "win32" })
}

/** Installs a Node below scripts/node, unless it is there; returns its path. */
const install = () => {
  const present = ownNode()
  if (present !== undefined) return present
  say(`Node ${oldestNode} or newer is needed and this is Node ${process.versions.node}: installing one for this clone`)
  npm(["ci", "--no-audit", "--no-fund"], join(root, "scripts", "node"))
  const installed = ownNode()
  if (installed !== undefined) return installed
  say(
    `a newer Node could not be installed: see npm's message above, if any. The registry has none for ${process.platform}-${process.arch} perhaps. `
      + `Install Node ${oldestNode} or newer from https://nodejs.org and run the command again.`
  )
  return process.exit(1)
}

/**
 * Runs this script again on a newer Node where this one is too old, and ends the process with what that one ended with.
 * Returns at once where this Node will do.
 */
export const needNewerNode = () => {
  if (!isTooOld(process.versions.node)) return
  const node = install()
  const { error, signal, status } = spawnSync(node, process.argv.slice(1), { stdio: "inherit", env: withFirst(node) })
  if (error !== undefined) say(`${node} could not be started: ${error.message}`)
  process.exit(signal === null ? status ?? 1 : 1)
}

/**
 * Lets npm's scripts find the clone's own Node, where this process runs on it: npm puts node_modules/.bin first in their
 * PATH.
 */
export const linkOwnNode = () => {
  const own = ownNode()
  if (own === undefined || realpathSync(own) !== realpathSync(process.execPath)) return
  const link = join(root, "node_modules", ".bin", "node")
  if (existsSync(link)) return
  mkdirSync(dirname(link), { recursive: true })
  // A link to what is gone does not exist, and is in the way.
  if (lstatSync(link, { throwIfNoEntry: false }) !== undefined) rmSync(link)
  symlinkSync(own, link)
}
