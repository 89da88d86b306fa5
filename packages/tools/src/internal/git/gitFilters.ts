/** Keeps git from running the filters that the config of a repository names. */
import * as Effect from "effect/Effect"
import { type GitEnd, type GitNotStarted, type GitRun, runGit } from "./gitProcess.ts"

/**
 * Commands that convert no content of files, so that no filter applies. Any other command may: even a status runs the
 * filters of a file whose size or time has changed.
 */
const unfiltered = new Set([
  "cat-file",
  "commit-tree",
  "config",
  "fetch",
  "for-each-ref",
  "init",
  "push",
  "rev-list",
  "rev-parse",
  "symbolic-ref",
  "update-ref",
  "write-tree"
])

/** The command in the arguments of git, behind git's own options. */
const commandIn = (args: ReadonlyArray<string>): string | undefined => {
  let at = 0
  while (args[at]?.startsWith("-") === true) at += args[at] === "-c" ? 2 : 1
  return args[at]
}

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
export const runUnfiltered = (run: GitRun, standing: ReadonlyArray<string>): Effect.Effect<GitEnd, GitNotStarted> => {
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
