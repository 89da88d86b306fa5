/**
 * Owns the worktrees of all tasks: opens an existing one, one whose files are gone, or a new one, serialises the calls
 * for each of them, and reports the result when their work ends.
 */
import type { PlatformError } from "@effect/platform/Error"
import type * as FileSystem from "@effect/platform/FileSystem"
import { FairSemaphore } from "@skein/core/Fibers"
import {
  type Changes,
  type Isolation,
  IsolationRefused,
  type Leftover,
  type Workspace,
  type WorkspaceEnd
} from "@skein/core/Isolation"
import type { SessionID } from "@skein/domain/Id"
import * as Clock from "effect/Clock"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as RcMap from "effect/RcMap"
import type * as Scope from "effect/Scope"
import { basename, dirname, join, resolve, sep } from "node:path"
import { makeKnownPlaces } from "../secretFiles.ts"
import { cannotKeep, failed, type Git, type GitPlace, makeGit } from "./gitCommand.ts"
import {
  branchOf,
  branchState,
  discard,
  type Entry,
  locate,
  make,
  makeRecords,
  placeOf,
  type Repository,
  type Workshop,
  type WorktreePlace,
  type WorktreeRecord
} from "./gitWorktree.ts"

/** How many names of files are shown. */
const maximumNames = 10

