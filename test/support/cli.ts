/**
 * Runs the built program as a user does: in a directory of its own, with a home of its own. `npm test` builds it before;
 * if you start vitest by hand, run `npm run build` first. With `SKEIN_CLI` set to a path, the program there runs instead:
 * `node scripts/release/installed.mjs DIRECTORY` installs the packed one and prints its path.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process"
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { atEnd } from "./atEnd.ts"

/** The file that `npx skein` starts. */
export const program = process.env["SKEIN_CLI"]
  ?? fileURLToPath(new URL("../../packages/cli/bin/skein.js", import.meta.url))

/** An installed program caches compiled code: one cache for all tests, or each would compile it again. */
const cache: Readonly<Record<string, string>> = process.env["SKEIN_CLI"] === undefined
  ? {}
  : { XDG_CACHE_HOME: join(dirname(program), "..", ".cache") }

const confines = spawnSync("bwrap", ["--unshare-all", "--ro-bind", "/", "/", "--proc", "/proc", "true"]).status === 0

/** Without bubblewrap, the mode `auto` needs a word from the user. */
const unconfined: Readonly<Record<string, string>> = confines ? {} : { SKEIN_SANDBOX: "off" }

/** A PATH with the programs that Skein needs, and without bubblewrap. */
export const barePath = (): string => {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), "skein-path-")))
  atEnd(() => rmSync(directory, { recursive: true }))
  for (const name of ["bash", "sh", "git", "cat", "tr"]) {
    const path = spawnSync("sh", ["-c", `command -v ${name}`], { encoding: "utf8" }).stdout.trim()
    symlinkSync(path, join(directory, name))
  }
  return directory
}

/** The result of a run of the program. */
export interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
}

/** The options of a start. */
export interface Start {
  readonly env?: Readonly<Record<string, string>>
  readonly cwd?: string
  readonly input?: string | Buffer
  /** A file to use as standard output instead of a pipe. */
  readonly output?: number
  /** Standard input is neither written to nor closed. */
  readonly silent?: boolean
  /** Standard output and standard error are not read until `read` is called. */
  readonly unread?: boolean
}

/** A run in progress. */
interface Running {
  readonly child: ChildProcess
  readonly ended: Promise<Ended>
  readonly output: () => string
  /** Reads the pending output, and continues to read. */
  readonly read: () => void
}

/** A place to run it in. */
export interface Sandbox {
  /** The working directory: a git repository. */
  readonly project: string
  readonly home: string
  readonly database: string
  readonly start: (args: ReadonlyArray<string>, start?: Start) => Running
  readonly run: (args: ReadonlyArray<string>, start?: Start) => Promise<Ended>
  readonly env: (more?: Readonly<Record<string, string>>) => Record<string, string>
  /** Writes the user's own config. */
  readonly configure: (config: object) => void
  readonly remove: () => void
}

/** Makes a place with these files; `llm` is the base URL of the models of `openai/`. */
export const sandbox = (
  options: {
    readonly files?: Readonly<Record<string, string>>
    readonly llm?: string
    /** The program; `program` by default. */
    readonly program?: string
    /** A command that runs the program, in another namespace for example. */
    readonly through?: readonly [string, ...ReadonlyArray<string>]
  } = {}
): Sandbox => {
  const started = options.program ?? program
  const built = join(dirname(started), "..", "dist", "bundle", "skein.mjs")
  if (!existsSync(built)) throw new Error(`${built} is not there. Run "npm run build" first.`)
  const home = realpathSync(mkdtempSync(join(tmpdir(), "skein-cli-")))
  const project = join(home, "project")
  mkdirSync(project)
  spawnSync("git", ["init", "-q", project])
  for (const [name, text] of Object.entries(options.files ?? {})) {
    mkdirSync(dirname(join(project, name)), { recursive: true })
    writeFileSync(join(project, name), text)
  }
  const database = join(home, "data", "skein", "skein.db")
  const env = (more: Readonly<Record<string, string>> = {}) => ({
    PATH: process.env["PATH"] ?? "",
    HOME: home,
    XDG_DATA_HOME: join(home, "data"),
    XDG_CONFIG_HOME: join(home, "config"),
    ...cache,
    ...unconfined,
    ...(options.llm === undefined ? {} : { OPENAI_BASE_URL: options.llm, OPENAI_API_KEY: "sk-test-0123456789" }),
    ...more
  })
  const start = (args: ReadonlyArray<string>, given: Start = {}): Running => {
    const [command, ...before] = options.through ?? []
    const line = [started, ...args]
    const child = spawn(
      command ?? process.execPath,
      command === undefined ? line : [...before, process.execPath, ...line],
      {
        cwd: given.cwd ?? project,
        env: env(given.env),
        stdio: ["pipe", given.output ?? "pipe", "pipe"]
      }
    )
    let stdout = ""
    let stderr = ""
    const read = () => {
      child.stdout?.setEncoding("utf8").on("data", (text: string) => stdout += text)
      child.stderr?.setEncoding("utf8").on("data", (text: string) => stderr += text)
    }
    if (given.unread !== true) read()
    child.stdin?.on("error", () => undefined)
    if (given.silent !== true) child.stdin?.end(given.input ?? "")
    const ended = new Promise<Ended>((resolve) =>
      child.once("close", (code, signal) => resolve({ code, signal, stdout, stderr }))
    )
    return { child, ended, output: () => stdout + stderr, read }
  }
  return {
    project,
    home,
    database,
    start,
    run: (args, given) => start(args, given).ended,
    env,
    configure: (config) => {
      mkdirSync(join(home, "config", "skein"), { recursive: true })
      writeFileSync(join(home, "config", "skein", "skein.json"), JSON.stringify(config))
    },
    remove: () => rmSync(home, { recursive: true, force: true })
  }
}
