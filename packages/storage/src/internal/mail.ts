/** Finds messages of other processes to the tasks of this one. */
import type { StorageError } from "@skein/core/StorageError"
import { InboxRow } from "@skein/domain/InboxRow"
import * as Effect from "effect/Effect"
import { makeDecode } from "./decode.ts"
import { readable, type Row } from "./rows.ts"
import type { Select } from "./select.ts"

const decode = makeDecode(InboxRow)

const waiting = "SELECT id, data FROM inbox WHERE taken_at IS NULL AND kind IN ('steer', 'stop') ORDER BY id"

/** Makes the reader. It reads nothing if no other process has committed since the last call. */
export const makeMail = (
  othersVersion: Effect.Effect<unknown, StorageError>,
  read: Select
): Effect.Effect<Effect.Effect<ReadonlyArray<InboxRow> | undefined, StorageError>> =>
  Effect.sync(() => {
    let seen: unknown
    return Effect.flatMap(othersVersion, (version) => {
      if (version === seen) return Effect.succeed(undefined)
      return Effect.map(read<Row>("mail", waiting, []), (rows) => {
        seen = version
        return readable(rows, decode).rows.filter(({ foreign }) => foreign === true)
      })
    })
  })