/** A list of names in one line. */
const listed = (names: ReadonlyArray<string>): string => {
  const shown = names.slice(0, maximumNames).map((name) => /[\p{C}",]/u.test(name) ? JSON.stringify(name) : name)
  return shown.join(", ") + (names.length > maximumNames ? `, and ${names.length - maximumNames} more` : "")
}

/** A count with its noun. */
const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? "" : "s"}`

/** The uncommitted changes of a worktree: their number, and the names of untracked and of ignored files. */
const uncommitted = Effect.fnUntraced(function*(git: Git, place: GitPlace) {
  let count = 0
  const unknown: Array<string> = []
  const ignored: Array<string> = []
  yield* git.ask(
    "see what is not committed",
    place,
    // Never look into submodules: their config may name programs to run, and a task may have written it.
    [
      "status",
      "--porcelain=v1",
      "-z",
      "--no-renames",
      "--untracked-files=normal",
      "--ignored",
      "--ignore-submodules=dirty"
    ],
    (record) => {
      if (record.startsWith("!! ")) return void ignored.push(record.slice(3))
      count++
      if (record.startsWith("?? ")) unknown.push(record.slice(3))
    }
  )
  return { count, unknown, ignored }
})

/** The submodules of a worktree. */
const submodules = Effect.fnUntraced(function*(git: Git, place: GitPlace) {
  const found: Array<string> = []
  yield* git.ask("list what is in the worktree", place, ["ls-files", "--stage", "-z"], (record) => {
    if (record.startsWith("160000 ")) found.push(record.slice(record.indexOf("\t") + 1))
  })
  return found
})

/** The submodules that somebody has filled. They were empty at first, and git does not look into them here. */
const filled = (fs: FileSystem.FileSystem, root: string, names: ReadonlyArray<string>) =>
  Effect.filter(names, (name) =>
    fs.readDirectory(join(root, name)).pipe(
      Effect.map((entries) => entries.length > 0),
      Effect.orElseSucceed(() => false)
    ))

/** How many stashes were made on a branch. They are the repository's, and outlive the worktree. */
const stashesOf = Effect.fnUntraced(function*(git: Git, place: GitPlace, branch: string) {
  const list = yield* git.ask("list stashes", place, ["stash", "list", "--format=%gs"])
  return list.split("\n").filter((subject) => /^(?:WIP on|On) ([^:]+):/i.exec(subject)?.[1] === branch).length
})

const number = (text: string): number => Number(text.trim())

const standing = ["--no-color", "--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty"]

/**
 * The changes of a worktree since its base; `none` if there are none, and neither ignored files nor a stash. If its files are gone, only the commits count.
 * Fails if git cannot tell.
 */
const changesOf = (
  git: Git,
  fs: FileSystem.FileSystem,
  place: WorktreePlace,
  base: string,
  whole: boolean
): Effect.Effect<Changes | "none", IsolationRefused | PlatformError> =>
  Effect.gen(function*() {
    const hasFiles = whole && (yield* fs.exists(place.root))
    if (!(yield* fs.exists(hasFiles ? place.own : place.common))) {
      return yield* failed(
        `The repository ${place.common} no longer knows the worktree ${place.root}, so git cannot tell what was changed there. Copy what you need from it, then remove it with force.`
      )
    }
    const at = hasFiles ? place.inside : place.shared
    // The task may have switched branches, or deleted its own. Without files, HEAD belongs to another worktree.
    const heads = ["--ignore-missing", place.ref, ...(hasFiles ? ["HEAD"] : [])]
    const count = (...rest: ReadonlyArray<string>) =>
      Effect.map(git.ask("count commits", at, ["rev-list", "--count", ...heads, "--not", base, ...rest]), number)
    const elsewhere = [`--exclude=${place.branch}`, "--branches", "--tags", "--remotes"]
    const [commits, onlyHere, open, full, stashes] = yield* Effect.all([
      count(),
      count(...elsewhere),
      hasFiles ? uncommitted(git, at) : Effect.succeed({ count: 0, unknown: [], ignored: [] }),
      hasFiles ? Effect.flatMap(submodules(git, at), (names) => filled(fs, place.root, names)) : Effect.succeed([]),
      hasFiles ? stashesOf(git, at, place.branch) : Effect.succeed(0)
    ], { concurrency: "unbounded" })
    const unsaved = open.count + full.length
    if (commits + unsaved + open.ignored.length + stashes === 0) return "none"

    const stat = yield* git.ask("compare with the base", at, [
      "diff",
      "--stat=100",
      "--stat-count=50",
      ...standing,
      base,
      ...(hasFiles ? [] : [place.ref]),
      "--"
    ])
    const lines = [
      stat,
      open.unknown.length > 0 ? ` ${counted(open.unknown.length, "untracked")}: ${listed(open.unknown)}` : "",
      open.ignored.length > 0 ? ` ${open.ignored.length} ignored: ${listed(open.ignored)}` : "",
      stashes > 0 ? ` ${stashes === 1 ? "1 stash" : `${stashes} stashes`}: see \`git stash list\`` : "",
      full.length > 0 ? ` ${counted(full.length, "submodule")} with something in it: ${listed(full)}` : ""
    ]
    return { commits, onlyHere, uncommitted: unsaved, diffStat: lines.filter(Boolean).join("\n") }
  })

/**
 * The branch that is checked out in a worktree, because the task may have created another one. Its original branch if
 * the files are gone.
 */
const branchThere = (
  git: Git,
  fs: FileSystem.FileSystem,
  place: WorktreePlace
): Effect.Effect<string, IsolationRefused | PlatformError> =>
  Effect.gen(function*() {
    if (!(yield* fs.exists(place.root))) return place.branch
    const { code, stdout } = yield* git.run(place.inside, ["symbolic-ref", "--quiet", "--short", "HEAD"])
    return code === 0 ? stdout.trim() : place.branch
  })

/** Whose worktree is opened. */
type Opening = Parameters<Context.Tag.Service<Isolation>["open"]>[0]

