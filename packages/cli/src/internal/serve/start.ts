/** Runs the server in this process until a client or a signal stops it. */
import * as FileSystem from "@effect/platform/FileSystem"
import { localAddress } from "@skein/api/Handshake"
import type { ServerFile } from "@skein/api/ServerFile"
import * as ConfigFiles from "@skein/config/ConfigFiles"
import { jsonSchema } from "@skein/config/ConfigSchema"
import { DataDirs } from "@skein/config/DataDirs"
import * as Trust from "@skein/config/Trust"
import type { Isolation } from "@skein/core/Isolation"
import * as LayerGraph from "@skein/core/LayerGraph"
import type { SessionStorage } from "@skein/core/SessionStorage"
import { Server } from "@skein/server/Server"
import { HostRefused, type Page, type PageFile, type ServerHost } from "@skein/server/ServerOptions"
import { tryLock } from "@skein/storage/FileLock"
import { forClient, isPostgres } from "@skein/storage/PostgresUrl"
import { Watchdog } from "@skein/tools/Watchdog"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Schedule from "effect/Schedule"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { hostname } from "node:os"
import { dirname, extname, join, resolve, sep } from "node:path"
import { pid } from "node:process"
import { fileURLToPath } from "node:url"
import type { Input } from "../../CommandSpec.ts"
import { ExitCode, UsageError } from "../../ExitCode.ts"
import { Stdio } from "../../Stdio.ts"
import { Stop } from "../../Stop.ts"
import { manyServices, storage } from "../app.ts"
import { serverFile } from "../attach/findServer.ts"
import { describedConfig } from "../describedConfig.ts"
import { errorLine } from "../explain.ts"
import { fileReason } from "../fileReason.ts"
import type { serveFlags } from "../flags.ts"
import { currentDirectory, projectOf } from "../place.ts"
import { configOf } from "../providers.ts"
import { hideConfigured, Redaction } from "../Redaction.ts"
import { forget, forgetDaily } from "../retention.ts"
import { telemetry } from "../telemetry/telemetry.ts"
import { version } from "../version.ts"
import { cleaned, isolation, listWorktrees } from "../worktrees.ts"
import { descriptorOf, isLoopback, readPublicUrl, tokenFor } from "./access.ts"
import { alreadyServed, runningServer, unwritable } from "./control.ts"
import { openBrowser } from "./open.ts"

const types: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml"
}

const fileAt = (path: string, immutable: boolean): PageFile => ({
  type: types[extname(path)] ?? "application/octet-stream",
  body: readFileSync(path),
  encoded: { br: readFileSync(`${path}.br`), gzip: readFileSync(`${path}.gz`) },
  immutable
})

const read = (directory: string): Page => {
  const names = readdirSync(directory, { recursive: true, encoding: "utf8" })
    .filter((name) => extname(name) in types)
  return new Map(names.map((name) => {
    const isIndex = name === "index.html"
    return [isIndex ? "/" : `/${name.split(sep).join("/")}`, fileAt(join(directory, name), !isIndex)]
  }))
}

/** The files of the page; none if the program was built without it. */
const readPage: Effect.Effect<Page, UsageError> = Effect.try({
  try: () => {
    const directory = fileURLToPath(new URL("page/", import.meta.url))
    return existsSync(directory) ? read(directory) : new Map()
  },
  catch: (cause) =>
    new UsageError({
      message: `The page cannot be read (${
        cause instanceof Error ? cause.message : String(cause)
      }). Install skein again.`
    })
})

type Needs = DataDirs | FileSystem.FileSystem | Isolation | SessionStorage

const refused = (reason: HostRefused["reason"]) => ({ message }: { readonly message: string }) =>
  new HostRefused({ reason, message })

/** Makes it, over the files and the database of this program. */
const makeHost: Effect.Effect<ServerHost, never, Needs> = Effect.map(Effect.context<Needs>(), (context) => {
  const here = (reason: HostRefused["reason"]) => <A>(effect: Effect.Effect<A, { readonly message: string }, Needs>) =>
    Effect.provide(Effect.mapError(effect, refused(reason)), context)
  const invalid = here("invalid")
  const failed = here("failed")
  return {
    config: (directory) => invalid(Effect.map(describedConfig(directory), ({ broken, json }) => ({ ...json, broken }))),
    configSchema: jsonSchema,
    trust: (directory) => invalid(Effect.flatMap(configOf(directory), Trust.review)),
    allowTrust: (directory, ids) =>
      invalid(Effect.flatMap(configOf(directory), (options) => Trust.allow(options, ids))),
    revokeTrust: (ids) => invalid(Trust.revoke(ids)),
    worktrees: failed(listWorktrees),
    cleanWorktrees: ({ dryRun = false, force = false }) => failed(cleaned({ dryRun, force })),
    forget: (options) => failed(forget(options))
  }
})

type ServeFlags = Input<typeof serveFlags>["flags"]

/** What differs for a server that shares its database; loaded for those alone. */
const runnerOf = Effect.fnUntraced(function*(flags: ServeFlags, address: string, token: Redacted.Redacted) {
  if (flags.cluster) {
    const { makeRunner } = yield* Effect.promise(() => import("./runner.ts"))
    return yield* makeRunner({ ...flags, hostname: address, token })
  }
  if (flags["cluster-secret-file"] === undefined) return undefined
  return yield* new UsageError({ message: "--cluster-secret-file is for --cluster: add that, or leave it out." })
})

