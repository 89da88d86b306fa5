/**
 * Calls git without any of the user's settings that would run programs, ask questions or write elsewhere, and without
 * the filters that the config of a repository names. Says what failed.
 */
import { FairSemaphore } from "@skein/core/Fibers"
import { IsolationRefused } from "@skein/core/Isolation"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import { shellEnvironment } from "../../Environment.ts"
import type { NotStarted } from "../process/childProcess.ts"
import { commandIn, type GitEnd, type GitRun, runGit, withoutFetching } from "./gitProcess.ts"

/**
 * Commands that convert no content of files, so that no filter applies. Any other command may: even a status runs the
 * filters of a file whose size or time has changed.
 */
const unfiltered = new Set(
  `cat-file commit-tree config fetch for-each-ref init push rev-list rev-parse symbolic-ref update-ref write-tree`
    .split(/\s+/)
)

/** Whether git may run filters for these arguments. */
const mayFilter = (args: ReadonlyArray<string>): boolean => {
  const command = commandIn(args) ?? ""
  if (command === "ls-files") return args.includes("--modified") || !args.includes("--stage")
  if (command === "worktree") return !args.includes("--no-checkout")
  return !unfiltered.has(command)
}

/** A setting of a driver that decides what runs. Keys are in git's own form: only the driver's name has upper case. */
const driverSetting = /^filter\.[^]*\.(?:clean|process|smudge|required)$/

/** Where the user's own settings are. All other scopes belong to the repository. */
const ofUser = new Set(["system", "global"])

/** Settings as git takes them from its environment, where a name may contain anything, unlike in `-c`. */
const inEnvironment = (settings: ReadonlyMap<string, string>): Readonly<Record<string, string>> => ({
  GIT_CONFIG_COUNT: String(settings.size),
  ...Object.fromEntries(
    [...settings].flatMap(([key, value], i) => [[`GIT_CONFIG_KEY_${i}`, key], [`GIT_CONFIG_VALUE_${i}`, value]])
  )
})

/** Why it is not known which filters git would run. It has the form of a call that failed. */
const unknown = (why: string): GitEnd => ({
  code: 128,
  stdout: "",
  stderr: `fatal: the filters in the config of this repository cannot be switched off: ${why}`
})

/**
 * The variables that switch off the filters of a repository: each setting has the value that the user gave it, and is
 * otherwise empty. A call that failed, if git cannot tell.
 */
const withoutFilters = (run: GitRun, args: ReadonlyArray<string>) =>
  Effect.gen(function*() {
    const users = new Map<string, string>()
    const repositorys = new Set<string>()
    let scope: string | undefined
    const each = (record: string) => {
      if (scope === undefined) {
        scope = record
        return
      }
      const end = record.indexOf("\n")
      const key = end < 0 ? record : record.slice(0, end)
      if (driverSetting.test(key)) {
        if (ofUser.has(scope)) users.set(key, end < 0 ? "true" : record.slice(end + 1))
        else repositorys.add(key)
      }
      scope = undefined
    }
    // Not with a pattern: git skips names that are not valid text, but runs their filters.
    const listed = yield* runGit({
      ...run,
      args: [...args, "config", "--list", "--includes", "--show-scope", "-z"],
      each
    })
    if (listed.code !== 0) return { failure: listed }
    if (scope !== undefined || listed.stdout !== "") return { failure: unknown("it is too long.") }
    const settings = new Map(
      [...repositorys].map((key) => [key, users.get(key) ?? (key.endsWith(".required") ? "false" : "")])
    )
    // Such a name could not be passed on.
    if ([...settings].some((setting) => setting.join("").includes("\uFFFD"))) {
      return { failure: unknown("one has a name that is not valid UTF-8.") }
    }
    return { variables: settings.size === 0 ? {} : inEnvironment(settings) }
  })

/** Runs git with these settings of Skein's own, and without the filters that only the repository's config names. */
const runUnfiltered = (run: GitRun, standing: ReadonlyArray<string>): Effect.Effect<GitEnd, NotStarted> => {
  const whole = { ...run, args: [...standing, ...run.args] }
  if (!mayFilter(run.args)) return runGit(whole)
  const { directory, environment } = run
  return Effect.flatMap(
    withoutFilters({ args: [], directory, environment }, standing),
    ({ failure, variables }) =>
      failure === undefined
        ? runGit({ ...whole, environment: { ...environment, ...variables } })
        : Effect.succeed(failure)
  )
}

/** The refusal for a failure without a name of its own. */
export const failed = (message: string): IsolationRefused => new IsolationRefused({ reason: "failed", message })

const lockHeld = /.*'(.+\.lock)': File exists/s

/** Whether a retry may help: another git holds a lock, or is creating or removing a worktree. */
const isPassing = (said: string): boolean =>
  lockHeld.test(said) || /failed to read .*commondir|Invalid path '.*\/worktrees\/[^/]*'/.test(said)