/** Refuses to replace anything that a new worktree would overwrite: its owner is unknown. */
const refuseWhatIsThere = Effect.fnUntraced(
  function*({ fs, git }: Workshop, { recorded }: Entry, place: WorktreePlace, root: string | undefined) {
    // The task has had a worktree that cannot be reopened here. Its branch may contain its work.
    if (root !== undefined && root !== place.root && (yield* branchState(git, place)) !== undefined) {
      return yield* failed(
        `The worktree of this task is ${root}, in a data directory that this server does not know. Its work is there and on the branch ${place.branch}. A server with that data directory (XDG_DATA_HOME) can continue the task.`
      )
    }
    const inTheWay = (what: string, mend: string) => failed(`${what} already, and Skein does not know it. ${mend}`)
    if (recorded) return yield* inTheWay(`There is a record ${place.file}`, "Move it elsewhere, or remove the task.")
    if (yield* fs.exists(place.root)) return yield* inTheWay(`There is ${place.root}`, "Move it elsewhere.")
    if ((yield* branchState(git, place)) !== undefined) {
      return yield* inTheWay(
        `There is a branch ${place.branch} in ${place.common}`,
        `Give it another name: git branch -m ${place.branch} NAME`
      )
    }
    if (yield* fs.exists(place.own)) {
      return yield* inTheWay(
        `There is ${place.own}`,
        "If it is of a worktree that is gone, `git worktree prune` removes it."
      )
    }
  }
)

/** Links the worktree to its repository again: its task may have overwritten the file that does so. */
const repairLink = Effect.fnUntraced(function*({ fs }: Workshop, place: WorktreePlace) {
  const link = join(place.root, ".git")
  const text = `gitdir: ${place.own}\n`
  const now = yield* Effect.orElseSucceed(fs.readFileString(link), () => "")
  if (now === text) return
  // Renaming replaces a link; writing would follow it.
  yield* fs.writeFileString(`${place.root}.git.new`, text)
  yield* fs.rename(`${place.root}.git.new`, link)
})

/** Decides between the existing worktree, its branch, and a new one. A new one is recorded first. */
const plan = Effect.fnUntraced(function*(
  workshop: Workshop,
  entry: Entry,
  place: WorktreePlace,
  { description, head, root }: Pick<Opening, "description" | "root"> & { readonly head: string }
) {
  const { fs, records } = workshop
  const { record } = entry
  if (record?.whole === true && (yield* fs.exists(place.root))) {
    if (!(yield* fs.exists(place.own))) {
      return yield* failed(
        `The repository ${place.common} no longer knows the worktree ${place.root}. Copy what you need from it, then remove it with force.`
      )
    }
    yield* repairLink(workshop, place)
    return { record, isThere: true }
  }
  if (record === undefined) yield* refuseWhatIsThere(workshop, entry, place, root)
  // The files are gone, but the branch has the task's commits.
  else if (!(yield* discard(workshop, place, record, false))) return { record, isThere: false }
  const fresh: WorktreeRecord = {
    version: 1,
    taskID: place.taskID,
    description,
    common: place.common,
    base: head,
    created: yield* Clock.currentTimeMillis,
    whole: false
  }
  yield* records.write(place.file, fresh)
  return { record: fresh, isThere: false }
})

/** What the caller's tree has that a worktree does not. */
const omissions = Effect.fnUntraced(function*(
  { git }: Workshop,
  repository: Repository,
  place: WorktreePlace,
  base: string
) {
  const newer = ["rev-list", "--count", repository.head, "--not", base]
  const [open, commits, empty] = yield* Effect.all([
    uncommitted(git, { directory: repository.top }),
    Effect.map(git.ask("count commits", place.shared, newer), Number),
    submodules(git, place.inside)
  ], { concurrency: "unbounded" })
  const are = (count: number) => count === 1 ? "is" : "are"
  return [
    ...(commits > 0 ? [`${counted(commits, "newer commit")} of the caller's branch ${are(commits)} not in it`] : []),
    ...(open.count > 0
      ? [`${counted(open.count, "uncommitted change")} of the caller's tree ${are(open.count)} not in it`]
      : []),
    ...(empty.length > 0 ? [`${counted(empty.length, "submodule")} may be empty in it: ${listed(empty)}`] : [])
  ]
})

