/**
 * Decides which files of long texts are removed: only those that Skein made, in its data directory, and never through a
 * link.
 */
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import * as fs from "node:fs/promises"
import { join, resolve } from "node:path"

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

const removeFile = (path: string) => attempt(path, false, (file) => fs.unlink(file).then(() => true))

/** The entries of a directory. A link is reported as a link. */
const entriesOf = (path: string) => attempt(path, [], (directory) => fs.readdir(directory, { withFileTypes: true }))

/** Removes files in `spill/` in the data directory (absolute), and directories that are empty afterwards. */
export const pruneSpill = Effect.fn("SpillRetention.prune")(function*<E = never, R = never>(
  dataDirectory: string,
  { before, dryRun = false, limit = Number.POSITIVE_INFINITY }: SpillPruning<E, R>
) {
  const top = resolve(dataDirectory, "spill")
  const gone = { files: 0, bytes: 0 }
  const place = yield* attempt(top, undefined, (path) => fs.lstat(path))
  if (place?.isDirectory() !== true) return gone
  const sessions = (yield* entriesOf(top)).filter((entry) => entry.isDirectory() && entry.name.startsWith("ses_"))
  // Ids ascend with time.
  for (const name of sessions.map((entry) => entry.name).toSorted()) {
    if (gone.files >= limit) break
    const time = yield* before(name)
    const directory = join(top, name)
    const changed = yield* attempt(directory, undefined, (path) => fs.lstat(path))
    for (const entry of yield* entriesOf(directory)) {
      if (gone.files >= limit) break
      const file = join(directory, entry.name)
      const stat = entry.isFile() ? yield* attempt(file, undefined, (path) => fs.lstat(path)) : undefined
      if (stat === undefined || stat.mtimeMs >= time || !(dryRun || (yield* removeFile(file)))) continue
      gone.files += 1
      gone.bytes += stat.size
    }
    // A new directory may be about to get its first file.
    if (!dryRun && changed !== undefined && changed.mtimeMs < time) {
      yield* attempt(directory, undefined, (path) => fs.rmdir(path))
    }
  }
  return gone satisfies SpillPruned
})
