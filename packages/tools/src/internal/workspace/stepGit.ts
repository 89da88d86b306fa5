/**
 * Calls git for steps, and writes and reads their commits: in a repository of Skein's own, with the credentials of this
 * host, by known protocols alone. Decides where the steps of a tree are kept: here, and where other hosts reach them by
 * https or ssh, or as a directory that the user of this host names.
 */
import { WorkspaceRefused } from "@skein/core/Workspaces"
import type { SessionID } from "@skein/domain/Id"
import type { SessionWorkspace } from "@skein/domain/SessionInfo"
import * as Effect from "effect/Effect"
import { join } from "node:path"
import type { Git, GitPlace } from "../git/gitCommand.ts"
import type { GitEnd } from "../git/gitProcess.ts"

/** What the commit says of a step. */
export interface StepCommit {
  readonly rootID: string
  readonly epoch: number
  readonly seq: number
  /** The branch that was checked out; absent if none was. */
  readonly branch: string | undefined
  /** The commit that was checked out; absent if the repository had none. */
  readonly head: string | undefined
  readonly tree: string
}

/** Where the last step of a tree is kept; undefined for what is no id, which could name anything. */
export const refOf = (rootID: SessionID): string | undefined =>
  /^ses_[0-9A-Za-z]+$/.test(rootID) ? `refs/skein/${rootID}` : undefined

/** The message of the commit. */
export const stepMessage = ({ branch, epoch, rootID, seq }: Omit<StepCommit, "head" | "tree">): string =>
  [
    "Files of a session of Skein, as of one of its steps",
    "",
    `Skein-Root: ${rootID}`,
    `Skein-Epoch: ${epoch}`,
    `Skein-Seq: ${seq}`,
    ...(branch === undefined ? [] : [`Skein-Branch: ${branch}`]),
    ""
  ].join("\n")

const count = (text: string | undefined): number | undefined =>
  text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : undefined