/** The caller's directory in the worktree; the top if a link leads out of it. */
const directoryIn = Effect.fnUntraced(function*({ fs }: Workshop, { root }: WorktreePlace, inside: string) {
  const directory = join(root, inside)
  // A directory that git does not know, such as a new one, does not exist there yet.
  return yield* fs.makeDirectory(directory, { recursive: true }).pipe(
    Effect.zipRight(fs.realPath(directory)),
    Effect.map((real) => real === root || real.startsWith(root + sep) ? real : root),
    Effect.orElseSucceed(() => root)
  )
})

/** Opens the worktree of a task. On failure or interruption, what was created is removed again. */
export const open = (
  workshop: Workshop,
  of: Opening
): Effect.Effect<Workspace, IsolationRefused | PlatformError> =>
  Effect.gen(function*() {
    const repository = yield* locate(workshop.git, of.directory)
    const entry = yield* workshop.records.ensure(repository.common, of.taskID, of.root)
    const place = placeOf(entry, repository.common)
    const { isThere, record } = yield* plan(workshop, entry, place, { ...of, head: repository.head })
    const tell = Effect.gen(function*() {
      return {
        directory: yield* directoryIn(workshop, place, repository.inside),
        root: place.root,
        branch: place.branch,
        base: record.base,
        gitDirectory: place.common,
        omits: yield* omissions(workshop, repository, place, record.base)
      } satisfies Workspace
    })
    if (isThere) return yield* tell
    return yield* Effect.onError(Effect.zipRight(make(workshop, place, record), tell), () =>
      Effect.catchAll(
        discard(workshop, place, record, false),
        (error) => Effect.logWarning(`A worktree that was not opened is still there: ${place.root}`, error)
      ))
  })

/** How many worktrees are checked in parallel. */
const concurrency = 4

const refuseLoss = (taskID: SessionID, root: string, what: string) =>
  new IsolationRefused({
    reason: "has_changes",
    message:
      `The worktree of ${taskID} was not removed: ${what}. It is in ${root}; take what you need from there or from the branch ${
        branchOf(taskID)
      }, or remove it with force.`
  })

/** The changes in a worktree since its creation. */
const lookAt = ({ fs, git }: Workshop, entry: Entry, record: WorktreeRecord) =>
  changesOf(git, fs, placeOf(entry, record.common), record.base, record.whole)

/** The worktree of a task. */
const find = ({ records }: Workshop, taskID: SessionID) =>
  Effect.filterOrFail(records.find(taskID), (entry) => entry !== undefined, () =>
    new IsolationRefused({
      reason: "not_found",
      message: `There is no worktree of ${taskID}. See \`skein tasks clean --dry-run\`.`
    }))

/** Ends the work in a worktree. It is kept if anything was changed in it. */
const close = (workshop: Workshop, taskID: SessionID) =>
  Effect.gen(function*() {
    const entry = yield* find(workshop, taskID)
    const { record, root } = entry
    if (record === undefined) {
      return yield* failed(
        `There is no record of how ${root} began, so its changes are unknown. It is kept: take what you need from it, then remove it with force.`
      )
    }
    const place = placeOf(entry, record.common)
    const changes = yield* lookAt(workshop, entry, record)
    if (changes === "none") {
      yield* discard(workshop, place, record, false)
      return { kept: false } satisfies WorkspaceEnd
    }
    return {
      kept: true,
      branch: yield* branchThere(workshop.git, workshop.fs, place),
      directory: root,
      ...changes
    } satisfies WorkspaceEnd
  })

/** Whether a directory lies in the worktree that is recorded for a task. */
const contains = Effect.fnUntraced(function*(
  { fs, records }: Workshop,
  { directory, root, taskID }: Parameters<Context.Tag.Service<Isolation>["contains"]>[0]
) {
  const entry = yield* records.find(taskID)
  if (entry?.record?.taskID !== taskID || entry.root !== root) return false
  // Its name alone does not say where a directory is.
  const real = yield* Effect.orElseSucceed(fs.realPath(directory), () => resolve(directory))
  return real === root || real.startsWith(root + sep)
})

