/**
 * Owns the entry of a server that works on a PostgreSQL database and is not one of a cluster. It sends no requests on, and
 * takes none from others: so no cluster works there meanwhile. Others of its kind may.
 */
import * as LayerGraph from "@skein/core/LayerGraph"
import type { Owner } from "@skein/core/Owner"
import * as Effect from "effect/Effect"
import type * as Redacted from "effect/Redacted"
import * as Schedule from "effect/Schedule"
import type { Scope } from "effect/Scope"
import { besideCluster, type ClusterUnavailable, type ServedElsewhere, unavailable } from "./ClusterUnavailable.ts"
import { createTables, database, few } from "./internal/database.ts"
import { alone, entryTable, keepClean, makeEntry, makeLogged, makeStay, readPresent } from "./internal/entries.ts"

/** How often it says that it is there. */
const pace = "1 second"

const unusable = unavailable("The table of servers cannot be used")

/** Fails if a cluster is at work. */
const checkOthers = Effect.gen(function*() {
  const present = yield* Effect.mapError(readPresent, unusable)
  const [first, ...more] = present.filter(({ proof }) => proof !== alone)
  if (first !== undefined) return yield* besideCluster(first, more.length)
})

/** The server says that it is there, until the scope closes. Call the result with its URL once it listens. */
export const make = (
  url: Redacted.Redacted
): Effect.Effect<(at: string) => Effect.Effect<void>, ClusterUnavailable | ServedElsewhere, Owner | Scope> =>
  Effect.gen(function*() {
    const context = yield* LayerGraph.build(database(url, few))
    return yield* Effect.provide(
      Effect.gen(function*() {
        yield* createTables([entryTable])
        const entry = yield* makeEntry(alone)
        const logged = yield* makeLogged
        const { listens, stay } = makeStay((at) => entry.put(at, {}))
        yield* Effect.addFinalizer(() => logged(Effect.asVoid(entry.remove), undefined))
        // Of this and a runner that start at once, at least one finds the other.
        yield* Effect.mapError(stay, unusable)
        yield* checkOthers
        yield* keepClean
        yield* Effect.forkScoped(Effect.repeat(logged(Effect.asVoid(stay), undefined), Schedule.spaced(pace)))
        return (at: string) => logged(Effect.asVoid(listens(at)), undefined)
      }),
      context
    )
  })