/** Whether git takes it as the name of a branch, and as nothing else. */
const isBranch = (name: string): boolean =>
  /^[A-Za-z0-9_][^\s~^:?*[\\\u007F]*$/.test(name) && !/\.\.|@\{|\/\/|\.lock(?:\/|$)|\/\.|[./]$/.test(name)

/** What a commit says, as `git cat-file commit` prints it; undefined if it is not that of a step. */
export const readStep = (text: string): StepCommit | undefined => {
  const end = text.indexOf("\n\n")
  const header = text.slice(0, end).split("\n")
  const body = text.slice(end + 2).split("\n")
  const heads = header.flatMap((line) => /^parent ([0-9a-f]{40})$/.exec(line)?.[1] ?? [])
  const tree = /^tree ([0-9a-f]{40})$/.exec(header[0] ?? "")?.[1]
  const said = (name: string) => body.find((line) => line.startsWith(`Skein-${name}: `))?.slice(name.length + 8)
  const rootID = said("Root")
  const epoch = count(said("Epoch"))
  const seq = count(said("Seq"))
  const branch = said("Branch")
  if (end < 0 || tree === undefined || rootID === undefined || epoch === undefined || seq === undefined) {
    return undefined
  }
  if (heads.length > 1) return undefined
  return {
    rootID,
    epoch,
    seq,
    tree,
    head: heads[0],
    branch: branch !== undefined && isBranch(branch) ? branch : undefined
  }
}

/** A repository that steps are kept in. */
export interface StepRemote {
  readonly url: string
  readonly protocols: string
  readonly ref: string
}

/** The variables by which git and ssh find the credentials of this host, and its way to the network. */
const credentials =
  `DBUS_SESSION_BUS_ADDRESS GIT_ASKPASS GIT_SSH GIT_SSH_COMMAND GIT_SSL_CAINFO HTTPS_PROXY NO_PROXY SSH_AGENT_PID
  SSH_ASKPASS SSH_AUTH_SOCK SSL_CERT_FILE XDG_RUNTIME_DIR https_proxy no_proxy`.split(/\s+/)

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
        onTimeout: () => failed(`The repository ${url} did not respond within ${duration}`)
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

/** A repository that may be used, or why it may not. */
type Remote =
  | { readonly url: string; readonly protocols: string }
  | { readonly why: string }

/** Longer ones are no addresses. */
const longest = 2_000

const overNetwork = "https:ssh"

const scp = /^(?:[A-Za-z0-9_][\w.+-]*@)?[A-Za-z0-9][\w.-]*:(?![/:]{2}|:|-)[^\s]+$/

const isPlainName = (name: string): boolean => !name.startsWith("-") && !decodeURIComponent(name).startsWith("-")

/** An address with a scheme. What it says of a password stays on this host. */
const withScheme = (written: string): Remote => {
  let url
  try {
    url = new URL(written)
    if (url.hostname === "" || !isPlainName(url.hostname) || !isPlainName(url.username)) throw new Error("no host")
  } catch {
    return { why: "it is no valid URL" }
  }
  if (url.protocol !== "https:" && url.protocol !== "ssh:") {
    return { why: `only https and ssh are used, and it says ${url.protocol.slice(0, -1)}` }
  }
  url.password = ""
  if (url.protocol === "https:") url.username = ""
  return { url: url.href, protocols: overNetwork }
}

/** Checks an address. `local` is the one that the user of this host names: a directory counts only if it is that. */
export const remoteOf = (written: string, local: string | undefined): Remote => {
  // oxlint-disable-next-line no-control-regex -- those that could end a line of a config or a request
  if (written.length > longest || /[\u0000-\u0020\u007F]/.test(written) || written.startsWith("-")) {
    return { why: "it is no address of a repository" }
  }
  if (/^[^/]*::/.test(written)) return { why: "it names a program, which Skein does not run" }
  if (written.startsWith("/") || written.startsWith("file:")) {
    return written === local
      ? { url: written, protocols: "file" }
      : { why: "it is a directory, and `workspace_remote` in the config of the user of this host does not name it" }
  }
  if (/^[A-Za-z][A-Za-z0-9+.-]*:\/\/[^/]/.test(written)) return withScheme(written)
  return scp.test(written) ? { url: written, protocols: overNetwork } : { why: "it is no URL, and no user@host:path" }
}

/** Whether a name is that of a remote, and can be nothing else. */
export const isRemoteName = (name: string): boolean => /^[A-Za-z0-9_][\w.-]*(?:\/[\w.-]+)*$/.test(name)

/** What the keeper is made of. */
export interface KeeperOptions {
  /** Absolute. Workspaces are in `workspaces/ROOT` there, and steps in `steps/ROOT.git`, which no tool sees. */
  readonly dataDirectory: string
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Whether this host takes up the steps of others. */
  readonly isOn: boolean
  /** The repository that the user of this host names. */
  readonly remote: string | undefined
}

/** Where steps are kept, and git. */
export interface StepPlaces {
  readonly git: StepGit
  readonly isOn: boolean
  /** The repository that the user of this host names. */
  readonly local: string | undefined
  /** The directory for workspaces of a tree. */
  readonly roomOf: (rootID: SessionID) => string
  /** The repository here with the steps of a tree. */
  readonly storeOf: (rootID: SessionID) => string
  /** The repository that other hosts reach; refused if it may not be used. */
  readonly remoteFor: (
    rootID: SessionID,
    workspace: Pick<SessionWorkspace, "remote">
  ) => Effect.Effect<StepRemote, WorkspaceRefused>
}

/** Makes them. */
export const stepPlaces = (
  git: StepGit,
  { dataDirectory, isOn, remote: local }: KeeperOptions
): StepPlaces => {
  const roomOf = (rootID: SessionID) => join(dataDirectory, "workspaces", rootID)
  return {
    git,
    isOn,
    local,
    roomOf,
    storeOf: (rootID) => join(dataDirectory, "steps", `${rootID}.git`),
    remoteFor: (rootID, { remote }) =>
      Effect.suspend(() => {
        const ref = refOf(rootID)
        const found = remoteOf(remote, local)
        if (ref === undefined) return failed(`${rootID} is not the id of a session`)
        return "why" in found
          ? failed(`The repository ${remote} is not used: ${found.why}`)
          : Effect.succeed({ ...found, ref })
      })
  }
}