/** Describes a worktree that still exists. */
const leftover = Effect.fnUntraced(function*(workshop: Workshop, entry: Entry) {
  const { record, root, taskID } = entry
  const base = { taskID, directory: root, branch: branchOf(taskID) }
  if (record === undefined) return { ...base, changes: "unknown" } satisfies Leftover
  const changes = yield* Effect.catchAll(
    lookAt(workshop, entry, record),
    (error) => Effect.as(Effect.logDebug(`Git cannot tell what is in ${root}`, error), "unknown" as const)
  )
  return {
    ...base,
    origin: {
      description: record.description,
      repository: basename(record.common) === ".git" ? dirname(record.common) : record.common,
      repositoryExists: yield* workshop.fs.exists(record.common),
      base: record.base,
      created: record.created
    },
    changes
  } satisfies Leftover
})

/** Removes a worktree. Without `force`, only if no work is lost. */
const remove = (workshop: Workshop, taskID: SessionID, force: boolean) =>
  Effect.gen(function*() {
    const entry = yield* find(workshop, taskID)
    const { file, record, root } = entry
    if (record === undefined) {
      if (!force) return yield* refuseLoss(taskID, root, "there is no record of how it began")
      yield* workshop.fs.remove(root, { recursive: true, force: true })
      return yield* workshop.records.forget(file)
    }
    if (!force) {
      const changes = yield* Effect.catchTag(
        lookAt(workshop, entry, record),
        "IsolationRefused",
        ({ message }) => refuseLoss(taskID, root, message.replace(/\.$/, ""))
      )
      if (changes !== "none" && changes.onlyHere + changes.uncommitted > 0) {
        const lost = [
          ...(changes.onlyHere > 0 ? [counted(changes.onlyHere, "commit")] : []),
          ...(changes.uncommitted > 0 ? [counted(changes.uncommitted, "uncommitted change")] : [])
        ]
        return yield* refuseLoss(taskID, root, `${lost.join(" and ")} would be lost`)
      }
    }
    yield* discard(workshop, placeOf(entry, record.common), record, true)
  })

/** Isolation over git. */
export const makeWorktrees = (options: {
  readonly dataDirectory: string
  readonly register?: string
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly fs: FileSystem.FileSystem
}): Effect.Effect<Context.Tag.Service<Isolation>, never, Scope.Scope> =>
  Effect.gen(function*() {
    const { fs } = options
    const top = join(options.dataDirectory, "worktrees")
    const git = yield* makeGit(options.environment)
    const turns = yield* RcMap.make<string, FairSemaphore, never, never>({
      lookup: () => Effect.sync(() => new FairSemaphore(1))
    })
    const alone = (key: string) => <A, E>(effect: Effect.Effect<A, E>): Effect.Effect<A, E> =>
      Effect.scoped(Effect.flatMap(RcMap.get(turns, key), (turn) => turn.withPermit(effect)))
    const known = makeKnownPlaces(options.register)
    const records = makeRecords(fs, top, () => known().map(({ dataDirectory }) => join(dataDirectory, "worktrees")))
    const workshop: Workshop = { git, fs, records, alone }

    const refusing = <A>(
      effect: Effect.Effect<A, IsolationRefused | PlatformError>
    ): Effect.Effect<A, IsolationRefused> =>
      Effect.mapError(effect, (error) => error._tag === "IsolationRefused" ? error : cannotKeep(top)(error))

    const forTask = (taskID: SessionID) => alone(`task ${taskID}`)
    return {
      open: (of) => forTask(of.taskID)(refusing(open(workshop, of))),
      close: (taskID) => forTask(taskID)(refusing(close(workshop, taskID))),
      contains: (of) => forTask(of.taskID)(refusing(contains(workshop, of))),
      list: refusing(Effect.flatMap(records.all, (entries) =>
        Effect.forEach(entries, (entry) =>
          leftover(workshop, entry), { concurrency }))),
      remove: (taskID, { force = false } = {}) =>
        forTask(taskID)(refusing(remove(workshop, taskID, force)))
    }
  })
