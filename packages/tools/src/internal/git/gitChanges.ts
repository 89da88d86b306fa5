/** Finds the work in a worktree that exists nowhere else. */
import type { PlatformError } from "@effect/platform/Error"
import type * as FileSystem from "@effect/platform/FileSystem"
import type { Changes, IsolationRefused } from "@skein/core/Isolation"
import * as Effect from "effect/Effect"
import { join } from "node:path"
import { failed, type Git, type GitPlace } from "./gitCommand.ts"
import type { WorktreePlace } from "./gitWorktree.ts"

/** How many names of files are shown. */
const maximumNames = 10

/** A list of names in one line. */
export const listed = (names: ReadonlyArray<string>): string => {
  const shown = names.slice(0, maximumNames).map((name) => /[\p{C}",]/u.test(name) ? JSON.stringify(name) : name)
  return shown.join(", ") + (names.length > maximumNames ? `, and ${names.length - maximumNames} more` : "")
}

/** A count with its noun. */
export const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? "" : "s"}`

/** The uncommitted changes of a worktree: their number, and the names of untracked and of ignored files. */
export const uncommitted = Effect.fnUntraced(function*(git: Git, place: GitPlace) {
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
export const submodules = Effect.fnUntraced(function*(git: Git, place: GitPlace) {
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
export const changesOf = (
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
export const branchThere = (
  git: Git,
  fs: FileSystem.FileSystem,
  place: WorktreePlace
): Effect.Effect<string, IsolationRefused | PlatformError> =>
  Effect.gen(function*() {
    if (!(yield* fs.exists(place.root))) return place.branch
    const { code, stdout } = yield* git.run(place.inside, ["symbolic-ref", "--quiet", "--short", "HEAD"])
    return code === 0 ? stdout.trim() : place.branch
  })
