/**
 * Owns the worktrees of all tasks: serialises the calls for each of them, and reports the result when their work ends.
 */
import type { PlatformError } from "@effect/platform/Error"
import type * as FileSystem from "@effect/platform/FileSystem"
import { FairSemaphore } from "@skein/core/Fibers"
import { type Isolation, IsolationRefused, type Leftover, type WorkspaceEnd } from "@skein/core/Isolation"
import type { SessionID } from "@skein/domain/Id"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as RcMap from "effect/RcMap"
import type * as Scope from "effect/Scope"
import { basename, dirname, join, resolve, sep } from "node:path"
import { makeKnownPlaces } from "../knownPlaces.ts"
import { branchThere, changesOf, counted } from "./gitChanges.ts"
import { makeGit } from "./gitCommand.ts"
import { cannotKeep, failed } from "./gitFailure.ts"
import { open } from "./gitOpen.ts"
import { branchOf, placeOf } from "./gitPlaces.ts"
import { type Entry, makeRecords, type WorktreeRecord } from "./gitRecord.ts"
import { discard, type Workshop } from "./gitWorktree.ts"

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
