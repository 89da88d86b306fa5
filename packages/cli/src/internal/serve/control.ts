/** Talks to the running server: asks for its URL with a new login code, and stops it. */
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import type { ServerFile } from "@skein/api/ServerFile"
import * as LocalServer from "@skein/client/LocalServer"
import * as SkeinClient from "@skein/client/SkeinClient"
import { unexpectedText } from "@skein/client/Unexpected"
import { DataDirs } from "@skein/config/DataDirs"
import { forClient, isPostgres } from "@skein/storage/PostgresUrl"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { kill } from "node:process"
import { ExitCode, UsageError } from "../../ExitCode.ts"
import { Stdio } from "../../Stdio.ts"
import { serverFile } from "../attach/findServer.ts"
import { errorLine } from "../explain.ts"
import { openBrowser } from "./open.ts"

/** The error of a file in it; `variable` is what moves the directory. */
export const unwritable = (path: string, variable: "XDG_DATA_HOME" | "XDG_STATE_HOME", reason: string): UsageError =>
  new UsageError({
    message:
      `${path} cannot be written (${reason}). Make it and its directory writable for you, or set ${variable} to another directory.`
  })

/** How long a server may take to stop, in milliseconds. */
const patience = 10_000

/** How often to check whether it has stopped, in milliseconds. */
const pace = 50

/** The server of the database, if one is running. */
export const runningServer = Effect.flatMap(serverFile, LocalServer.find).pipe(Effect.provide(FetchHttpClient.layer))

/** The reason why no second server is started, of a cluster or not. */
export const alreadyServed = (found: Option.Option<ServerFile>, isCluster: boolean) =>
  new UsageError({
    message: Option.match(found, {
      onNone: () => "Another server of this database is starting or ending. Try again in a moment.",
      onSome: ({ pid, url }) =>
        `A server holds this database already: ${url} (process ${pid}). `
        + "`skein serve --url` prints its URL with a login code, `skein serve --stop` ends it."
        + (isCluster
          ? " Each server of a cluster needs a data directory of its own: to start another one on this machine, set XDG_DATA_HOME."
          : "")
    })
  })

/** The servers of a cluster on this database that are alive. They have other data directories. */
const runnersElsewhere = Effect.gen(function*() {
  const { database } = yield* DataDirs
  if (!isPostgres(database)) return []
  const [{ clusterStatusAt }, NodeOwner] = yield* Effect.promise(() =>
    Promise.all([import("@skein/cluster/ClusterStatus"), import("@skein/tools/NodeOwner")])
  )
  const { runners } = yield* Effect.provide(
    clusterStatusAt(Redacted.make(forClient(database).href)),
    NodeOwner.layer
  )
  return runners.filter(({ state }) => state === "alive")
})

const noServer = Effect.map(runnersElsewhere, ([first, ...more]) =>
  first === undefined
    ? "No server holds this database. Start one: skein serve"
    : `No server has this data directory, but a cluster works on this database: ${first.url} on the host ${first.host}${
      more.length === 0 ? "" : `, and ${more.length} more`
    }. \`skein cluster status\` lists its servers. Run this command on the host of one, as its user and with its XDG_DATA_HOME.`)

const running = Effect.flatMap(runningServer, (found) =>
  Option.isSome(found)
    ? Effect.succeed(found.value)
    : Effect.flatMap(noServer, (message) => new UsageError({ message })))

const clientOf = ({ token, url }: ServerFile) => SkeinClient.make({ url, token: Redacted.make(token) })

const unreachable = (url: string) => (error: { readonly detail: string } | { readonly message: string }) =>
  new UsageError({
    message: `The server at ${url} does not answer as it should (${unexpectedText(error)}).`
  })

/** The URL of a server with a login code, for a browser. */
export const loginUrl = Effect.fnUntraced(function*(server: ServerFile) {
  const client = yield* clientOf(server)
  const { code } = yield* Effect.mapError(client.server.code(), unreachable(server.url))
  return `${server.publicUrl ?? server.url}/#code=${code}`
}, Effect.provide(FetchHttpClient.layer))

/** Prints the URL of the running server, and opens it with `--open`. */
export const printUrl = Effect.fnUntraced(function*({ open }: { readonly open: boolean }) {
  const stdio = yield* Stdio
  const url = yield* loginUrl(yield* running)
  stdio.out(`${url}\n`)
  if (open) yield* openBrowser(url)
  return ExitCode.done
})

const isAlive = (pid: number): boolean => Either.isRight(Either.try(() => kill(pid, 0)))

/** Stops the running server, and waits until it has ended. */
export const stopServer = Effect.gen(function*() {
  const stdio = yield* Stdio
  const server = yield* running
  const client = yield* clientOf(server)
  yield* Effect.mapError(client.server.shutdown(), unreachable(server.url))
  const ended = Effect.repeat(Effect.delay(Effect.sync(() => isAlive(server.pid)), pace), { while: (alive) => alive })
  if (Option.isSome(yield* Effect.timeoutOption(ended, patience))) {
    stdio.err(`The server at ${server.url} has ended. The next one resumes its open turns.`)
    return ExitCode.done
  }
  stdio.err(errorLine(`The server at ${server.url} (process ${server.pid}) does not end. Kill it.`))
  return ExitCode.failed
}).pipe(Effect.provide(FetchHttpClient.layer))
