/**
 * Creates and removes a worktree: its branch, the repository's data about it, its files, and its record, in a file next
 * to it, since git could only store that in the user's config. Points git at its directories without trusting what a
 * task left there.
 */
import type { PlatformError } from "@effect/platform/Error"
import type * as FileSystem from "@effect/platform/FileSystem"
import { IsolationRefused } from "@skein/core/Isolation"
import { SessionID } from "@skein/domain/Id"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { createHash } from "node:crypto"
import * as NodeFs from "node:fs"
import { dirname, join, resolve } from "node:path"
import { getuid } from "node:process"
import { complaint, failed, type Git, type GitPlace } from "./gitCommand.ts"

/** The record of a worktree. */
const WorktreeRecord = Schema.Struct({
  version: Schema.Literal(1),
  taskID: SessionID,
  description: Schema.String,
  /** The directory that all working trees of its repository share. */
  common: Schema.String,
  base: Schema.String,
  created: Schema.Number,
  /** Whether its files are complete. If it is being created or removed, its files are worthless. */
  whole: Schema.Boolean
})

/** The schema of the record. */
export type WorktreeRecord = typeof WorktreeRecord.Type

/** A worktree, or its remains. */
export interface Entry {
  readonly taskID: SessionID
  /** The top of the worktree; it may not exist. */
  readonly root: string
  readonly file: string
  /** `undefined` if there is none, or none that can be read. */
  readonly record: WorktreeRecord | undefined
  /** Whether the file exists. */
  readonly recorded: boolean
}

const Stored = Schema.parseJson(WorktreeRecord)
const encode = Schema.encode(Stored)
const decode = Schema.decodeUnknown(Stored)

const isID = Schema.is(SessionID)

/** The directory of a repository below the top. */
const nameOf = (common: string): string => createHash("sha256").update(common).digest("hex").slice(0, 16)

/** What is in a directory of a task. */
const entryIn = Effect.fnUntraced(function*(fs: FileSystem.FileSystem, directory: string, taskID: SessionID) {
  const file = join(directory, `${taskID}.json`)
  const recorded = yield* fs.exists(file)
  const record = recorded
    ? yield* fs.readFileString(file).pipe(
      Effect.flatMap(decode),
      Effect.catchAll((error) =>
        Effect.as(Effect.logWarning(`The record of a worktree cannot be read: ${file}`, error), undefined)
      )
    )
    : undefined
  return { taskID, root: join(directory, taskID), file, record, recorded } satisfies Entry
})

/** The real path of another program's directory for a repository, if it is a directory of this user. */
const usableIn = (fs: FileSystem.FileSystem, directory: string): Effect.Effect<string | undefined> =>
  Effect.gen(function*() {
    const real = yield* fs.realPath(directory)
    const { type, uid } = yield* fs.stat(real)
    return type === "Directory" && Option.getOrUndefined(uid) === getuid?.() ? real : undefined
  }).pipe(Effect.orElseSucceed(() => undefined))

/**
 * The records below a directory, with one directory for each repository. `others` are such directories of other
 * programs of Skein of this user: a worktree there is found by its task, or by its place.
 */
export const makeRecords = (fs: FileSystem.FileSystem, top: string, others: () => ReadonlyArray<string>) => {
  const entry = (directory: string, taskID: SessionID) => entryIn(fs, directory, taskID)
  const names = (directory: string) =>
    Effect.flatMap(fs.exists(directory), (isThere) => isThere ? fs.readDirectory(directory) : Effect.succeed([]))

  /**
   * The entry of a task in a repository, whether or not it exists yet: at `root` if this is its place at another
   * program. Creates its directory.
   */
  const ensure = Effect.fnUntraced(function*(common: string, taskID: SessionID, root?: string) {
    const name = nameOf(common)
    yield* fs.makeDirectory(join(top, name), { recursive: true, mode: 0o700 })
    const own = yield* fs.realPath(join(top, name))
    if (root === undefined || root === join(own, taskID)) return yield* entry(own, taskID)
    for (const other of others()) {
      const directory = yield* usableIn(fs, join(other, name))
      if (directory !== undefined && root === join(directory, taskID)) return yield* entry(directory, taskID)
    }
    return yield* entry(own, taskID)
  })

  /** The entry of a task that another program has made. */
  const findElsewhere = Effect.fnUntraced(function*(taskID: SessionID) {
    for (const other of others()) {
      for (const name of yield* Effect.orElseSucceed(names(other), () => [])) {
        const directory = yield* usableIn(fs, join(other, name))
        if (directory === undefined || !(yield* fs.exists(join(directory, `${taskID}.json`)))) continue
        const found = yield* entry(directory, taskID)
        if (found.record?.taskID === taskID && nameOf(found.record.common) === name) return found
      }
    }
    return undefined
  })

  /** All entries, sorted by id. */
  const all: Effect.Effect<ReadonlyArray<Entry>, PlatformError> = Effect.gen(function*() {
    const found: Array<Entry> = []
    for (const project of yield* names(top)) {
      const directory = yield* fs.realPath(join(top, project))
      const inside = (yield* fs.stat(directory)).type === "Directory" ? yield* names(directory) : []
      for (const id of new Set(inside.map((name) => name.replace(/\.json$/, "")))) {
        if (isID(id)) found.push(yield* entry(directory, id))
      }
    }
    return found.toSorted((one, other) => one.taskID < other.taskID ? -1 : 1)
  })

  /** The entry of a task in any repository, here or elsewhere. */
  const find = (taskID: SessionID): Effect.Effect<Entry | undefined, PlatformError> =>
    Effect.gen(function*() {
      // It becomes a part of a path, and a user may have typed it.
      if (!isID(taskID)) return undefined
      for (const project of yield* names(top)) {
        const found = yield* entry(yield* fs.realPath(join(top, project)), taskID)
        if (found.recorded || (yield* fs.exists(found.root))) return found
      }
      return yield* findElsewhere(taskID)
    })

  /** Writes a record atomically. */
  const write = (file: string, record: WorktreeRecord): Effect.Effect<void, PlatformError> =>
    encode(record).pipe(
      Effect.orDieWith(() => new Error("A record of strings, numbers and booleans is always JSON")),
      Effect.flatMap((text) => fs.writeFileString(`${file}.new`, text, { mode: 0o600 })),
      Effect.zipRight(fs.rename(`${file}.new`, file))
    )

  /** Removes a record. */
  const forget = (file: string): Effect.Effect<void, PlatformError> => fs.remove(file, { force: true })

  return { ensure, all, find, write, forget }
}

