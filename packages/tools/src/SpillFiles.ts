/**
 * Owns the files that keep texts that are too long for a model. Removes only those that Skein made, and never through a
 * link.
 */
import type { PlatformError } from "@effect/platform/Error"
import * as FileSystem from "@effect/platform/FileSystem"
import * as Path from "@effect/platform/Path"
import { Spill } from "@skein/core/Spill"
import type { SessionID } from "@skein/domain/Id"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Predicate from "effect/Predicate"
import * as NodeFs from "node:fs/promises"
import { join, resolve } from "node:path"

/** Files that only this user can read, in one directory for each session. */
export class SpillFiles extends Context.Tag("@skein/tools/SpillFiles")<SpillFiles, {
  /** The directory of a session's files, absolute. It may not exist. Its session may read it without asking. */
  readonly directory: (session: SessionID) => string
  /** Makes an empty file (mode 0600) and returns its path. The name is one of Skein's ids, never text of a model. */
  readonly create: (session: SessionID, name: string) => Effect.Effect<string, PlatformError>
}>() {
  /** Keeps files in `spill/` in the data directory (absolute). */
  static readonly layer = (
    dataDirectory: string
  ): Layer.Layer<SpillFiles, never, FileSystem.FileSystem | Path.Path> =>
    Layer.effect(
      SpillFiles,
      Effect.gen(function*() {
        const fs = yield* FileSystem.FileSystem
        const path = yield* Path.Path
        const top = path.resolve(dataDirectory, "spill")
        const directory = (session: SessionID) => path.join(top, plain(session))
        const create = Effect.fn("SpillFiles.create")(function*(session: SessionID, name: string) {
          const file = path.join(directory(session), plain(name))
          yield* fs.makeDirectory(directory(session), { recursive: true, mode: 0o700 })
          yield* fs.writeFile(file, new Uint8Array(), { mode: 0o600 })
          return file
        })
        return { directory, create }
      })
    )

  /** The port for long texts, over these files. */
  static readonly layerSpill: Layer.Layer<Spill, never, SpillFiles | FileSystem.FileSystem> = Layer.effect(
    Spill,
    Effect.gen(function*() {
      const fs = yield* FileSystem.FileSystem
      const files = yield* SpillFiles
      return {
        keep: (session, name, text) =>
          files.create(session, name).pipe(
            Effect.tap((file) => fs.writeFileString(file, text)),
            Effect.catchAll((error) =>
              Effect.as(Effect.logWarning(`A long text of ${session} could not be kept`, error), undefined)
            )
          )
      }
    })
  )
}

/** A name that cannot lead out of its directory, whatever it was made from. */
const plain = (name: string): string => name.replace(/^\.+|[^A-Za-z0-9_.-]/g, "_").slice(0, 100) || "_"

/** What to remove. */
export interface SpillPruning<E, R> {
  /**
   * Files of this session are removed if they were written before this time: `-Infinity` keeps all, `Infinity` none.
   */
  readonly before: (session: string) => Effect.Effect<number, E, R>
  /** The maximum number of files; those of the oldest sessions are first. */
  readonly limit?: number
  /** Counts what would be removed, and removes nothing. */
  readonly dryRun?: boolean
}

/** What was removed. */
export interface SpillPruned {
  readonly files: number
  readonly bytes: number
}

/** Other processes may remove or add files at the same time. */
const expected = new Set<unknown>(["ENOENT", "ENOTEMPTY", "EEXIST"])

/** Calls the file system. What cannot be checked or removed stays, and is logged. */
const attempt = <A>(path: string, otherwise: A, call: (path: string) => Promise<A>): Effect.Effect<A> =>
  Effect.catchAll(
    Effect.tryPromise(() => call(path)),
    ({ cause }) =>
      Predicate.hasProperty(cause, "code") && expected.has(cause.code)
        ? Effect.succeed(otherwise)
        : Effect.as(Effect.logWarning(`${path} was left as it is`, cause), otherwise)
  )

const removeFile = (path: string) => attempt(path, false, (file) => NodeFs.unlink(file).then(() => true))

/** The entries of a directory. A link is reported as a link. */
const entriesOf = (path: string) => attempt(path, [], (directory) => NodeFs.readdir(directory, { withFileTypes: true }))

/** Removes files in `spill/` in the data directory (absolute), and directories that are empty afterwards. */
export const pruneSpill = Effect.fn("SpillRetention.prune")(function*<E = never, R = never>(
  dataDirectory: string,
  { before, dryRun = false, limit = Number.POSITIVE_INFINITY }: SpillPruning<E, R>
) {
  const top = resolve(dataDirectory, "spill")
  const gone = { files: 0, bytes: 0 }
  const place = yield* attempt(top, undefined, (path) => NodeFs.lstat(path))
  if (place?.isDirectory() !== true) return gone
  const sessions = (yield* entriesOf(top)).filter((entry) => entry.isDirectory() && entry.name.startsWith("ses_"))
  // Ids ascend with time.
  for (const name of sessions.map((entry) => entry.name).toSorted()) {
    if (gone.files >= limit) break
    const time = yield* before(name)
    const directory = join(top, name)
    const changed = yield* attempt(directory, undefined, (path) => NodeFs.lstat(path))
    for (const entry of yield* entriesOf(directory)) {
      if (gone.files >= limit) break
      const file = join(directory, entry.name)
      const stat = entry.isFile() ? yield* attempt(file, undefined, (path) => NodeFs.lstat(path)) : undefined
      if (stat === undefined || stat.mtimeMs >= time || !(dryRun || (yield* removeFile(file)))) continue
      gone.files += 1
      gone.bytes += stat.size
    }
    // A new directory may be about to get its first file.
    if (!dryRun && changed !== undefined && changed.mtimeMs < time) {
      yield* attempt(directory, undefined, (path) => NodeFs.rmdir(path))
    }
  }
  return gone satisfies SpillPruned
})