/** What git reported, and how to fix it. */
export const complaint = (directory: string, stderr: string): string => {
  const lines = stderr.split("\n").filter((line) => line !== "" && !line.startsWith("hint:"))
  const worst = lines.filter((line) => /^(fatal|error): /.test(line))
  const said = (worst.length > 0 ? worst : lines.slice(-3)).join("; ").slice(0, 1_000).replace(/\.$/, "")
  const lock = lockHeld.exec(stderr)?.[1]
  if (lock !== undefined) {
    return `${said}. Another git process is running there: wait for it, or delete ${lock} if there is none.`
  }
  if (stderr.includes("dubious ownership")) {
    return `${said}. If you trust it, say so: git config --global --add safe.directory '${directory}'`
  }
  return `${said || "git does not say why"}. \`git status\` in ${directory} may tell more; fix it and try again.`
}

/** Why git did not run at all. */
const couldNotStart = (directory: string) => ({ missing, reason }: NotStarted): IsolationRefused => {
  switch (missing) {
    case "program":
      return new IsolationRefused({
        reason: "git_missing",
        message: "Isolation needs git, and there is no program git on the PATH. Install it; `skein doctor` tells how."
      })
    case "directory":
      return new IsolationRefused({
        reason: "not_found",
        message: `There is no directory ${directory}. Make it again, or begin in another one.`
      })
    default:
      return failed(`Git could not be started in ${directory}: ${reason}. \`skein doctor\` tells what is missing.`)
  }
}

/** Says which of Skein's files could not be written or read, and why. */
export const cannotKeep = (where: string) => (error: { readonly message: string }): IsolationRefused =>
  failed(
    `The worktree at ${where} cannot be kept up: ${error.message}. See that this user may write there, or choose another data directory with XDG_DATA_HOME.`
  )

/** Where git works: a directory in which it searches for the repository itself, or a worktree with its repository. */
export interface GitPlace {
  readonly directory: string
  readonly variables?: Readonly<Record<string, string>>
}

/** Calls git. All of it is interruptible. */
export interface Git {
  /** Runs it to its end, with any exit code. */
  readonly run: (
    place: GitPlace,
    args: ReadonlyArray<string>,
    each?: (record: string) => void
  ) => Effect.Effect<GitEnd, IsolationRefused>
  /**
   * Its output without the last line end; fails if git fails. `what` completes "Could not"; `each` receives
   * NUL-terminated records of the output. Without that, retries for some seconds while another git is in the way.
   */
  readonly ask: (
    what: string,
    place: GitPlace,
    args: ReadonlyArray<string>,
    each?: (record: string) => void
  ) => Effect.Effect<string, IsolationRefused>
}

/** The maximum number of parallel runs. */
const concurrency = 8

// Some settings make git write to the config of a repository.
const standing = Object.entries({
  "branch.autoSetupMerge": "false",
  "core.quotePath": "false",
  "gc.auto": "0",
  "maintenance.auto": "false",
  // Tracked files of a clone may look like a bare repository, with a config of their own.
  "safe.bareRepository": "explicit",
  "submodule.recurse": "false",
  "worktree.useRelativePaths": "false"
}).flatMap(([key, value]) => ["-c", `${key}=${value}`])

/**
 * The variables by which git finds the user's settings. All of its other variables could point it to another
 * repository.
 */
const passed = [
  "XDG_CONFIG_HOME",
  "GIT_CEILING_DIRECTORIES",
  "GIT_CONFIG_GLOBAL",
  "GIT_CONFIG_NOSYSTEM",
  "GIT_CONFIG_SYSTEM"
]

const quiet = {
  GIT_EDITOR: ":",
  // Otherwise, even a status of the user's tree would write to its index.
  GIT_OPTIONAL_LOCKS: "0",
  GIT_PAGER: "cat",
  GIT_TERMINAL_PROMPT: "0",
  LC_ALL: "C"
}

const patience = Schedule.exponential("50 millis").pipe(Schedule.jittered, Schedule.intersect(Schedule.recurs(6)))

/** Git, with the part of an environment that it may see. */
export const makeGit = (environment: Readonly<Record<string, string | undefined>>): Effect.Effect<Git> =>
  Effect.map(Effect.sync(() => new FairSemaphore(concurrency)), (turns) => {
    const base = { ...shellEnvironment(environment, passed), ...quiet, ...withoutFetching }
    const run: Git["run"] = ({ directory, variables }, args, each) =>
      runUnfiltered({
        args,
        directory,
        environment: { ...base, ...variables },
        ...(each === undefined ? {} : { each })
      }, standing).pipe(Effect.mapError(couldNotStart(directory)), turns.withPermit)

    const ask: Git["ask"] = (what, place, args, each) =>
      Effect.flatMap(run(place, args, each), ({ code, stderr, stdout }) =>
        code === 0
          ? Effect.succeed(stdout.replace(/\n$/, ""))
          : Effect.fail(failed(`Could not ${what}: ${complaint(place.directory, stderr)}`))).pipe(
          Effect.retry({
            schedule: patience,
            while: ({ message }) => each === undefined && isPassing(message)
          })
        )

    return { run, ask }
  })