/** The records below a directory. */
type Records = ReturnType<typeof makeRecords>

/** A worktree of a repository. */
export interface WorktreePlace {
  readonly taskID: SessionID
  /** The top of the worktree. */
  readonly root: string
  readonly file: string
  /** The directory that all working trees of the repository share. */
  readonly common: string
  /** The repository's data about this worktree: its HEAD and index. */
  readonly own: string
  readonly branch: string
  readonly ref: string
  /** Git at the repository, independent of all working trees. */
  readonly shared: GitPlace
  /** Git in the worktree, whatever its `.git` file says by now. */
  readonly inside: GitPlace
}

/** The branch of a task. */
export const branchOf = (taskID: SessionID): string => `skein/${taskID}`

/** The worktree of an entry. */
export const placeOf = (
  { file, root, taskID }: Pick<Entry, "file" | "root" | "taskID">,
  common: string
): WorktreePlace => {
  const own = join(common, "worktrees", taskID)
  const branch = branchOf(taskID)
  const variables = (directory: string, tree: string) => ({
    GIT_DIR: directory,
    GIT_COMMON_DIR: common,
    GIT_WORK_TREE: tree
  })
  return {
    taskID,
    root,
    file,
    common,
    own,
    branch,
    ref: `refs/heads/${branch}`,
    shared: { directory: common, variables: variables(common, common) },
    inside: { directory: root, variables: variables(own, root) }
  }
}

/** A repository as seen from a directory in it. */
export interface Repository {
  /** The top of the working tree that contains the directory. */
  readonly top: string
  /** The directory that all working trees of the repository share. */
  readonly common: string
  /** The directory relative to the top; empty at the top. */
  readonly inside: string
  /** The commit that is checked out. */
  readonly head: string
}

const noWorkingTree = (directory: string, stderr: string): IsolationRefused => {
  if (stderr.includes("not a git repository")) {
    return new IsolationRefused({
      reason: "not_a_repository",
      message:
        `${directory} is not in a git repository, and isolation needs one. Run \`git init\` there and commit, or leave \`isolation\` out.`
    })
  }
  if (/must be run in a work tree|cannot use bare repository/.test(stderr)) {
    return new IsolationRefused({
      reason: "not_a_repository",
      message:
        `${directory} is in a bare repository or a .git directory, where there are no files to work on. Begin in a working tree of it: \`git worktree add\` makes one.`
    })
  }
  return failed(`Could not find the repository of ${directory}: ${complaint(directory, stderr)}`)
}

/** The innermost repository of a directory. Refuses if there is none, or if it has no commit. */
export const locate = Effect.fnUntraced(function*(git: Git, directory: string) {
  // One path for each call, because a path may contain line ends.
  const { code, stderr, stdout } = yield* git.run({ directory }, ["rev-parse", "--show-toplevel"])
  if (code !== 0) return yield* noWorkingTree(directory, stderr)
  const top = stdout.replace(/\n$/, "")
  const what = `find the repository of ${directory}`
  const [common, inside, head] = yield* Effect.all([
    git.ask(what, { directory: top }, ["rev-parse", "--git-common-dir"]),
    git.ask(what, { directory }, ["rev-parse", "--show-prefix"]),
    git.run({ directory: top }, ["rev-parse", "--verify", "HEAD^{commit}"])
  ], { concurrency: "unbounded" })
  if (head.code !== 0) {
    return yield* new IsolationRefused({
      reason: "no_commits",
      message:
        `The repository ${top} has no commit to begin from. Commit what is there (\`git commit --allow-empty\` will do), or leave \`isolation\` out.`
    })
  }
  return {
    top,
    common: resolve(top, common),
    inside: inside.replace(/\/$/, ""),
    head: head.stdout.trim()
  } satisfies Repository
})

