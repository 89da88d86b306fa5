/** Finds the trees of sessions at which nobody has worked for a while. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { isOver, SessionStorage } from "./SessionStorage.ts"

/**
 * The trees that have not changed since then, each with its lease, which nobody holds. A tree with unsettled runs does
 * not rest: somebody may be at work in it, or resume it.
 */
export const restingTrees = Effect.fnUntraced(function*(since: number, projectID: string | undefined) {
  const store = yield* SessionStorage
  const found = yield* store.sessions({ roots: true, ...(projectID === undefined ? {} : { projectID }) })
  const old = found.rows.filter(({ time }) => time.updated < since)
  const resting = yield* Effect.filter(old, ({ id: rootID }) =>
    Effect.zipWith(
      store.sessions({ rootID }),
      store.runs({ rootID, unsettled: true }),
      (tree, runs) =>
        tree.unreadable.length + runs.rows.length + runs.unreadable.length === 0
        && tree.rows.every(({ time }) => time.updated < since)
    ))
  const free = yield* Effect.forEach(resting, (root) =>
    Effect.map(
      store.lease(root.id),
      Option.match({
        onNone: () => [],
        onSome: (lease) => lease.owner === undefined || isOver(lease) ? [{ root, found: lease }] : []
      })
    ))
  return free.flat()
})