/** Locks the database for this server. */
const holdAlone = Effect.fnUntraced(function*(file: string, isCluster: boolean) {
  const fileSystem = yield* FileSystem.FileSystem
  const lock = file.replace(/json$/, "lock")
  yield* Effect.mapError(
    fileSystem.makeDirectory(dirname(file), { recursive: true, mode: 0o700 }),
    (error) => unwritable(dirname(file), "XDG_DATA_HOME", fileReason(error))
  )
  const locked = Effect.mapError(tryLock(lock), () => unwritable(lock, "XDG_DATA_HOME", "it cannot be locked"))
  if (!(yield* locked)) {
    return yield* alreadyServed(yield* runningServer, isCluster)
  }
})

/** Says to others on a PostgreSQL database that this server is there, and no runner. Gives what takes its URL. */
const claim = Effect.gen(function*() {
  const { database } = yield* DataDirs
  if (!isPostgres(database)) return () => Effect.void
  const { make } = yield* Effect.promise(() => import("@skein/cluster/Alone"))
  return yield* make(Redacted.make(forClient(database).href))
})

/** While the server runs, a file tells programs of this user where it is. */
const announce = Effect.fnUntraced(function*(file: string, told: ServerFile) {
  const fileSystem = yield* FileSystem.FileSystem
  yield* Effect.acquireRelease(
    Effect.zipRight(
      fileSystem.writeFileString(`${file}.new`, `${JSON.stringify(told)}\n`, { mode: 0o600 }),
      fileSystem.rename(`${file}.new`, file)
    ).pipe(Effect.mapError((error) => unwritable(file, "XDG_DATA_HOME", fileReason(error)))),
    () =>
      Effect.catchAll(
        fileSystem.remove(file),
        (error) => Effect.logWarning("The server's file could not be removed", error.message)
      )
  )
})

/** Serves until a client or a signal stops it. No tool sees the files with its secrets. */
export const startServer = (flags: ServeFlags) =>
  Effect.updateService(start(flags), DataDirs, (dirs) => ({
    ...dirs,
    secretFiles: [flags["token-file"], flags["cluster-secret-file"]].flatMap((file) =>
      file === undefined || descriptorOf(file) !== undefined ? [] : [resolve(file)]
    )
  }))

const start = Effect.fnUntraced(function*(flags: ServeFlags) {
  const stdio = yield* Stdio
  const stop = yield* Stop
  const { home } = yield* DataDirs
  const address = flags.hostname === undefined || flags.hostname === "localhost" ? localAddress : flags.hostname
  const publicUrl = flags["public-url"] === undefined ? undefined : yield* readPublicUrl(flags["public-url"], address)
  const open = publicUrl === undefined ? {} : { publicUrl }
  const token = yield* tokenFor(address, flags["token-file"])
  const runner = yield* runnerOf(flags, address, token)
  const directory = yield* currentDirectory
  const file = yield* serverFile
  yield* holdAlone(file, flags.cluster)
  // Settings that all projects share cannot come from one project.
  const { settings } = yield* ConfigFiles.load(yield* configOf(home))
  const page = yield* readPage
  const files = Context.pick(DataDirs, FileSystem.FileSystem)(yield* Effect.context<DataDirs | FileSystem.FileSystem>())
  const mcp = Effect.provide(
    Effect.flatMap(Effect.promise(() => import("../mcpServe/host.ts")), ({ openDoor }) => openDoor),
    files
  )
  const serving = Layer.unwrapScoped(Effect.gen(function*() {
    const host = yield* makeHost
    const cluster = runner === undefined ? undefined : yield* runner.join
    const told = runner === undefined ? yield* claim : () => Effect.void
    return Layer.tap(
      Server.layer({
        hostname: address,
        port: runner?.port ?? flags.port ?? 0,
        ...open,
        token,
        version,
        directory,
        projectOf,
        resume: !flags["no-resume"],
        host,
        page,
        mcp,
        loginFile: file.replace(/json$/, "logins"),
        ...(cluster === undefined ? {} : { cluster })
      }),
      (context) => told(Context.get(context, Server).url)
    )
  })).pipe(
    Layer.provide(isolation),
    Layer.provide(manyServices("person", settings, {}, runner?.owner)),
    Layer.provide(runner === undefined ? Watchdog.layerWithoutLeases : Watchdog.layer)
  )
  const { hide } = yield* Redaction
  hide([Redacted.value(token)])
  yield* hideConfigured(settings)
  const watched = yield* telemetry(settings.telemetry, (line) => stdio.err(errorLine(line)), runner?.url)
  const served = Effect.flatMap(LayerGraph.build(Layer.provideMerge(serving, storage)), (context) =>
    Effect.provide(
      Effect.gen(function*() {
        const server = yield* Server
        yield* announce(file, { url: server.url, ...open, pid, version, token: Redacted.value(token) })
        const url = `${publicUrl ?? server.url}/#code=${yield* server.code}`
        if (!isLoopback(address) && publicUrl === undefined) {
          stdio.err(
            errorLine(
              `${server.url} is open to other machines and not encrypted: others on the network can read the token. Put a proxy with TLS in front, and name it with --public-url; see docs/server.md.`
            )
          )
        }
        if (publicUrl !== undefined) stdio.err(`Listens on ${server.url}, for the proxy at ${publicUrl}.`)
        yield* Effect.logInfo(`Skein ${version} listens on ${server.url} (process ${pid} on the host ${hostname()}).`)
        stdio.out(`${url}\n`)
        if (flags.open) yield* openBrowser(url)
        yield* Effect.forkScoped(Effect.repeat(forgetDaily, Schedule.spaced("1 hour")))
        if (runner !== undefined) yield* runner.leaveOnSignal
        yield* server.closed
        // So that a database that does not answer holds up this end no longer than one by a signal.
        stop.done()
        return ExitCode.done
      }),
      context
    ))
  return yield* watched(served)
})
