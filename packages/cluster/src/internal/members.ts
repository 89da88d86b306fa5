/** Owns the part of this runner in the table of servers, and the secret by which runners know each other. */
import * as SqlClient from "@effect/sql/SqlClient"
import { steady } from "@skein/core/MonotonicClock"
import { hostOf, machineOfOwner, Owner } from "@skein/core/Owner"
import { isOn } from "@skein/core/Whereabouts"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { createHmac, randomBytes } from "node:crypto"
import { besideAlone, besideOtherSecret, ServedElsewhere, unavailable } from "../ClusterUnavailable.ts"
import { createTables, placeTables } from "./database.ts"
import {
  alone,
  databaseTime,
  entryTable,
  isSilent,
  makeEntry,
  makeLogged,
  type Member,
  readMembers,
  readPresent
} from "./entries.ts"
import { failureTable } from "./failures.ts"
import { shareTables } from "./shares.ts"
import { leftTable, takeoverTables } from "./takeovers.ts"

type Server = Pick<Member, "owner" | "url">

const loopback = /^http:\/\/(?:localhost|127\.[\d.]+|\[::1\])(?::|$)/

/** The boot of the system that an owner runs on; undefined if its name does not tell it. */
const bootOf = (owner: string): string | undefined => /:([^:.]+)\.[^:]*:[^:]*$/.exec(owner)?.[1]

/** Whether two servers run on one system. */
const isBeside = (one: string, other: string): boolean => {
  const [boot, otherBoot] = [bootOf(one), bootOf(other)]
  if (boot !== undefined && otherBoot !== undefined) return boot === otherBoot
  const machine = machineOfOwner(other)
  return machine !== undefined && isOn(machineOfOwner(one), machine)
}

/** Why a server must not join another one: an address of one machine alone would lead the other one to itself. */
export const outOfReach = (own: Server, other: Server): ServedElsewhere | undefined => {
  if (isBeside(own.owner, other.owner)) return undefined
  const place = `${other.url} on the host ${hostOf(other.owner) ?? "?"}`
  if (loopback.test(own.url)) {
    return new ServedElsewhere({
      message: `Only this machine reaches ${own.url}, and a server of this cluster is on another one: ${place}. `
        + "Name an address that the others reach: --hostname ADDRESS."
    })
  }
  if (!loopback.test(other.url)) return undefined
  return new ServedElsewhere({
    message: `A server of this cluster has an address that only its own machine reaches: ${place}. `
      + "Start it again with an address that the others reach: --hostname ADDRESS."
  })
}

const tables = [
  ...shareTables,
  ...placeTables,
  entryTable,
  failureTable,
  leftTable,
  ...takeoverTables,
  // Each runner looks for unfinished turns twice a second. The condition is part of that of `unfinished` in the storage, word
  // for word: without this index, each look would read all sessions.
  `CREATE INDEX IF NOT EXISTS session_open ON session (id) WHERE data LIKE '%"turn":{%'
    AND data NOT LIKE '%"ended":{%'`,
  "CREATE TABLE IF NOT EXISTS cluster_key (one BOOLEAN PRIMARY KEY DEFAULT TRUE CHECK (one), key TEXT NOT NULL)"
]

/** The time of the database, in milliseconds: the clocks of hosts may differ. */
const makeTime = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const clock = yield* Effect.clock
  let ahead = 0
  const note = (rows: ReadonlyArray<{ readonly time: number }>) => {
    for (const { time } of rows) ahead = time - steady(clock)
  }
  note(yield* sql.unsafe<{ readonly time: number }>(`SELECT ${databaseTime}`))
  return { note, time: () => Math.round(steady(clock) + ahead) }
})

/** The secret of those who share the database. */
const sharedSecret = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const proposed = yield* Effect.sync(() => randomBytes(32).toString("hex"))
  yield* sql`INSERT INTO cluster_key (key) VALUES (${proposed}) ON CONFLICT DO NOTHING`
  const [row] = yield* sql<{ readonly key: string }>`SELECT key FROM cluster_key`
  return Redacted.make(row?.key ?? proposed)
}).pipe(Effect.mapError(unavailable("The secret of the cluster cannot be read")))

/** Tells secrets apart, and does not help to find them: they are too long to guess. */
const proofOf = (secret: Redacted.Redacted): string =>
  createHmac("sha256", Redacted.value(secret)).update("skein cluster").digest("hex").slice(0, 32)

/**
 * Fails if a server is at work that this one must not work beside: one that works alone, or a runner with another secret,
 * since neither would accept what the other sends on, or one that this one does not reach.
 */
const checkOthers = Effect.fnUntraced(function*(
  proof: string,
  isGiven: boolean,
  own: Pick<Member, "owner" | "url">
) {
  const others = yield* Effect.mapError(readPresent, unavailable("The other servers cannot be read"))
  const other = others.find((each) => each.proof !== proof)
  if (other === undefined) {
    for (const each of others) {
      const why = outOfReach(own, each)
      if (why !== undefined) return yield* why
    }
    return
  }
  if (other.proof === alone) return yield* besideAlone(other)
  return yield* besideOtherSecret(other, isGiven)
})

/** Makes the tables, if they are missing, and the entry of this runner. Without a secret, it takes that of the database. */
export const makeMembers = ({ secret: given, url }: {
  readonly url: string
  readonly secret: Redacted.Redacted | undefined
}) =>
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const { id: owner } = yield* Owner
    yield* createTables(tables)
    const secret = given ?? (yield* sharedSecret)
    const proof = proofOf(secret)
    const entry = yield* makeEntry(proof)
    const logged = yield* makeLogged
    const remove = logged(Effect.asVoid(entry.remove), undefined)
    yield* Effect.addFinalizer(() => remove)
    // Of two that start at once, at least one finds the other.
    yield* Effect.mapError(entry.put(url, {}), unavailable("The table of servers cannot be used"))
    yield* checkOthers(proof, given !== undefined, { owner, url })
    const { note, time } = yield* Effect.mapError(makeTime, unavailable("The time of the database cannot be read"))
    const read = Effect.provideService(readMembers, SqlClient.SqlClient, sql)

    const stay = (load: object) => logged(Effect.map(entry.put(url, load), note), undefined)
    return {
      secret,
      time,
      /** Says that this runner is there, and what it works on. */
      stay,
      leave: remove,
      /** Those that were seen within the last minute, this one included; undefined if they cannot be read. */
      all: logged<ReadonlyArray<Member> | undefined>(read, undefined),
      others: logged(
        Effect.map(read, (all) => all.filter((each) => each.owner !== owner && !isSilent(each))),
        []
      )
    }
  })
