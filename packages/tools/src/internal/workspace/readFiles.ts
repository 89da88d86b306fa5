/**
 * Reads the files of a working directory into a commit. It is made in a repository of Skein's own, which only borrows the
 * objects of the user's: in theirs, nothing is written, and none of its config runs a program.
 */
import type { TreeStep, WorkspaceRefused } from "@skein/core/Workspaces"
import * as Effect from "effect/Effect"
import { copyFile, lstat, mkdir, rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import type { GitPlace } from "../git/gitCommand.ts"
import { author, failed, type StepGit, stepMessage } from "./stepGit.ts"

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
export const userRepository = Effect.fnUntraced(function*(git: StepGit, directory: string) {
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
