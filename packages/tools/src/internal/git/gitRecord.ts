/** Owns what is remembered of each worktree, in a file beside it: git has no place for that which is not the user's config. */
import type { PlatformError } from "@effect/platform/Error"
import type * as FileSystem from "@effect/platform/FileSystem"
import { SessionID } from "@skein/domain/Id"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { createHash } from "node:crypto"
import { join } from "node:path"

/** What is remembered of a worktree. */
const WorktreeRecord = Schema.Struct({
  version: Schema.Literal(1),
  taskID: SessionID,
  description: Schema.String,
  /** What all working trees of its repository share. */
  common: Schema.String,
  base: Schema.String,
  created: Schema.Number,
  /** Whether its files are all there; those of one that is being made or removed are of no worth. */
  whole: Schema.Boolean
})

/** What is remembered of a worktree. */
export type WorktreeRecord = typeof WorktreeRecord.Type

/** A worktree, or what is left of one. */
export interface Entry {
  readonly taskID: SessionID
  /** The top of the worktree; it need not be there. */
  readonly root: string
  readonly file: string
  /** `undefined` where there is none, or none that can be read. */
  readonly record: WorktreeRecord | undefined
  /** Whether there is a file of that name. */
  readonly recorded: boolean
}

const Stored = Schema.parseJson(WorktreeRecord)
const encode = Schema.encode(Stored)
const decode = Schema.decodeUnknown(Stored)

const isID = Schema.is(SessionID)

/** The records below a directory, one directory for each repository. */
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

  /** The entry of a task in a repository, whether or not there is anything of it yet; its directory is made. */
  const ensure = (common: string, taskID: SessionID): Effect.Effect<Entry, PlatformError> => {
    const directory = join(top, createHash("sha256").update(common).digest("hex").slice(0, 16))
    return fs.makeDirectory(directory, { recursive: true, mode: 0o700 }).pipe(
      Effect.zipRight(fs.realPath(directory)),
      Effect.flatMap((real) => entry(real, taskID))
    )
  }

  /** All that there is, in the order of ids. */
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

  /** The entry of a task in whichever repository. */
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

  /** Writes a record so that it is there whole or not at all. */
  const write = (file: string, record: WorktreeRecord): Effect.Effect<void, PlatformError> =>
    encode(record).pipe(
      Effect.orDieWith(() => new Error("A record of strings, numbers and booleans is always JSON")),
      Effect.flatMap((text) => fs.writeFileString(`${file}.new`, text, { mode: 0o600 })),
      Effect.zipRight(fs.rename(`${file}.new`, file))
    )

  /** Forgets a worktree. */
  const forget = (file: string): Effect.Effect<void, PlatformError> => fs.remove(file, { force: true })

  return { ensure, all, find, write, forget }
}

/** The records below a directory. */
export type Records = ReturnType<typeof makeRecords>
