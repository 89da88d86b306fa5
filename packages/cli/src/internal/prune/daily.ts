/** Removes old data once a day, a bounded amount each time, while a run works. */
import { DataDirs } from "@skein/config/DataDirs"
import { isPostgres, place } from "@skein/storage/PostgresUrl"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { createHash } from "node:crypto"
import { mkdirSync, statSync, utimesSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"

const day = 86_400_000

/** Less than a tenth of a second of work on the database, in steps of a few milliseconds. */
const limits = { events: 20_000, texts: 1_000 }

/** A file whose modification time says when this database was last pruned. */
const stampOf = ({ database, state }: { readonly database: string; readonly state: string }): string =>
  join(
    state,
    "pruned",
    createHash("sha256").update(isPostgres(database) ? place(database) : database).digest("hex").slice(0, 16)
  )

/** Whether a day has passed. If so, it marks the new day first, so that other processes leave the work to this one. */
const isDue = (stamp: string, now: number) =>
  Effect.try(() => {
    const time = statSync(stamp, { throwIfNoEntry: false })?.mtimeMs
    // A wrong clock set a time in the future.
    if (time !== undefined && time <= now && now - time < day) return false
    mkdirSync(dirname(stamp), { recursive: true, mode: 0o700 })
    writeFileSync(stamp, "", { mode: 0o600 })
    utimesSync(stamp, now / 1_000, now / 1_000)
    return true
  })

/** Prunes if it is time. A failure never fails the run. */
export const forgetDaily = Effect.gen(function*() {
  const dirs = yield* DataDirs
  const now = yield* Clock.currentTimeMillis
  if (dirs.database === ":memory:" || !(yield* isDue(stampOf(dirs), now))) return
  const { forget } = yield* Effect.promise(() => import("./retention.ts"))
  const { events, texts } = yield* forget({ limits })
  if (events + texts.files > 0) yield* Effect.logDebug(`Removed ${events} events and ${texts.files} long texts`)
}).pipe(Effect.catchAll((error) => Effect.logWarning("Old data was not removed", error)))
