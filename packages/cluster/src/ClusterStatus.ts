/** Reads who is in a cluster from its database; it takes no runner for that. */
import * as SqlClient from "@effect/sql/SqlClient"
import { hostOf, machineOfOwner, Owner, pidOf } from "@skein/core/Owner"
import { isOn, machineOf } from "@skein/core/Whereabouts"
import { longestTitle } from "@skein/domain/Typed"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import type * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { ClusterUnavailable, unavailable } from "./ClusterUnavailable.ts"
import { database } from "./internal/database.ts"
import { isSilent, type Member, readMembers, since } from "./internal/entries.ts"

/** What a runner works on, as it said when it was last seen. */
export interface RunnerLoad {
  /** Subagents that work, and those that wait for a slot. */
  readonly running: number
  readonly queued: number
  /** Model requests in flight, and those that wait to be sent. */
  readonly sent: number
  readonly waiting: number
  /** Questions that wait for a person. */
  readonly asking: number
  /** Since it started: trees that others took over from it, and that it took up because their runner died. */
  readonly lost: number
  readonly takeovers: number
  /** The same for trees whose runner left them, or moved them here. */
  readonly moves: number
}

/** A runner. */
export interface RunnerStatus {
  readonly url: string
  readonly host: string
  readonly port: number
  readonly pid: number
  /** `silent`: it was not seen for some seconds. `dead`: its process has certainly ended. */
  readonly state: "alive" | "silent" | "dead"
  /** How many trees it holds. */
  readonly trees: number
  /** Some of them, the newest first. */
  readonly held: ReadonlyArray<{ readonly id: string; readonly title: string }>
  /** Nothing that works or waits, if it is not alive. */
  readonly load: RunnerLoad
  /** That of its program; absent if it does not tell it. */
  readonly version?: string
  /** How long ago it started, and was last seen, in milliseconds. */
  readonly age: number
  readonly silence: number
}

/** A tree that a runner took up from another one. */
export interface Takeover {
  readonly rootID: string
  /** Why: its runner died or hangs, it ended as planned, or it moved the tree because agents waited there. */
  readonly why: "died" | "left" | "moved"
  /** Where it was; absent if that is not known. */
  readonly from?: string
  readonly to: string
  /** How long ago, in milliseconds. */
  readonly ago: number
  /** How long it was without a runner that worked, in milliseconds. */
  readonly took: number
}

/** A tree with unfinished work that nobody can take up: its directory is on a host without a runner. */
export interface WaitingTree {
  readonly rootID: string
  readonly title: string
  readonly host: string
  readonly directory: string
}

/** A tree that runners took up, and that was as unfinished as before. */
export interface FailingTree {
  readonly rootID: string
  readonly title: string
  /** How often in a row. */
  readonly failures: number
  /** Where it was last tried. */
  readonly url: string
  /** Why it cannot be continued. */
  readonly cause: string
  /** In how many milliseconds it is tried again. */
  readonly next: number
}

/** The runners of the last minute, the trees that wait for a host, those that cannot be continued, and the latest takeovers of the last hour. */
export interface ClusterStatus {
  readonly runners: ReadonlyArray<RunnerStatus>
  readonly waiting: ReadonlyArray<WaitingTree>
  readonly failing: ReadonlyArray<FailingTree>
  readonly takeovers: ReadonlyArray<Takeover>
}

/** A stored title of another version may be of any length. */
const shortTitle = `left(title, ${longestTitle}) AS title`

/** How many trees of each runner are named, and how many takeovers. */
const most = { trees: 24, takeovers: 50 }

/** A schema that the user may not look into has no tables for them, and the last column says that. */
const present = `SELECT num_nulls(${
  ["member", "takeover", "waiting", "failure"].map((name) => `to_regclass('cluster_${name}')`).join(", ")
}) = 0 AS found,
  coalesce((SELECT NOT has_schema_privilege(oid, 'USAGE') FROM pg_namespace WHERE nspname = 'skein'), false) AS hidden`

interface HeldRow {
  readonly owner: string
  readonly id: string
  readonly title: string
  readonly trees: number
}

const held = `SELECT owner, id, title, trees FROM (
    SELECT owner, id, ${shortTitle}, count(*) OVER (PARTITION BY owner)::integer AS trees,
      row_number() OVER (PARTITION BY owner ORDER BY id DESC) AS place
    FROM session WHERE owner IS NOT NULL AND is_draft = 0 AND lease_until > extract(epoch FROM clock_timestamp()) * 1000
  ) AS each WHERE place <= ${most.trees}`

interface TakeoverRow {
  readonly root_id: string
  readonly from_url: string | null
  readonly to_url: string
  readonly ago: number
  readonly took: number
  readonly why: Takeover["why"] | null
}

/** The table of an older version has no causes. */
const taken = `SELECT root_id, from_url, to_url, ${since("at")} AS ago, greatest(0, took) AS took,
    to_jsonb(taken) ->> 'why' AS why FROM cluster_takeover AS taken
  ORDER BY at DESC LIMIT ${most.takeovers}`

interface WaitingRow extends Omit<WaitingTree, "rootID"> {
  readonly root_id: string
}

/** Runners look at such a tree every half minute. */
const waiting = `SELECT tree.root_id, ${shortTitle}, host, tree.directory
  FROM cluster_waiting AS tree JOIN session ON session.id = tree.root_id
  WHERE seen > clock_timestamp() - interval '1 minute'
    AND (owner IS NULL OR lease_until <= extract(epoch FROM clock_timestamp()) * 1000)
  ORDER BY tree.root_id LIMIT ${most.trees}`

