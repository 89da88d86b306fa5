/** Creates and removes a worktree: its branch, the repository's data about it, its files, and its record. */
import type { PlatformError } from "@effect/platform/Error"
import type * as FileSystem from "@effect/platform/FileSystem"
import type { IsolationRefused } from "@skein/core/Isolation"
import * as Effect from "effect/Effect"
import * as NodeFs from "node:fs"
import { dirname, join } from "node:path"
import type { Git } from "./gitCommand.ts"
import type { WorktreePlace } from "./gitPlaces.ts"
import type { Records, WorktreeRecord } from "./gitRecord.ts"

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
        yield* git.change(`delete the branch ${place.branch}`, place.shared, [
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
      yield* git.change(`make the branch ${place.branch}`, place.shared, ["update-ref", place.ref, record.base, ""])
    }
    yield* git.change(`make the worktree ${place.root}`, place.shared, [
      "worktree",
      "add",
      "--no-checkout",
      place.root,
      place.branch
    ])
  })
  const checkOut = git.change(`write the files of ${place.root}`, place.inside, [
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
