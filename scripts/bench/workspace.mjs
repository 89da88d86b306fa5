// @ts-check
// Where a system runs: a project in git, and a home directory that is set back to the same state before each run.
import { execFileSync } from "node:child_process"
import { cpSync, existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileName, files, sentinel } from "./conversation.mjs"

/**
 * @typedef {import("./measure.mjs").Run} Run
 * @typedef {{ readonly base: string, readonly project: string, readonly home: string }} Workspace
 */

/** @param {string} directory */
const makeProject = (directory) => {
  mkdirSync(directory, { recursive: true })
  for (let index = 0; index < files; index++) {
    const line = `line of text number ${index} in a plain file\n`
    writeFileSync(join(directory, fileName(index)), `${sentinel(index)}\n${line.repeat(45)}`)
  }
  const identity = ["-c", "user.name=bench", "-c", "user.email=bench@localhost"]
  for (const args of [["init", "-q"], ["add", "-A"], ["commit", "-qm", "files"]]) {
    execFileSync("git", [...identity, ...args], { cwd: directory, stdio: "ignore" })
  }
}

/** @param {string} from @param {string} to */
const copy = (from, to) => cpSync(from, to, { recursive: true, preserveTimestamps: true })

/**
 * @param {string} base a directory that is this system's alone
 * @returns {Workspace}
 */
export const makeWorkspace = (base) => {
  const workspace = { base, project: join(base, "project"), home: join(base, "home") }
  if (!existsSync(workspace.project)) makeProject(workspace.project)
  return workspace
}

/** @param {Workspace} workspace @param {string} path in the home @param {string} text */
export const writeHome = ({ home }, path, text) => {
  mkdirSync(dirname(join(home, path)), { recursive: true })
  writeFileSync(join(home, path), text)
}

/**
 * Sets the home back to a state by that name, which is made once: from another state, by `make`.
 * @param {Workspace} workspace
 * @param {string} name
 * @param {string | undefined} from the state to begin with; undefined is an empty home
 * @param {() => Promise<Run>} make what is to be done in that home
 * @returns {Promise<Run | undefined>} the run that should have made it, when it failed
 */
export const restoreHome = async ({ base, home }, name, from, make) => {
  const state = join(base, name)
  const reset = (/** @type {string | undefined} */ saved) => {
    rmSync(home, { recursive: true, force: true })
    if (saved === undefined) mkdirSync(home, { recursive: true })
    else copy(saved, home)
  }
  if (!existsSync(state)) {
    reset(from === undefined ? undefined : join(base, from))
    const run = await make()
    if (!run.correct) return run
    copy(home, state)
  }
  reset(state)
  return undefined
}