interface FailingRow extends Omit<FailingTree, "rootID"> {
  readonly root_id: string
}

/** One that was tried, and is not tried again, works. */
const failing = `SELECT tree.root_id, ${shortTitle}, failures, url, cause,
    CAST(greatest(0, extract(epoch FROM next_try - clock_timestamp()) * 1000) AS DOUBLE PRECISION) AS next
  FROM cluster_failure AS tree JOIN session ON session.id = tree.root_id
  WHERE next_try > clock_timestamp() - interval '10 seconds' AND failures > 0
    AND (owner IS NULL OR lease_until <= extract(epoch FROM clock_timestamp()) * 1000) ORDER BY failures DESC, tree.root_id LIMIT ${most.trees}`

const Count = Schema.optionalWith(Schema.Number, { default: () => 0 })

/** A runner of another version may say more or less. */
const decodeLoad = Schema.decodeUnknownEither(Schema.parseJson(Schema.Struct({
  running: Count,
  queued: Count,
  sent: Count,
  waiting: Count,
  asking: Count,
  lost: Count,
  takeovers: Count,
  moves: Count,
  version: Schema.optional(Schema.String)
})))

const noLoad: RunnerLoad = { running: 0, queued: 0, sent: 0, waiting: 0, asking: 0, lost: 0, takeovers: 0, moves: 0 }

const runner = (member: Member, isGone: boolean, rows: ReadonlyArray<HeldRow>): RunnerStatus => {
  const state = isGone ? "dead" : isSilent(member) ? "silent" : "alive"
  const { version, ...load } = Either.getOrElse(decodeLoad(member.load), () => ({ ...noLoad, version: undefined }))
  return {
    url: member.url,
    host: hostOf(member.owner) ?? "",
    port: URL.canParse(member.url) ? Number(new URL(member.url).port) : 0,
    pid: pidOf(member.owner) ?? 0,
    state,
    trees: rows[0]?.trees ?? 0,
    held: rows.map(({ id, title }) => ({ id, title })),
    // What it said before it fell silent works no more.
    load: state === "alive" ? load : { ...noLoad, lost: load.lost, takeovers: load.takeovers, moves: load.moves },
    ...(version === undefined ? {} : { version }),
    age: member.age,
    silence: member.silence
  }
}

const order = { alive: 0, silent: 1, dead: 2 } as const

/**
 * Those that are alive first, and then by their URLs. One that was started again is listed once: the process that had its URL
 * before says nothing any more.
 */
const listedOf = (runners: ReadonlyArray<RunnerStatus>): ReadonlyArray<RunnerStatus> => {
  const alive = new Set(runners.flatMap(({ state, url }) => state === "alive" ? [url] : []))
  return runners.filter(({ state, url }) => state === "alive" || !alive.has(url)).toSorted((a, b) =>
    order[a.state] - order[b.state] || a.url.localeCompare(b.url, "en", { numeric: true })
  )
}

const hiddenSchema = new ClusterUnavailable({
  message:
    "The servers of the cluster cannot be read: the user of SKEIN_DB may not use the schema skein. Name the user of the servers, or grant this one USAGE on the schema and SELECT on its tables."
})

const read = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const owner = yield* Owner
  const [{ found, hidden } = { found: false, hidden: false }] = yield* sql.unsafe<
    { readonly found: boolean; readonly hidden: boolean }
  >(present)
  if (hidden) return yield* hiddenSchema
  if (!found) return { runners: [], waiting: [], failing: [], takeovers: [] }
  const [members, rows, moves, trees, failures] = yield* Effect.all([
    readMembers,
    sql.unsafe<HeldRow>(held),
    sql.unsafe<TakeoverRow>(taken),
    sql.unsafe<WaitingRow>(waiting),
    sql.unsafe<FailingRow>(failing)
  ])
  const runners = yield* Effect.forEach(members, (member) =>
    Effect.map(
      owner.isGone(member.owner),
      (isGone) => runner(member, isGone, rows.filter((row) => row.owner === member.owner))
    ))
  const alive = members.filter((_, at) => runners[at]?.state === "alive").map(({ owner: name }) => machineOfOwner(name))
  const isThere = (host: string) => alive.some((machine) => isOn(machine, machineOf(host)))
  return {
    runners: listedOf(runners),
    waiting: trees.filter(({ host }) => !isThere(host)).map(({ root_id: rootID, ...tree }) => ({
      rootID,
      ...tree,
      host: machineOf(tree.host).host
    })),
    failing: failures.map(({ root_id: rootID, ...tree }) => ({ rootID, ...tree })),
    takeovers: moves.map(({ ago, from_url: from, root_id: rootID, to_url: to, took, why }) => ({
      rootID,
      why: why ?? (from === null ? "left" : "died"),
      ...(from === null ? {} : { from }),
      to,
      ago,
      took
    }))
  }
})

/** Who is in the cluster of this database. */
export const clusterStatus: Effect.Effect<ClusterStatus, ClusterUnavailable, Owner | SqlClient.SqlClient> = Effect
  .mapError(
    read,
    (error) => error._tag === "SqlError" ? unavailable("The servers of the cluster cannot be read")(error) : error
  )

/** Who is in the cluster of the database at a URL. */
export const clusterStatusAt = (
  url: Redacted.Redacted
): Effect.Effect<ClusterStatus, ClusterUnavailable, Owner> => Effect.provide(clusterStatus, database(url))
