/** Forgets what is old once a day, a bounded part of it each time, beside the work of a run. */
import { DataDirs } from "@skein/config/DataDirs"
import { isPostgres, place } from "@skein/storage/PostgresUrl"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { createHash } from "node:crypto"
import { mkdirSync, statSync, utimesSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"

const day = 86_400_000

/** Less than a tenth of a second of work on the database, in pieces of milliseconds. */
const limits = { events: 20_000, texts: 1_000 }

/** A file whose time says when this database was last looked after. */
const stampOf = ({ database, state }: { readonly database: string; readonly state: string }): string =>
  join(
    state,
    "pruned",
    createHash("sha256").update(isPostgres(database) ? place(database) : database).digest("hex").slice(0, 16)
  )

/** Whether a day has gone by; if so, the next one begins, so that other processes leave the work to this one. */
const isDue = (stamp: string, now: number) =>
  Effect.try(() => {
    const time = statSync(stamp, { throwIfNoEntry: false })?.mtimeMs
    // A stamp from the future was set by a clock that was wrong.
    if (time !== undefined && time <= now && now - time < day) return false
    mkdirSync(dirname(stamp), { recursive: true, mode: 0o700 })
    writeFileSync(stamp, "", { mode: 0o600 })
    utimesSync(stamp, now / 1_000, now / 1_000)
    return true
  })

/** Does so if it is time. No run fails for it. */
export const forgetDaily = Effect.gen(function*() {
  const dirs = yield* DataDirs
  const now = yield* Clock.currentTimeMillis
  if (dirs.database === ":memory:" || !(yield* isDue(stampOf(dirs), now))) return
  const { forget } = yield* Effect.promise(() => import("./retention.ts"))
  const { events, texts } = yield* forget({ limits })
  if (events + texts.files > 0) yield* Effect.logDebug(`Forgot ${events} events and ${texts.files} long texts`)
}).pipe(Effect.catchAll((error) => Effect.logWarning("What is old was not removed", error)))
