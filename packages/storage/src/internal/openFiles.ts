/**
 * Owns the knowledge of which database files this process has open. The locks of SQLite belong to the process and not to
 * a connection: closing any descriptor of a file, after merely looking at it, gives up the locks that a connection of
 * the same process holds on it, and another process may then take its log away.
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { Stats } from "node:fs"

const open = new Map<string, number>()

const keyOf = ({ dev, ino }: Stats): string => `${dev}:${ino}`

/** Whether a file is open here, by whatever name. */
export const isOpen = (stats: Stats): boolean => open.has(keyOf(stats))

/** Notes that a file is open for as long as the scope is. It must come before the first connection. */
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
