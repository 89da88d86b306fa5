/** Reads the range of stored events. */
import type { SessionStorage } from "@skein/core/SessionStorage"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { Select } from "./select.ts"

interface RangeRow {
  readonly first: number | null
  readonly last: number | null
}

const ofTree = `SELECT (SELECT min(tree_seq) FROM event WHERE root_id = ?) AS first,
  coalesce(
    (SELECT last FROM event_counter WHERE root_id = ?), (SELECT max(tree_seq) FROM event WHERE root_id = ?)
  ) AS last`

const ofAll = "SELECT (SELECT min(position) FROM event) AS first, (SELECT max(position) FROM event) AS last"

/** Makes the reader. */
export const makeReadEventRange = (read: Select): Context.Tag.Service<SessionStorage>["eventRange"] => (rootID) =>
  Effect.map(
    rootID === undefined
      ? read<RangeRow>("eventRange", ofAll, [])
      : read<RangeRow>("eventRange", ofTree, [rootID, rootID, rootID]),
    ([row]) => {
      const last = Number(row?.last ?? 0)
      return { first: Number(row?.first ?? last + 1), last }
    }
  )
