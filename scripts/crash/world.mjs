// @ts-check
// A place for crash runs: a project, a home, a database, and the program, with a log of its output.
import { spawn, spawnSync } from "node:child_process"
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync
} from "node:fs"
import { createRequire } from "node:module"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { root } from "../layout.mjs"

/** The program that users start. */
export const builtProgram = join(root, "packages", "cli", "bin", "skein.js")

/** Without bubblewrap, the mode `auto` needs a word from the user. */
const unconfined = spawnSync("bwrap", ["--version"]).status === 0 ? {} : { SKEIN_SANDBOX: "off" }

/** The time limit of any step, in milliseconds: a longer one hangs. */
const patience = 60_000

/** @typedef {{ readonly type: string, readonly sessionID?: string, readonly properties?: any, readonly [key: string]: unknown }} Line */
/** @typedef {{ readonly code: number | null, readonly signal: string | null, readonly stderr: string, readonly lines: ReadonlyArray<Line>, readonly hung: boolean }} Ended */
/** @typedef {{ readonly failpoint?: string | undefined, readonly after?: number | undefined, readonly env?: Readonly<Record<string, string>> }} Death how a process is to end: at a point, or after so many milliseconds */

/** What the program may do without a question. */
export const permission = { "*": "allow", webfetch: "ask" }

/** Prepares a directory for the script to work in. @param {string} project */
export const makeProject = (project) => {
  mkdirSync(project)
  writeFileSync(join(project, "step-0.txt"), "a line that is read in the first step\n".repeat(150))
}

/** What a file of a project holds; nothing if it is not there. @param {string} project @param {string} name */
export const fileIn = (project, name) => {
  const file = join(project, name)
  return existsSync(file) ? readFileSync(file, "utf8") : ""
}

/** The log lines of the effects in a project. @param {string} project */
export const effectsIn = (project) => fileIn(project, "effects.log").split("\n").filter((line) => line !== "")

/**
 * Starts the program, and reads what it says. It is killed after `after` milliseconds, and after `patience`, because then
 * it hangs.
 * @param {ReadonlyArray<string>} args
 * @param {{
 *   readonly program: string,
 *   readonly directory: string,
 *   readonly env: Readonly<Record<string, string>>,
 *   readonly after?: number | undefined,
 *   readonly patience?: number | undefined
 * }} options
 */
export const startProgram = (args, { after, directory, env, patience: most, program }) => {
  const child = spawn(process.execPath, [program, ...args], { cwd: directory, env, stdio: ["ignore", "pipe", "pipe"] })
  /** @type {Array<Line>} */
  const lines = []
  let rest = ""
  let stderr = ""
  let hung = false
  child.stdout.setEncoding("utf8").on("data", (text) => {
    const [unfinished = "", ...whole] = `${rest}${text}`.split("\n").toReversed()
    rest = unfinished
    for (const line of whole.toReversed()) if (line.startsWith("{")) lines.push(JSON.parse(line))
  })
  child.stderr.setEncoding("utf8").on("data", (text) => stderr += text)
  const late = most === undefined ? undefined : setTimeout(() => {
    hung = true
    child.kill("SIGKILL")
  }, most)
  const killer = after === undefined ? undefined : setTimeout(() => child.kill("SIGKILL"), after)
  /** @type {Promise<Ended>} */
  const ended = new Promise((resolve) =>
    child.once("close", (code, signal) => {
      clearTimeout(late)
      clearTimeout(killer)
      resolve({ code, signal, stderr, lines, hung })
    })
  )
  return { child, ended, lines }
}

/**
 * Makes a place.
 * @param {{ readonly url: string, readonly program?: string | undefined, readonly config?: unknown }} options
 */
export const makeWorld = ({ config, program = builtProgram, url }) => {
  const base = realpathSync(mkdtempSync(join(tmpdir(), "skein-crash-")))
  const project = join(base, "project")
  const database = join(base, "data", "skein.db")
  makeProject(project)
  mkdirSync(join(base, "config", "skein"), { recursive: true })
  writeFileSync(join(base, "config", "skein", "skein.json"), JSON.stringify(config ?? { permission, sandbox: "off" }))
  const env = {
    PATH: process.env["PATH"] ?? "",
    ...unconfined,
    HOME: base,
    XDG_DATA_HOME: join(base, "data"),
    XDG_CONFIG_HOME: join(base, "config"),
    SKEIN_DB: database,
    OPENAI_BASE_URL: url,
    OPENAI_API_KEY: "sk-test-0123456789"
  }

  /** @param {ReadonlyArray<string>} args @param {Death} [death] */
  const start = (args, { after, env: more = {}, failpoint } = {}) =>
    startProgram(args, {
      program,
      directory: project,
      env: { ...env, ...more, ...(failpoint === undefined ? {} : { SKEIN_FAILPOINT: failpoint }) },
      after,
      patience
    })

  return {
    base,
    project,
    database,
    start,
    /** @param {ReadonlyArray<string>} args @param {Death} [death] */
    run: (args, death) => start(args, death).ended,
    /** The log lines of the effects. */
    effects: () => effectsIn(project),
    look: () => look(database, base),
    remove: () => rmSync(base, { recursive: true, force: true })
  }
}

/** @typedef {ReturnType<typeof makeWorld>} World */

/** What the CLI's own database driver is; nothing of Skein reads for the oracle. */
const sqlite = () => createRequire(join(root, "packages", "cli", "package.json"))("better-sqlite3")

/**
 * What is in the database, read from a copy: who looks changes nothing.
 * @param {string} database
 * @param {string} base
 */
const look = (database, base) => {
  if (!existsSync(database)) return undefined
  const copy = join(mkdtempSync(join(base, "look-")), "copy.db")
  for (const end of ["", "-wal"]) {
    if (existsSync(`${database}${end}`)) copyFileSync(`${database}${end}`, `${copy}${end}`)
  }
  const db = new (sqlite())(copy)
  try {
    const all = (/** @type {string} */ sql) => /** @type {ReadonlyArray<any>} */ (db.prepare(sql).all())
    const integrity = /** @type {string} */ (all("PRAGMA integrity_check").map((row) => row.integrity_check).join("; "))
    if (all("SELECT 1 FROM sqlite_master WHERE name = 'inbox'").length === 0) return { integrity, ...nothing }
    const data = (/** @type {string} */ table, order = "id") =>
      all(`SELECT data FROM ${table} ORDER BY ${order}`).map((row) => JSON.parse(row.data))
    return {
      integrity,
      sessions: data("session"),
      messages: data("message"),
      parts: data("part"),
      runs: data("run"),
      waiting: /** @type {number} */ (all("SELECT count(*) AS n FROM inbox WHERE taken_at IS NULL")[0]?.n),
      inbox: data("inbox")
    }
  } finally {
    db.close()
    rmSync(dirname(copy), { recursive: true, force: true })
  }
}

/** @type {{ sessions: ReadonlyArray<any>, messages: ReadonlyArray<any>, parts: ReadonlyArray<any>, runs: ReadonlyArray<any>, waiting: number, inbox: ReadonlyArray<any> }} */
const nothing = { sessions: [], messages: [], parts: [], runs: [], waiting: 0, inbox: [] }

/** @typedef {NonNullable<ReturnType<typeof look>>} Found */
