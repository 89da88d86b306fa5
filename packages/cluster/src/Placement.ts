/**
 * Decides where a process that is no runner may make trees of a PostgreSQL database work: where a runner may too. It proves
 * that it sees the directories of the trees that it holds, and takes up none whose directory is on another host.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import { Leases } from "@skein/core/Leases"
import { machineOfOwner, Owner } from "@skein/core/Owner"
import type { SessionStorage } from "@skein/core/SessionStorage"
import { Whereabouts } from "@skein/core/Whereabouts"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Redacted from "effect/Redacted"
import { type ClusterUnavailable, unavailable } from "./ClusterUnavailable.ts"
import { createTables, database, few, placeTables } from "./internal/database.ts"
import { entryTable, readPresent } from "./internal/entries.ts"
import { awayFrom, awayHereText, elsewhereOf, isBeside, isShared, makeProofs } from "./internal/places.ts"

const create = createTables([entryTable, ...placeTables])

/** Says why a tree stays where it is, and what to do. */
const explained = (root: SessionInfo) =>
  Effect.gen(function*() {
    const own = machineOfOwner((yield* Owner).id)
    const elsewhere = elsewhereOf(root, own)
    const present = yield* Effect.mapError(readPresent, unavailable("The other servers cannot be read"))
    const server = present.find(({ owner }) => isBeside(root)(owner))?.url
    return awayHereText(root.id, elsewhere, { own, server })
  })

/** From now on the program keeps to it. */
export const layer = (
  url: Redacted.Redacted
): Layer.Layer<never, ClusterUnavailable, Leases | Owner | SessionStorage | Whereabouts> =>
  Layer.scopedDiscard(Effect.gen(function*() {
    const context = yield* Effect.context<Owner | SqlClient.SqlClient>()
    yield* create
    ;(yield* Whereabouts).decideBy({
      isAway: awayFrom((yield* Leases).machine, yield* makeProofs),
      awaited: () => undefined,
      explain: (root) =>
        explained(root).pipe(
          Effect.provide(context),
          Effect.catchAll(({ message }) => Effect.succeed(message))
        )
    })
  })).pipe(Layer.provide(database(url, few)))

/** Why a tree must not work in this process; undefined if it may, as far as its directory is concerned. */
export const whyNotHere = (
  url: Redacted.Redacted,
  root: SessionInfo
): Effect.Effect<string | undefined, ClusterUnavailable, Owner> =>
  Effect.gen(function*() {
    yield* create
    const isAway = awayFrom(machineOfOwner((yield* Owner).id), isShared(yield* SqlClient.SqlClient))
    return (yield* isAway(root)) ? yield* explained(root) : undefined
  }).pipe(Effect.provide(database(url, few)))
