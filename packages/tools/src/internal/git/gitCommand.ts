/** Calls git without any of the user's settings that would run programs, ask questions or write elsewhere. */
import { FairSemaphore } from "@skein/core/Fibers"
import type { IsolationRefused } from "@skein/core/Isolation"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import { shellEnvironment } from "../shell/shellEnvironment.ts"
import { complaint, couldNotStart, failed, isPassing } from "./gitFailure.ts"
import { runUnfiltered } from "./gitFilters.ts"
import { type GitEnd, withoutFetching } from "./gitProcess.ts"

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
   * NUL-terminated records of the output.
   */
  readonly ask: (
    what: string,
    place: GitPlace,
    args: ReadonlyArray<string>,
    each?: (record: string) => void
  ) => Effect.Effect<string, IsolationRefused>
  /** The same for commands that take locks: retries for some seconds if another git holds one. */
  readonly change: (
    what: string,
    place: GitPlace,
    args: ReadonlyArray<string>
  ) => Effect.Effect<string, IsolationRefused>
}

/** The maximum number of parallel runs. */
const concurrency = 8

// The config of a repository may name programs to run, and some settings make git write to that config.
const standing = Object.entries({
  "branch.autoSetupMerge": "false",
  "core.fsmonitor": "false",
  "core.hooksPath": "/dev/null",
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
          : Effect.fail(failed(`Could not ${what}: ${complaint(place.directory, stderr)}`)))

    const change: Git["change"] = (what, place, args) =>
      Effect.retry(ask(what, place, args), { schedule: patience, while: ({ message }) => isPassing(message) })

    return { run, ask, change }
  })
