/**
 * Tracks which database files this process has open. SQLite's locks belong to the process, not to a connection: closing
 * any descriptor of a file, even after only reading it, releases the locks of every connection of the process to that
 * file, and another process may then remove its log.
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as fs from "node:fs"

interface Open {
  count: number
  /** By path. They stay open until no connection is left. */
  readonly descriptors: Map<string, number>
}

const open = new Map<string, Open>()

const keyOf = ({ dev, ino }: fs.Stats): string => `${dev}:${ino}`

/** Whether a file is open here, under any name. */
export const isOpen = (stats: fs.Stats): boolean => open.has(keyOf(stats))

/** Marks a file as open until the scope closes. Call it before the first connection. */
export const noteOpen = (stats: fs.Stats): Effect.Effect<void, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const found = open.get(keyOf(stats)) ?? { count: 0, descriptors: new Map() }
      found.count++
      open.set(keyOf(stats), found)
    }),
    () =>
      Effect.sync(() => {
        const found = open.get(keyOf(stats))
        if (found === undefined || --found.count > 0) return
        open.delete(keyOf(stats))
        for (const descriptor of found.descriptors.values()) fs.closeSync(descriptor)
      })
  )

/** A descriptor for reading a file that belongs to an open database: the database itself, its log, or the log's index. */
export const descriptorOf = (stats: fs.Stats, path: string): number => {
  const descriptors = open.get(keyOf(stats))?.descriptors
  const descriptor = descriptors?.get(path) ?? fs.openSync(path, "r")
  descriptors?.set(path, descriptor)
  return descriptor
}
