/** `skein cluster`: shows the servers that share a PostgreSQL database. */
import type { Cluster } from "@skein/api/Output"
import { DataDirs } from "@skein/config/DataDirs"
import { forClient, isPostgres } from "@skein/storage/PostgresUrl"
import * as NodeOwner from "@skein/tools/NodeOwner"
import { escapeLine } from "@skein/tui/Escape"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { command, group } from "../CommandSpec.ts"
import { ExitCode, UsageError } from "../ExitCode.ts"
import { type AttachFlags, findServer } from "../internal/attach/attach.ts"
import { databaseFlags, listingFlags } from "../internal/flags.ts"
import { printList, printResult } from "../internal/print.ts"
import { Stdio } from "../Stdio.ts"

type Runner = Cluster["runners"][number]

/** What happens to the trees of one that is not alive. */
const afterwards = (runners: ReadonlyArray<Runner>, { trees }: Runner): string => {
  if (!runners.some((each) => each.state === "alive")) {
    return "No other server is running: unfinished work waits until one starts."
  }
  return trees > 0 ? "The other servers take up its trees." : "It holds no trees any more."
}

/** What is wrong with those that are not alive. */
const failed = (runners: ReadonlyArray<Runner>): ReadonlyArray<string> =>
  runners.flatMap((runner) => {
    const { host, pid, silence, state, url } = runner
    if (state === "alive") return []
    const what = state === "dead"
      ? `is dead: its process ${pid} on the host ${escapeLine(host)} has ended`
      : `is silent: it was last seen ${Math.round(silence / 1_000)} s ago`
    return [`${url} ${what}. ${afterwards(runners, runner)}`]
  })

const inSeconds = (milliseconds: number): string => `${(milliseconds / 1_000).toFixed(1)} s`

/** Of sorted numbers, the one in the middle, or the mean of the two there. */
const median = (sorted: ReadonlyArray<number>): number => {
  const [below = 0, above = 0] = [sorted[(sorted.length - 1) >> 1], sorted[sorted.length >> 1]]
  return (below + above) / 2
}

/** How long trees were without a server, separately for failures and for what was planned. */
const durations = (takeovers: Cluster["takeovers"]): ReadonlyArray<string> => {
  const about = (planned: boolean, one: string, several: string) => {
    const times = takeovers.flatMap(({ took, why }) => (why !== "died") === planned ? [took] : [])
      .toSorted((a, b) => a - b)
    if (times.length === 0) return []
    return [
      `The last ${times.length === 1 ? one : `${times.length} ${several}`} took ${
        inSeconds(median(times))
      } (median), and at most ${inSeconds(times.at(-1) ?? 0)}.`
    ]
  }
  return [
    ...about(false, "takeover after a failure", "takeovers after failures"),
    ...about(true, "planned move", "planned moves")
  ]
}

/** What the table cannot show, on standard error. */
export const remarks = (cluster: Cluster): ReadonlyArray<string> => {
  const asking = cluster.runners.reduce((sum, { load }) => sum + load.asking, 0)
  return [
    ...faults(cluster),
    ...(asking === 0 ? [] : [
      `${
        asking === 1 ? "One question waits" : `${asking} questions wait`
      } for a person. \`skein sessions list --all\` says in which trees.`
    ]),
    ...durations(cluster.takeovers)
  ]
}

/** What is wrong in a cluster: servers that are not alive, and trees that nobody continues. */
const faults = ({ failing, runners, waiting }: Cluster): ReadonlyArray<string> => [
  ...failed(runners),
  ...waiting.map(({ directory, host, rootID }) =>
    `${rootID} waits for a server on the host ${escapeLine(host)}: its directory is ${escapeLine(directory)} there.`
  ),
  ...failing.map(({ cause, failures, next, rootID }) =>
    `${rootID} cannot be continued: ${escapeLine(cause).replace(/\.$/, "")}. ${
      failures === 1 ? "One try" : `${failures} tries`
    } failed; the next is in ${Math.ceil(next / 1_000)} s. To end it, delete it: skein sessions delete ${rootID}`
  )
]

/** Days, hours, minutes or seconds: the largest that is not zero. */
const roughly = (milliseconds: number): string => {
  const seconds = Math.round(milliseconds / 1_000)
  if (seconds < 120) return `${seconds} s`
  if (seconds < 7_200) return `${Math.floor(seconds / 60)} min`
  return seconds < 172_800 ? `${Math.floor(seconds / 3_600)} h` : `${Math.floor(seconds / 86_400)} d`
}

/** What works, and what waits if anything does. */
const withWaiting = (working: number, waiting: number): string =>
  waiting === 0 ? `${working}` : `${working} + ${waiting}`

const columns: Readonly<Record<string, (runner: Runner) => string>> = {
  URL: ({ url }) => url,
  HOST: ({ host }) => host,
  PORT: ({ port }) => String(port),
  PID: ({ pid }) => String(pid),
  STATE: ({ state }) => state,
  TREES: ({ trees }) => String(trees),
  AGENTS: ({ load }) => withWaiting(load.running, load.queued),
  REQUESTS: ({ load }) => withWaiting(load.sent, load.waiting),
  QUESTIONS: ({ load }) => String(load.asking),
  TAKEOVERS: ({ load }) => String(load.takeovers),
  MOVES: ({ load }) => String(load.moves),
  SINCE: ({ age }) => roughly(age),
  SEEN: ({ silence }) => `${roughly(silence)} ago`,
  VERSION: ({ version }) => version ?? ""
}

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
  const { askCluster } = yield* Effect.promise(() => import("../internal/attach/findServer.ts"))
  return yield* askCluster(found)
})

/** Prints what is wrong, and gives the exit code. */
const checked = Effect.fnUntraced(function*(status: Cluster, flags: { readonly format: "default" | "json" }) {
  const alive = status.runners.filter(({ state }) => state === "alive").length
  const found = [
    ...(alive === 0 ? ["No server of the cluster is alive. Start one: skein serve --cluster"] : []),
    ...faults(status)
  ]
  const ok = `ok: ${alive === 1 ? "one server is" : `${alive} servers are`} alive`
  yield* printResult(flags, { ...status, faults: found }, `${found.length === 0 ? ok : found.join("\n")}\n`)
  return found.length === 0 ? ExitCode.done : ExitCode.failed
})

const status = command({
  name: "status",
  summary: "Lists the servers that share a PostgreSQL database",
  flags: {
    ...listingFlags,
    ...databaseFlags,
    check: {
      type: "switch",
      description: "For monitors: prints a line for each fault, and exits with 1 if there is one"
    },
    attach: { type: "text", value: "URL", description: "Asks this server of the cluster, and not the database" }
  },
  run: ({ flags }) =>
    Effect.gen(function*() {
      const found: Cluster = yield* statusOf(flags)
      if (flags.check) return yield* checked(found, flags)
      yield* printList(flags, {
        items: found.runners,
        json: found,
        columns,
        empty: "No server is in this cluster. Start one: skein serve --cluster"
      })
      const { err } = yield* Stdio
      if (flags.format === "default") { for (const line of remarks(found)) err(`${line}\n`) }
      return ExitCode.done
    })
})

/** Shows the servers of a cluster. */
export const cluster = group([status], {
  details: "Start each of them with `skein serve --cluster`. See docs/cluster.md."
})
