/** Owns the records of worktrees, in a file next to each. Git itself could only store them in the user's config. */
import type { PlatformError } from "@effect/platform/Error"
import type * as FileSystem from "@effect/platform/FileSystem"
import { SessionID } from "@skein/domain/Id"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { createHash } from "node:crypto"
import { join } from "node:path"

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

/** The records below a directory, with one directory for each repository. */
export const makeRecords = (fs: FileSystem.FileSystem, top: string) => {
  const entry = Effect.fnUntraced(function*(directory: string, taskID: SessionID) {
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

  const names = (directory: string) =>
    Effect.flatMap(fs.exists(directory), (isThere) => isThere ? fs.readDirectory(directory) : Effect.succeed([]))

  /** The entry of a task in a repository, whether or not it exists yet. Creates its directory. */
  const ensure = (common: string, taskID: SessionID): Effect.Effect<Entry, PlatformError> => {
    const directory = join(top, createHash("sha256").update(common).digest("hex").slice(0, 16))
    return fs.makeDirectory(directory, { recursive: true, mode: 0o700 }).pipe(
      Effect.zipRight(fs.realPath(directory)),
      Effect.flatMap((real) => entry(real, taskID))
    )
  }

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

  /** The entry of a task in any repository. */
  const find = (taskID: SessionID): Effect.Effect<Entry | undefined, PlatformError> =>
    Effect.gen(function*() {
      // It becomes a part of a path, and a user may have typed it.
      if (!isID(taskID)) return undefined
      for (const project of yield* names(top)) {
        const found = yield* entry(yield* fs.realPath(join(top, project)), taskID)
        if (found.recorded || (yield* fs.exists(found.root))) return found
      }
      return undefined
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
