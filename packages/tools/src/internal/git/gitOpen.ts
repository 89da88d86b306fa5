/** Opens the worktree of a task: an existing one, one whose files are gone, or a new one. */
import type { PlatformError } from "@effect/platform/Error"
import type { Isolation, IsolationRefused, Workspace } from "@skein/core/Isolation"
import * as Clock from "effect/Clock"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { join, sep } from "node:path"
import { counted, listed, submodules, uncommitted } from "./gitChanges.ts"
import { failed } from "./gitFailure.ts"
import { placeOf, type WorktreePlace } from "./gitPlaces.ts"
import type { Entry, WorktreeRecord } from "./gitRecord.ts"
import { locate, type Repository } from "./gitRepository.ts"
import { branchState, discard, make, type Workshop } from "./gitWorktree.ts"

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
