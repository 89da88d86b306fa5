/** Removes the placeholders of dead Skeins, and nothing else. */
import type { Owner } from "@skein/core/Owner"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as NodeFs from "node:fs"
import { basename } from "node:path"
import {
  locked,
  lookAt,
  type Placeholder,
  type PlaceholderRecord,
  readRecords,
  temporaryPrefix
} from "./placeholderRecords.ts"
import { removePlaceholder } from "./placeholders.ts"

/**
 * How long to keep a record if it is unknown whether its Skein still runs, for example on another machine: a day, in
 * milliseconds.
 */
const longest = 86_400_000

/**
 * After a crash before the identity was recorded: what was created this close to the record's time, in milliseconds.
 */
const moment = 2_000

/** Its identity if known, or else a match by its creation time. */
const identified = (each: Placeholder, time: number): Placeholder => {
  const inode = each.inode ?? lookAt(each.path)?.inode
  const made = Number(inode?.split(":").at(-1))
  return each.inode !== undefined || Math.abs(made - time) < moment ? { ...each, inode } : each
}

const removeTemporary = (path: string): Effect.Effect<void> =>
  basename(path).startsWith(temporaryPrefix) && lookAt(path)?.kind === "directory"
    ? Effect.catchAll(
      Effect.tryPromise(() => NodeFs.promises.rm(path, { recursive: true, force: true })),
      ({ cause }) => Effect.logWarning(`${path} could not be removed`, cause)
    )
    : Effect.void

/** Checks the records of a directory. */
export const reapPlaceholders = Effect.fnUntraced(function*(directory: string, owner: typeof Owner.Service) {
  const now = yield* Clock.currentTimeMillis
  // No command runs for a day, but a Skein may, and needs its directory.
  const isOld = ({ placeholders, time }: PlaceholderRecord) =>
    now - time > longest && placeholders.every(({ kind, path }) => kind !== "temporary" || lookAt(path) === undefined)
  const dead: Array<PlaceholderRecord> = []
  for (const record of readRecords(directory)) {
    if (isOld(record) || (yield* owner.isGone(record.owner))) dead.push(record)
  }
  if (dead.length === 0) return
  for (const { path } of dead.flatMap(({ placeholders }) => placeholders.filter(({ kind }) => kind === "temporary"))) {
    yield* removeTemporary(path)
  }
  const remove = () => {
    const files = new Set(dead.map(({ file }) => file))
    const needed = readRecords(directory).flatMap(({ file, placeholders }) => files.has(file) ? [] : placeholders)
    for (const { file, placeholders, time } of dead) {
      for (const each of placeholders) {
        if (each.kind !== "temporary" && !needed.some(({ path }) => path === each.path)) {
          removePlaceholder(identified(each, time))
        }
      }
      NodeFs.rmSync(file, { force: true })
    }
  }
  yield* Effect.catchAll(
    locked(directory, owner, remove),
    ({ cause }) => Effect.logWarning(`${directory} could not be changed`, cause)
  )
})
