/**
 * Tracks which database files this process has open. SQLite's locks belong to the process, not to a connection: closing
 * any descriptor of a file, even after only reading it, releases the locks of every connection of the process to that
 * file, and another process may then remove its log.
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { Stats } from "node:fs"

const open = new Map<string, number>()

const keyOf = ({ dev, ino }: Stats): string => `${dev}:${ino}`

/** Whether a file is open here, under any name. */
export const isOpen = (stats: Stats): boolean => open.has(keyOf(stats))

/** Marks a file as open until the scope closes. Call it before the first connection. */
export const noteOpen = (stats: Stats): Effect.Effect<void, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => {
      open.set(keyOf(stats), (open.get(keyOf(stats)) ?? 0) + 1)
    }),
    () =>
      Effect.sync(() => {
        const left = (open.get(keyOf(stats)) ?? 1) - 1
        if (left === 0) open.delete(keyOf(stats))
        else open.set(keyOf(stats), left)
      })
  )
