/**
 * Reads the files of a working directory into a commit, and takes up that of another host in a repository of its own,
 * in which only the branch of the session is. In the user's repository nothing is written, and none of its config runs
 * a program: commits are made in one of Skein's own, which only borrows its objects.
 */
import { type FetchedStep, type TreeStep, type WorkspaceKeeper, WorkspaceRefused } from "@skein/core/Workspaces"
import type { SessionID } from "@skein/domain/Id"
import type { SessionWorkspace } from "@skein/domain/SessionInfo"
import * as Effect from "effect/Effect"
import { copyFile, lstat, mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises"
import { join, sep } from "node:path"
import type { GitPlace } from "../git/gitCommand.ts"
import {
  author,
  failed,
  isRemoteName,
  remoteOf,
  type StepGit,
  stepMessage,
  type StepPlaces,
  type StepRemote
} from "./stepGit.ts"

/** The repository of a user, seen from a working directory. */
interface UserRepository {
  /** The top of the working tree. */
  readonly top: string
  /** The working directory relative to it; empty at the top. */
  readonly inside: string
  readonly head: string | undefined
  readonly branch: string | undefined
}

/** The settings of a repository that decide what its files are. The rest of its config is not read. */
const heeded = ["core.excludesFile", "core.autocrlf", "core.eol", "core.fileMode"]

const files = <A>(what: string, act: () => Promise<A>): Effect.Effect<A, WorkspaceRefused> =>
  Effect.tryPromise({
    try: act,
    catch: (cause) => failed(`Could not ${what}: ${cause instanceof Error ? cause.message : String(cause)}`)
  })

/** Finds the repository of a directory. Refuses those whose files cannot be kept whole. */
const userRepository = Effect.fnUntraced(function*(git: StepGit, directory: string) {
  const what = `find the repository of ${directory}`
  const top = yield* git.ask(what, { directory }, ["rev-parse", "--show-toplevel"])
  const at: GitPlace = { directory: top }
  const [inside, format, sparse, head, branch, kind] = yield* Effect.all([
    git.ask(what, { directory }, ["rev-parse", "--show-prefix"]),
    git.ask(what, at, ["rev-parse", "--show-object-format"]),
    git.run(at, ["config", "--type=bool", "--get", "core.sparseCheckout"]),
    git.run(at, ["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]),
    git.run(at, ["symbolic-ref", "--quiet", "--short", "HEAD"]),
    files(what, () => lstat(join(top, ".git")))
  ], { concurrency: "unbounded" })
  // A file named .git could have been written by the project, and name any repository of this user.
  if (!kind.isDirectory()) return yield* failed(`${top} is a linked worktree or a submodule`)
  if (format !== "sha1") return yield* failed(`${top} names its objects by ${format}, and only sha1 is supported`)
  if (sparse.stdout.trim() === "true") return yield* failed(`${top} is a sparse checkout`)
  if (top.includes("\n")) return yield* failed("The name of the directory has several lines")
  return {
    top,
    inside: inside.replace(/\/$/, ""),
    head: head.code === 0 ? head.stdout.trim() : undefined,
    branch: branch.code === 0 ? branch.stdout.trim() : undefined
  } satisfies UserRepository
})

/** Makes the repository of Skein's own, if it is not there. */
export const ensureStore = Effect.fnUntraced(function*(git: StepGit, store: string) {
  yield* files("make a directory for steps", () => mkdir(store, { recursive: true, mode: 0o700 }))
  const known = yield* files("read a directory for steps", () => lstat(join(store, "HEAD")).catch(() => undefined))
  if (known !== undefined) return
  yield* git.ask("make a repository for steps", { directory: store, variables: { GIT_DIR: store } }, [
    ...["init", "--quiet", "--bare", "--template=", "--object-format=sha1"]
  ])
})

/** Takes over what the user's repository says of ignored files and of missing history. */
const follow = (store: string, top: string) =>
  files("read the repository", async () => {
    const copied = async (name: string, to: string) => {
      const from = join(top, ".git", name)
      const found = await lstat(from).catch(() => undefined)
      if (found?.isFile() === true) await copyFile(from, join(store, to))
      else await rm(join(store, to), { force: true })
    }
    // Of a git that was killed. Nobody else works here: the tree is held.
    await rm(join(store, "index.lock"), { force: true })
    await mkdir(join(store, "info"), { recursive: true })
    await mkdir(join(store, "objects", "info"), { recursive: true })
    await writeFile(join(store, "objects", "info", "alternates"), `${join(top, ".git", "objects")}\n`)
    await copied(join("info", "exclude"), join("info", "exclude"))
    await copied(join("info", "attributes"), join("info", "attributes"))
    await copied("shallow", "shallow")
  })

/** The names of files that differ from the index, or are not in it. Repositories in it are left out. */
const changedFiles = Effect.fnUntraced(function*(git: StepGit, place: GitPlace, given: ReadonlyArray<string>) {
  const repositories = new Set<string>()
  yield* git.ask("list the files", place, [...given, "ls-files", "--stage", "-z"], (record) => {
    if (record.startsWith("160000 ")) repositories.add(record.slice(record.indexOf("\t") + 1))
  })
  const names = new Set<string>()
  const listing = ["ls-files", "-z", "--others", "--modified", "--deleted", "--exclude-standard"]
  yield* git.ask("list the changed files", place, [...given, ...listing], (name) => {
    if (!name.endsWith("/") && !repositories.has(name)) names.add(name)
  })
  return [...names]
})

/**
 * Brings the index to the state of the files. Git gets their names: left to find them itself, it would look into
 * repositories within this one, whose config may name programs to run, and which an agent may have made.
 */
const readChanges = Effect.fnUntraced(
  function*(git: StepGit, store: string, place: GitPlace, given: ReadonlyArray<string>) {
    const names = yield* changedFiles(git, place, given)
    if (names.length === 0) return
    const list = join(store, "names")
    yield* files("list the changed files", () => writeFile(list, names.map((name) => `${name}\0`).join("")))
    yield* git.ask("read the files", place, [
      ...[...given, "--literal-pathspecs", "add", "--all", `--pathspec-from-file=${list}`, "--pathspec-file-nul"]
    ])
  }
)

/** How often files are read that others change at the same time. */
const tries = 3

/** Commits the files as they are: tracked and new ones, without ignored ones. Gives the commit. */
export const readFiles = Effect.fnUntraced(function*(git: StepGit, store: string, step: TreeStep) {
  const { branch, head, inside, top } = yield* userRepository(git, step.directory)
  if (inside !== step.workspace.inside) {
    return yield* failed(`${step.directory} is in another repository than when the session began`)
  }
  yield* ensureStore(git, store)
  yield* follow(store, top)
  const settings = yield* Effect.forEach(heeded, (key) =>
    Effect.map(
      git.run({ directory: top }, ["config", ...(key === "core.excludesFile" ? ["--type=path"] : []), "--get", key]),
      ({ code, stdout }) => code === 0 ? ["-c", `${key}=${stdout.replace(/\n$/, "")}`] : []
    ), { concurrency: "unbounded" })
  const place: GitPlace = {
    directory: top,
    variables: { GIT_DIR: store, GIT_WORK_TREE: top, GIT_INDEX_FILE: join(store, "index"), ...author }
  }
  const given = ["-c", "core.bare=false", ...settings.flat()]
  // Files that are tracked and ignored are known from the commit alone.
  if (head !== undefined) yield* git.ask("read the last commit", place, [...given, "read-tree", "-i", "-m", head])
  yield* Effect.retry(readChanges(git, store, place, given), { times: tries - 1 })
  const tree = yield* git.ask("store the files", place, [...given, "write-tree"])
  const message = stepMessage({ rootID: step.rootID, epoch: step.epoch, seq: step.seq, branch })
  return yield* git.ask("store the step", place, [
    ...["commit-tree", ...(head === undefined ? [] : ["-p", head]), "-m", message, tree]
  ])
})

/** What no workspace has. */
const omits = [
  "Files that git ignores, such as dependencies and build results, are not in it",
  "What was in submodules, in repositories within the repository, and in the store of large files (LFS) may not be in it",
  "Other branches, tags and stashes, the hooks of git and its settings are not in it"
]

/** The directory of the session in a workspace. One that a link leads out of it is refused. */
const directoryIn = (top: string, inside: string) =>
  files("make the directory of the session", async () => {
    const directory = join(top, inside)
    if (directory !== top && !directory.startsWith(top + sep)) throw new Error(`${inside} is not in the repository`)
    // It is not there yet if nothing in it is tracked.
    const real = await realpath(directory).catch(() => undefined)
    if (real === undefined) await mkdir(directory, { recursive: true })
    const found = await realpath(directory)
    if (found !== directory) throw new Error(`${inside} leads to ${found}`)
    return found
  })

/** Fetches the last step of a tree, and checks its files out into a new directory below `at`. */
const checkOut = Effect.fnUntraced(function*(
  git: StepGit,
  at: string,
  tree: { readonly rootID: SessionID; readonly workspace: SessionWorkspace },
  remote: StepRemote
) {
  const top = yield* files("make a workspace", async () => {
    await mkdir(at, { recursive: true, mode: 0o700 })
    return realpath(await mkdtemp(join(at, "tree-")))
  })
  const place: GitPlace = { directory: top, variables: { GIT_DIR: join(top, ".git"), GIT_WORK_TREE: top } }
  const ask = (args: ReadonlyArray<string>) => git.ask("make a workspace", place, args)
  const making = Effect.gen(function*() {
    yield* ask(["init", "--quiet", "--template=", "--object-format=sha1", "--initial-branch=main"])
    const commit = yield* git.fetch(place, remote)
    if (commit === undefined) {
      return yield* new WorkspaceRefused({
        reason: "nothing",
        message: `No step of the session is kept: ${remote.ref} is not in ${remote.url}`
      })
    }
    const step = yield* git.stepAt(place, commit)
    if (step === undefined || step.rootID !== tree.rootID) {
      return yield* failed(`${remote.ref} of ${remote.url} holds no step of this session`)
    }
    const { branch, head } = step
    if (branch !== undefined) yield* ask(["symbolic-ref", "HEAD", `refs/heads/${branch}`])
    // Without a branch, HEAD names the commit itself.
    if (head !== undefined) yield* ask(["update-ref", ...(branch === undefined ? ["--no-deref"] : []), "HEAD", head])
    yield* ask(["config", "remote.origin.url", remote.url])
    yield* ask(["config", "remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*"])
    yield* ask(["read-tree", "--reset", "-u", commit])
    // What was not committed is not staged either.
    yield* ask(head === undefined ? ["read-tree", "--empty"] : ["read-tree", head])
    const directory = yield* directoryIn(top, tree.workspace.inside)
    return { directory, top, commit, epoch: step.epoch, seq: step.seq, omits } satisfies FetchedStep
  })
  return yield* Effect.onError(making, () => Effect.promise(() => rm(top, { recursive: true, force: true })))
})

/** The URL of a remote as the repository itself writes it. */
const urlOf = (git: StepGit, top: string, named: string) =>
  isRemoteName(named)
    ? Effect.flatMap(
      git.run({ directory: top }, ["config", "--get", `remote.${named}.url`]),
      ({ code, stdout }) =>
        code === 0 ? Effect.succeed(stdout.trim()) : failed(`The repository ${top} has no remote ${named}`)
    )
    : Effect.succeed(named)

/** Chooses the repository for a new tree. */
export const originOf = ({ git, local }: StepPlaces): WorkspaceKeeper["origin"] => (directory, settings) =>
  Effect.gen(function*() {
    const { inside, top } = yield* userRepository(git, directory)
    const url = yield* urlOf(git, top, settings.workspace_remote ?? "origin")
    const found = remoteOf(url, local)
    return "why" in found
      ? yield* failed(`The repository ${url} is not used: ${found.why}`)
      : { remote: found.url, inside }
  }).pipe(
    Effect.catchAll(({ message }) =>
      Effect.as(
        Effect.logWarning(`The session in ${directory} stays on this host, although \`workspace\` is "git"`, message),
        undefined
      )
    )
  )

/** Makes a workspace with the last step. */
export const fetchStep =
  ({ git, isOn, remoteFor, roomOf }: StepPlaces): WorkspaceKeeper["fetch"] => (rootID, workspace) =>
    isOn
      ? Effect.flatMap(remoteFor(rootID, workspace), (remote) =>
        checkOut(git, roomOf(rootID), { rootID, workspace }, remote))
      : Effect.fail(
        new WorkspaceRefused({
          reason: "off",
          message: "`workspace` is not \"git\" in the config of the user of this host"
        })
      )

/** Puts the same step there again, in the name of a later holder. */
export const claimStep = ({ git, remoteFor }: StepPlaces): WorkspaceKeeper["claim"] =>
  Effect.fnUntraced(function*(rootID, workspace, { commit, seq, top }, epoch) {
    const remote = yield* remoteFor(rootID, workspace)
    const place = { directory: top, variables: { GIT_DIR: join(top, ".git"), ...author } }
    const found = yield* git.stepAt(place, commit)
    if (found === undefined) return yield* failed(`${commit} holds no step`)
    const { branch, head, tree } = found
    const own = yield* git.ask("claim the step", place, [
      ...["commit-tree", ...(head === undefined ? [] : ["-p", head])],
      ...["-m", stepMessage({ rootID, epoch, seq, branch }), tree]
    ])
    if (yield* git.push(place, remote, own, commit)) return
    return yield* new WorkspaceRefused({
      reason: "superseded",
      message: `${remote.ref} of ${remote.url} has changed since it was fetched`
    })
  })

/** Removes a workspace. */
export const discardStep: WorkspaceKeeper["discard"] = ({ top }) =>
  Effect.promise(() => rm(top, { recursive: true, force: true }))
