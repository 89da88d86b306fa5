/** Owns the records of worktrees, in a file next to each. Git itself could only store them in the user's config. */
import type { PlatformError } from "@effect/platform/Error"
import type * as FileSystem from "@effect/platform/FileSystem"
import { SessionID } from "@skein/domain/Id"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { createHash } from "node:crypto"
import { join } from "node:path"
import { getuid } from "node:process"

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
export type Records = ReturnType<typeof makeRecords>
