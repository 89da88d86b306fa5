/** Calls git for steps: in a repository of Skein's own, with the credentials of this host, by known protocols alone. */
import { WorkspaceRefused } from "@skein/core/Workspaces"
import * as Effect from "effect/Effect"
import type { Git, GitPlace } from "../git/gitCommand.ts"
import type { GitEnd } from "../git/gitProcess.ts"
import { readStep, type StepCommit } from "./stepCommit.ts"

/** A repository that steps are kept in. */
export interface StepRemote {
  readonly url: string
  readonly protocols: string
  readonly ref: string
}

/** The variables by which git and ssh find the credentials of this host, and its way to the network. */
const credentials = [
  "DBUS_SESSION_BUS_ADDRESS",
  "GIT_ASKPASS",
  "GIT_SSH",
  "GIT_SSH_COMMAND",
  "GIT_SSL_CAINFO",
  "HTTPS_PROXY",
  "NO_PROXY",
  "SSH_AGENT_PID",
  "SSH_ASKPASS",
  "SSH_AUTH_SOCK",
  "SSL_CERT_FILE",
  "XDG_RUNTIME_DIR",
  "https_proxy",
  "no_proxy"
]

/** Who commits steps. */
export const author = {
  GIT_AUTHOR_NAME: "Skein",
  GIT_AUTHOR_EMAIL: "skein@localhost",
  GIT_COMMITTER_NAME: "Skein",
  GIT_COMMITTER_EMAIL: "skein@localhost"
}

/** How long the repository may take: to take a step, and to give all that a workspace needs. */
const patience = { push: "2 minutes", fetch: "10 minutes" } as const

const still = ["--no-tags", "--no-write-fetch-head", "--recurse-submodules=no", "--no-auto-maintenance"]

const fetching = ["fetch", "--quiet", ...still, "--"]

const pushing = ["push", "--porcelain", "--no-verify", "--no-follow-tags", "--recurse-submodules=no", "--no-signed"]

/** A failure, with what to do. */
export const failed = (message: string): WorkspaceRefused => new WorkspaceRefused({ reason: "failed", message })

/** The last lines that git said, without what it was asked for. */
const saidBy = ({ stderr, stdout }: GitEnd): string =>
  [...stdout.split("\n").filter((line) => line.startsWith("!")), ...stderr.split("\n")]
    .map((line) => line.trim()).filter((line) => line !== "" && !line.startsWith("hint:"))
    .slice(0, 4).join("; ").slice(0, 600)

/** Git, for steps. */
export const makeStepGit = (git: Git, environment: Readonly<Record<string, string | undefined>>) => {
  const known = Object.fromEntries(
    credentials.flatMap((name) => environment[name] === undefined ? [] : [[name, environment[name]]])
  )

  /** Runs git to its end, with any exit code. */
  const run = (place: GitPlace, args: ReadonlyArray<string>, each?: (record: string) => void) =>
    Effect.mapError(git.run(place, args, each), ({ message }) => failed(message))

  /** Its output; fails if git fails. */
  const ask = (what: string, place: GitPlace, args: ReadonlyArray<string>, each?: (record: string) => void) =>
    Effect.flatMap(run(place, args, each), (end) =>
      end.code === 0
        ? Effect.succeed(end.stdout.replace(/\n$/, ""))
        : failed(`Could not ${what}: ${saidBy(end) || `git ended with ${end.code}`}`))

  /** Talks to the remote. */
  const exchange = (
    { directory, variables }: GitPlace,
    { protocols, url }: StepRemote,
    duration: (typeof patience)[keyof typeof patience],
    args: ReadonlyArray<string>
  ) =>
    run({ directory, variables: { ...variables, ...known, GIT_ALLOW_PROTOCOL: protocols } }, args).pipe(
      Effect.timeoutFail({
        duration,
        onTimeout: () => failed(`The repository ${url} did not do within ${duration} what it was asked for`)
      })
    )

  /** The step that a commit holds. */
  const stepAt = (place: GitPlace, commit: string): Effect.Effect<StepCommit | undefined, WorkspaceRefused> =>
    Effect.map(ask("read a step", place, ["cat-file", "commit", commit]), readStep)

  return {
    run,
    ask,
    stepAt,
    /** Fetches the last step that is kept, and gives its commit; undefined if there is none. */
    fetch: (place: GitPlace, remote: StepRemote): Effect.Effect<string | undefined, WorkspaceRefused> =>
      Effect.gen(function*() {
        const found = "refs/skein-found"
        const end = yield* exchange(place, remote, patience.fetch, [...fetching, remote.url, `+${remote.ref}:${found}`])
        if (end.code !== 0 && end.stderr.includes("couldn't find remote ref")) return undefined
        if (end.code !== 0) return yield* failed(`Could not fetch ${remote.ref} from ${remote.url}: ${saidBy(end)}`)
        return yield* ask("read a step", place, ["rev-parse", "--verify", `${found}^{commit}`])
      }),
    /** Puts a commit there, if what is there is still `expected`, or nothing is there; false if it is something else. */
    push: (
      place: GitPlace,
      remote: StepRemote,
      commit: string,
      expected: string | undefined
    ): Effect.Effect<boolean, WorkspaceRefused> =>
      Effect.flatMap(
        exchange(place, remote, patience.push, [
          ...pushing,
          ...[`--force-with-lease=${remote.ref}:${expected ?? ""}`, "--", remote.url, `${commit}:${remote.ref}`]
        ]),
        (end) => {
          if (end.code === 0) return Effect.succeed(true)
          return /stale info|fetch first|cannot lock ref/.test(`${end.stdout}${end.stderr}`)
            ? Effect.succeed(false)
            : failed(`Could not push to ${remote.ref} of ${remote.url}: ${saidBy(end)}`)
        }
      ),
    /** Removes the last step from there. */
    remove: (place: GitPlace, remote: StepRemote): Effect.Effect<void, WorkspaceRefused> =>
      Effect.flatMap(
        exchange(place, remote, patience.push, [...pushing, "--", remote.url, `:${remote.ref}`]),
        (end) =>
          end.code === 0 || end.stderr.includes("remote ref does not exist")
            ? Effect.void
            : failed(`Could not remove ${remote.ref} from ${remote.url}: ${saidBy(end)}`)
      )
  }
}

/** Git, for steps. */
export type StepGit = ReturnType<typeof makeStepGit>
