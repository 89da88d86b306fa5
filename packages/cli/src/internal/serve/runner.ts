/** Makes a server one of several on a PostgreSQL database. */
import { Cluster } from "@skein/cluster/Cluster"
import { makeForwarding } from "@skein/cluster/Forwarding"
import { DataDirs } from "@skein/config/DataDirs"
import * as LayerGraph from "@skein/core/LayerGraph"
import { Leases } from "@skein/core/Leases"
import { type ClusterPort, largestBody } from "@skein/server/ServerOptions"
import { faultOf, forClient, isPostgres } from "@skein/storage/PostgresUrl"
import * as NodeOwner from "@skein/tools/NodeOwner"
import { Watchdog } from "@skein/tools/Watchdog"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { createServer, isIPv6 } from "node:net"
import { UsageError } from "../../ExitCode.ts"
import { Stop } from "../../Stop.ts"
import { version } from "../version.ts"
import { isLoopback, readSecret } from "./access.ts"

/** What the command line says of the runner. */
export interface RunnerFlags {
  readonly hostname: string
  readonly port: number | undefined
  readonly "cluster-secret-file": string | undefined
  readonly "no-resume": boolean
  readonly token: Redacted.Redacted
}

const anyAddress = new Set(["0.0.0.0", "::"])

/** A port that is free now: the name of a runner tells where it is before it listens. */
const freePort = (hostname: string) =>
  Effect.async<number, UsageError>((resume) => {
    const server = createServer().once(
      "error",
      ({ message }) => resume(new UsageError({ message: `Nothing can listen on ${hostname} (${message}).` }))
    )
    server.listen(0, hostname, () => {
      const address = server.address()
      const port = typeof address === "object" && address !== null ? address.port : 0
      server.close(() => resume(Effect.succeed(port)))
    })
  })

const check = (hostname: string, secretFile: string | undefined, database: string) => {
  if (!isPostgres(database)) {
    return new UsageError({
      message:
        "--cluster needs a PostgreSQL database that all servers share: set SKEIN_DB=postgres://user@host/database."
    })
  }
  const fault = faultOf(database)
  if (fault !== undefined) return new UsageError({ message: fault })
  if (anyAddress.has(hostname)) {
    return new UsageError({
      message:
        `--cluster needs an address at which the other servers reach this one, but ${hostname} is not one. Name it with --hostname.`
    })
  }
  return !isLoopback(hostname) && secretFile === undefined
    ? new UsageError({
      message:
        `--hostname ${hostname} is open to other machines, so --cluster needs --cluster-secret-file FILE, with the same secret for all servers.`
    })
    : Effect.void
}

/** What differs for a server that is a runner. */
export const makeRunner = Effect.fnUntraced(function*(
  { hostname, port, token, "cluster-secret-file": file, "no-resume": isLeaving }: RunnerFlags
) {
  const { database } = yield* DataDirs
  yield* check(hostname, file, database)
  const secret = file === undefined ? undefined : Redacted.make(yield* readSecret("--cluster-secret-file", file))
  if (secret !== undefined && Redacted.value(secret) === Redacted.value(token)) {
    return yield* new UsageError({
      message:
        `--cluster-secret-file: ${file} holds the token of --token-file, which clients have: each of them could pose as `
        + "a server. Make another secret: (umask 077 && openssl rand -hex 32 > FILE)"
    })
  }
  const listensOn = port === undefined || port === 0 ? yield* freePort(hostname) : port
  const url = `http://${isIPv6(hostname) ? `[${hostname}]` : hostname}:${listensOn}`
  const cluster = Cluster.layer({
    url,
    version,
    resume: !isLeaving,
    database: Redacted.make(forClient(database).href),
    ...(secret === undefined ? {} : { secret })
  })
  return {
    port: listensOn,
    url,
    owner: NodeOwner.layerAt(url),
    /** Joins the others, until the scope closes. */
    join: Effect.gen(function*() {
      const watchdog = yield* Watchdog
      const leases = yield* Leases
      leases.onRenewed(watchdog.extend)
      const context = yield* LayerGraph.build(cluster)
      const forwarding = yield* Effect.provide(makeForwarding({ largestBody }), context)
      const { leave, status } = Context.get(context, Cluster)
      return { ...forwarding, leave, status } satisfies ClusterPort
    }),
    /** From now on, SIGTERM tells this runner to leave: that is no failure. */
    leaveOnSignal: Effect.flatMap(Stop, (stop) =>
      stop.onSignal((by) => {
        if (by !== "SIGTERM") return false
        stop.done()
        return true
      }))
  }
})

/** The part of a server that is a runner. */
export type Runner = Effect.Effect.Success<ReturnType<typeof makeRunner>>
