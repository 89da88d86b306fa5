/** Decides for how long events and long texts are kept, and removes older ones: on request, or once a day while a run works. */
import * as ConfigFiles from "@skein/config/ConfigFiles"
import { DataDirs } from "@skein/config/DataDirs"
import { SessionStorage } from "@skein/core/SessionStorage"
import type { SessionID } from "@skein/domain/Id"
import { isPostgres, place } from "@skein/storage/PostgresUrl"
import { pruneSpill } from "@skein/tools/SpillFiles"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { createHash } from "node:crypto"
import { mkdirSync, statSync, utimesSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"

const hour = 3_600_000
const day = 24 * hour

/** How long the long texts of existing sessions are kept, in days. */
export const keptDays = 30

/** How many events of one tree are kept: some 5 MB, more than a client that reconnects asks for. */
const mostPerTree = 20_000

/**
 * Long texts of sessions that are not in this database. They may be in another one, because all share the data
 * directory.
 */
const strangersDays = 7

/** A session that changed within this time may be in use. */
const restingAfter = hour

/**
 * How long events are kept, in milliseconds. All projects share the database, so only the user's own config decides.
 */
export const keptEvents = Effect.gen(function*() {
  const { home } = yield* DataDirs
  const { settings } = yield* ConfigFiles.load({ directory: home })
  return settings.events.keep
})

/** Removes what is older. */
export const forget = Effect.fnUntraced(function*(options: {
  readonly dryRun?: boolean
  /** Sessions that were just removed. Their texts are removed whatever their age. */
  readonly removed?: ReadonlySet<string>
  /** The maximum number of events, and of texts. */
  readonly limits?: { readonly events: number; readonly texts: number }
}) {
  const { data } = yield* DataDirs
  const storage = yield* SessionStorage
  const now = yield* Clock.currentTimeMillis
  const { dryRun = false, limits, removed } = options
  const before = now - keptDays * day
  const restingSince = now - restingAfter
  const events = yield* storage.prune({
    before: now - (yield* keptEvents),
    restingSince,
    mostPerTree,
    dryRun,
    ...(limits === undefined ? {} : { limit: limits.events })
  })
  const texts = yield* pruneSpill(data, {
    dryRun,
    ...(limits === undefined ? {} : { limit: limits.texts }),
    before: (id) =>
      removed?.has(id) === true
        ? Effect.succeed(Number.POSITIVE_INFINITY)
        : Effect.map(storage.session(id as SessionID), (found) =>
          Option.match(found, {
            onNone: () => now - strangersDays * day,
            onSome: ({ time }) => time.updated < restingSince ? before : Number.NEGATIVE_INFINITY
          })).pipe(
            // An unreadable row may still be repaired.
            Effect.catchIf(
              (error) => error.reason === "unreadable",
              () => Effect.succeed(Number.NEGATIVE_INFINITY)
            )
          )
  })
  return { events, texts }
})

/** Less than a tenth of a second of work on the database, in steps of a few milliseconds. */
const dailyLimits = { events: 20_000, texts: 1_000 }

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
  const { events, texts } = yield* forget({ limits: dailyLimits })
  if (events + texts.files > 0) yield* Effect.logDebug(`Removed ${events} events and ${texts.files} long texts`)
}).pipe(Effect.catchAll((error) => Effect.logWarning("Old data was not removed", error)))
