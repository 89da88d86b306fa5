/** What `skein cluster status` does. */
import type { Cluster } from "@skein/api/Output"
import { DataDirs } from "@skein/config/DataDirs"
import { forClient, isPostgres } from "@skein/storage/PostgresUrl"
import * as NodeOwner from "@skein/tools/NodeOwner"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import type { CommandError } from "../../CommandSpec.ts"
import { ExitCode } from "../../ExitCode.ts"
import { Stdio, type Streams } from "../../Stdio.ts"
import { UsageError } from "../../UsageError.ts"
import { platform } from "../app.ts"
import { type AttachFlags, findServer } from "../attach/attach.ts"
import { faults, remarks } from "./clusterRemarks.ts"
import { printList } from "./print.ts"

/** Days, hours, minutes or seconds: the largest that is not zero. */
const roughly = (milliseconds: number): string => {
  const seconds = Math.round(milliseconds / 1_000)
  if (seconds < 120) return `${seconds} s`
  if (seconds < 7_200) return `${Math.floor(seconds / 60)} min`
  return seconds < 172_800 ? `${Math.floor(seconds / 3_600)} h` : `${Math.floor(seconds / 86_400)} d`
}

const heads = [
  "URL",
  "HOST",
  "PORT",
  "PID",
  "STATE",
  "TREES",
  "AGENTS",
  "REQUESTS",
  "QUESTIONS",
  "TAKEOVERS",
  "MOVES",
  "SINCE",
  "SEEN",
  "VERSION"
]

/** What works, and what waits if anything does. */
const withWaiting = (working: number, waiting: number): string =>
  waiting === 0 ? `${working}` : `${working} + ${waiting}`

type Runner = Cluster["runners"][number]

const rowOf = ({ age, host, load, pid, port, silence, state, trees, url, version }: Runner) => [
  url,
  host,
  String(port),
  String(pid),
  state,
  String(trees),
  withWaiting(load.running, load.queued),
  withWaiting(load.sent, load.waiting),
  String(load.asking),
  String(load.takeovers),
  String(load.moves),
  roughly(age),
  `${roughly(silence)} ago`,
  version ?? ""
]

/** Reads it from the database. */
const statusInDatabase = Effect.gen(function*() {
  const { database } = yield* DataDirs
  if (!isPostgres(database)) {
    return yield* new UsageError({
      message:
        "A cluster shares a PostgreSQL database, and this is a file: set SKEIN_DB=postgres://user@host/database, or name a server of the cluster with --attach=URL."
    })
  }
  const { reach } = yield* Effect.promise(() => import("@skein/storage/Postgres"))
  yield* reach(database)
  const { clusterStatusAt } = yield* Effect.promise(() => import("@skein/cluster/ClusterStatus"))
  const url = Redacted.make(forClient(database).href)
  return yield* Effect.provide(clusterStatusAt(url), NodeOwner.layer)
})

/** Reads it from the database, or from the server that the flags name. */
const statusOf = Effect.fnUntraced(function*(flags: AttachFlags) {
  const stdio = yield* Stdio
  const found = flags.attach === undefined ? undefined : yield* findServer(flags, stdio.err)
  if (found === undefined) return yield* statusInDatabase
  const { askCluster } = yield* Effect.promise(() => import("../attach/askCluster.ts"))
  return yield* askCluster(found)
})

/** Prints what is wrong, and gives the exit code. */
const checked = (status: Cluster, format: "default" | "json", { out }: Streams): number => {
  const alive = status.runners.filter(({ state }) => state === "alive").length
  const found = [
    ...(alive === 0 ? ["No server of the cluster is alive. Start one: skein serve --cluster"] : []),
    ...faults(status)
  ]
  if (format === "json") out(`${JSON.stringify({ ...status, faults: found }, null, 2)}\n`)
  else if (found.length === 0) out(`ok: ${alive === 1 ? "one server is" : `${alive} servers are`} alive\n`)
  else for (const line of found) out(`${line}\n`)
  return found.length === 0 ? ExitCode.done : ExitCode.failed
}

/** Lists the runners. */
export const listRunners = ({ flags }: {
  readonly flags: AttachFlags & {
    readonly format: "default" | "json"
    readonly full: boolean
    readonly check: boolean
  }
}): Effect.Effect<number, CommandError, Stdio> =>
  Effect.gen(function*() {
    const stdio = yield* Stdio
    const status: Cluster = yield* statusOf(flags)
    if (flags.check) return checked(status, flags.format, stdio)
    const code = yield* printList({
      format: flags.format,
      full: flags.full,
      json: status,
      head: heads,
      rows: status.runners.map(rowOf),
      empty: "No server is in this cluster. Start one: skein serve --cluster"
    })
    if (flags.format === "default") { for (const line of remarks(status)) stdio.err(`${line}\n`) }
    return code
  }).pipe(Effect.provide(platform({ database: flags.db })))
