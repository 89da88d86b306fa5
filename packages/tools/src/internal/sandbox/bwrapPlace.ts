/** Owns the directories of sandboxes: one that commands see as /tmp, a hidden one next to it, and the records. */
import type { Owner } from "@skein/core/Owner"
import * as Effect from "effect/Effect"
import * as NodeFs from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { attempt } from "../processes.ts"
import { recordsIn, temporaryPrefix, writeRecord } from "./placeholderRecords.ts"
import { recordName } from "./placeholders.ts"

/** The directories, absolute and real. */
interface BwrapPlace {
  /** What commands see as /tmp. */
  readonly temporary: string
  /** What they see as the home. */
  readonly home: string
  /** What they do not see. */
  readonly beside: string
  /** Where records of placeholders are kept. */
  readonly records: string
}

const makeWritable = (directory: string): boolean =>
  attempt(() => {
    NodeFs.mkdirSync(directory, { recursive: true, mode: 0o700 })
    NodeFs.accessSync(directory, NodeFs.constants.W_OK)
    return true
  }, false)

/** Makes it, until the scope closes. After a crash, its record finds what is left, if a record could be written. */
export const makeBwrapPlace = Effect.fnUntraced(function*(
  options: Parameters<typeof recordsIn>[0],
  owner: typeof Owner.Service
) {
  const name = yield* recordName
  const shared = recordsIn(options)
  const isShared = makeWritable(shared)
  const record = join(shared, name)
  const made = yield* Effect.acquireRelease(
    Effect.try(() => {
      const top = join(NodeFs.realpathSync(tmpdir()), `${temporaryPrefix}${name}`)
      if (isShared) writeRecord(record, owner.id, [[top, "temporary"]])
      NodeFs.mkdirSync(top, { mode: 0o700 })
      const place: BwrapPlace = {
        temporary: join(top, "tmp"),
        home: join(top, "home"),
        beside: join(top, "beside"),
        records: isShared ? shared : join(top, "records")
      }
      for (const directory of [place.temporary, place.home, place.beside, place.records]) makeWritable(directory)
      return { place, top }
    }),
    ({ top }) =>
      Effect.promise(async () => {
        await NodeFs.promises.rm(top, { recursive: true, force: true })
        await NodeFs.promises.rm(record, { force: true })
      })
  )
  return made.place
})
