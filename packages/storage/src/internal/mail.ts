/** Finds the requests of other processes to this one, and a request with its answer. */
import type { StorageError } from "@skein/core/StorageError"
import { ControlRow } from "@skein/domain/Control"
import type { ControlID } from "@skein/domain/Id"
import * as Effect from "effect/Effect"
import { makeDecode } from "./decode.ts"
import { oneReadable, readable, type Row } from "./rows.ts"
import type { Select } from "./select.ts"

const decode = makeDecode(ControlRow)

const waiting = "SELECT id, data FROM control WHERE is_answered = 0 ORDER BY id"

/** Makes the reader. It reads nothing if no other process has committed since the last call. */
export const makeMail = (
  othersVersion: Effect.Effect<unknown, StorageError>,
  read: Select
): Effect.Effect<Effect.Effect<ReadonlyArray<ControlRow> | undefined, StorageError>> =>
  Effect.sync(() => {
    let seen: unknown
    return Effect.flatMap(othersVersion, (version) => {
      if (version === seen) return Effect.succeed(undefined)
      return Effect.map(read<Row>("mail", waiting, []), (rows) => {
        seen = version
        return readable(rows, decode).rows
      })
    })
  })

/** Reads one request. */
export const makeControl = (read: Select) => (id: ControlID) =>
  Effect.flatMap(
    read<Row>("control", "SELECT id, data FROM control WHERE id = ?", [id]),
    (rows) => oneReadable("control", rows, decode)
  )
