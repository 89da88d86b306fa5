/** Decides for how long events and long texts are kept. */
import * as ConfigFiles from "@skein/config/ConfigFiles"
import { DataDirs } from "@skein/config/DataDirs"
import { SessionStorage } from "@skein/core/SessionStorage"
import type { SessionID } from "@skein/domain/Id"
import { pruneSpill } from "@skein/tools/SpillFiles"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"

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
