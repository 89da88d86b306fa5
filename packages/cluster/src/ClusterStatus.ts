/** Reads who is in a cluster from its database; it takes no runner for that. */
import * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import type * as Redacted from "effect/Redacted"
import { type ClusterUnavailable, unavailable } from "./ClusterUnavailable.ts"
import { database } from "./internal/database.ts"
import { isSilent, readMembers } from "./internal/members.ts"

/** A runner. */
export interface RunnerStatus {
  readonly url: string
  readonly host: string
  readonly pid: number
  /** `silent`: it was not seen for some seconds, because it is frozen or dead. */
  readonly state: "alive" | "silent"
  /** How many trees it works in. */
  readonly trees: number
  /** How long ago it started, and was last seen, in milliseconds. */
  readonly age: number
  readonly silence: number
}

const present = "SELECT to_regclass('cluster_member') IS NOT NULL AS found"

const held = `SELECT owner, count(*)::integer AS trees FROM session
  WHERE owner IS NOT NULL AND lease_until > extract(epoch FROM clock_timestamp()) * 1000 GROUP BY owner`

const read = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const [{ found } = { found: false }] = yield* sql.unsafe<{ readonly found: boolean }>(present)
  if (!found) return []
  const counts = yield* sql.unsafe<{ readonly owner: string; readonly trees: number }>(held)
  const trees = new Map(counts.map((row) => [row.owner, row.trees]))
  return (yield* readMembers).map((member): RunnerStatus => {
    const [host = "", pid = ""] = member.owner.replace(/^[^@]*@/, "").split(":")
    return {
      url: member.url,
      host,
      pid: Number(pid),
      state: isSilent(member) ? "silent" : "alive",
      trees: trees.get(member.owner) ?? 0,
      age: member.age,
      silence: member.silence
    }
  })
})

/** The runners of the last minute. */
export const clusterStatus = (
  url: Redacted.Redacted
): Effect.Effect<ReadonlyArray<RunnerStatus>, ClusterUnavailable> =>
  read.pipe(
    Effect.mapError(unavailable("The runners cannot be read")),
    Effect.provide(database(url))
  )