/** What creating and removing needs. */
export interface Workshop {
  readonly git: Git
  readonly fs: FileSystem.FileSystem
  readonly records: Records
  /** Serialises changes to what the worktrees of a repository share. */
  readonly alone: (common: string) => <A, E>(effect: Effect.Effect<A, E>) => Effect.Effect<A, E>
}

type Failure = IsolationRefused | PlatformError

/** The branch of a task: its commit, and which worktree has it checked out; `undefined` if there is none. */
export const branchState = (git: Git, place: WorktreePlace) =>
  Effect.map(
    git.ask("look for the branch", place.shared, [
      "for-each-ref",
      "--format=%(objectname)%00%(worktreepath)",
      place.ref
    ]),
    (said) => {
      const [commit = "", usedAt = ""] = said.split("\0")
      return commit === "" ? undefined : { commit, usedAt }
    }
  )

const removeEmpty = (directory: string): Effect.Effect<void> =>
  Effect.async((resume) => NodeFs.rmdir(directory, () => resume(Effect.void)))

/** Removes the files and the repository's data about them, unless the user has moved the worktree elsewhere. */
const removeTree = Effect.fnUntraced(function*({ fs }: Workshop, place: WorktreePlace) {
  yield* fs.remove(place.root, { recursive: true, force: true })
  const pointer = join(place.own, "gitdir")
  const link = (yield* fs.exists(pointer)) ? (yield* fs.readFileString(pointer)).trimEnd() : ""
  if (link !== join(place.root, ".git") && link !== "" && (yield* fs.exists(link))) return
  yield* fs.remove(place.own, { recursive: true, force: true })
  yield* removeEmpty(dirname(place.own))
})

/**
 * Removes a worktree whose files are worthless. Its branch is removed too, unless it has its own commits (`force`
 * removes those as well) or is checked out elsewhere. Returns whether nothing is left. Not interruptible; you can
 * repeat it after a failure.
 */
export const discard = (
  workshop: Workshop,
  place: WorktreePlace,
  record: WorktreeRecord,
  force: boolean
): Effect.Effect<boolean, Failure> =>
  Effect.uninterruptible(Effect.gen(function*() {
    const { alone, fs, git, records } = workshop
    yield* records.write(place.file, { ...record, whole: false })
    if (!(yield* fs.exists(place.common))) {
      yield* fs.remove(place.root, { recursive: true, force: true })
      yield* records.forget(place.file)
      return true
    }
    return yield* alone(place.common)(Effect.gen(function*() {
      yield* removeTree(workshop, place)
      const branch = yield* branchState(git, place)
      if (branch !== undefined && branch.usedAt === "") {
        const isEmpty = force ||
          (yield* git.ask("count commits", place.shared, [
              "rev-list",
              "--count",
              branch.commit,
              "--not",
              record.base
            ])) ===
            "0"
        if (!isEmpty) return false
        yield* git.ask(`delete the branch ${place.branch}`, place.shared, [
          "update-ref",
          "-d",
          place.ref,
          branch.commit
        ])
      }
      yield* records.forget(place.file)
      return true
    }))
  }))

/** Creates the branch of a worktree at its base if it does not exist, the worktree at its tip, and its files. */
export const make = (
  { alone, git, records }: Workshop,
  place: WorktreePlace,
  record: WorktreeRecord
): Effect.Effect<void, Failure> => {
  const register = Effect.gen(function*() {
    if ((yield* branchState(git, place)) === undefined) {
      // Not with `git branch`, which may write to the config. An empty old value ensures that the branch does not
      // exist.
      yield* git.ask(`make the branch ${place.branch}`, place.shared, ["update-ref", place.ref, record.base, ""])
    }
    yield* git.ask(`make the worktree ${place.root}`, place.shared, [
      "worktree",
      "add",
      "--no-checkout",
      place.root,
      place.branch
    ])
  })
  const checkOut = git.ask(`write the files of ${place.root}`, place.inside, [
    "reset",
    "--hard",
    "--quiet",
    "--no-recurse-submodules"
  ])
  return alone(place.common)(register).pipe(
    // Outside the lock: this takes long, and others need not wait for it.
    Effect.zipRight(checkOut),
    Effect.zipRight(records.write(place.file, { ...record, whole: true }))
  )
}
