/**
 * Proves to other hosts that this one sees a directory, and checks whether others have proved it. The proof is a file there: a
 * nonce is in it, and the database has its hash. The hash also covers the number of the file, so a copy of the directory proves
 * nothing. A file with more than one name is none: the other name may be in another directory.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import { Leases } from "@skein/core/Leases"
import { SessionStorage } from "@skein/core/SessionStorage"
import { isOn, machineKey } from "@skein/core/Whereabouts"
import type { SessionID } from "@skein/domain/Id"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Queue from "effect/Queue"
import { createHash, randomBytes } from "node:crypto"
import { constants } from "node:fs"
import { lstat, mkdir, open, rename, rm } from "node:fs/promises"
import { dirname, join } from "node:path"
import { causeText, inTransaction } from "./ownConnection.ts"

/** How long its text is: 32 bytes in hexadecimal. */
const length = 64

/** Where it is without a repository. */
const folder = ".skein-host"

const attempt = <A>(act: () => Promise<A>) => Effect.option(Effect.tryPromise(act))

/** The type of what a path names, and not of what it links to. */
const kindOf = (path: string) =>
  Effect.map(
    attempt(() => lstat(path)),
    (found) => found._tag === "None" ? "nothing" : found.value.isDirectory() ? "directory" : "other"
  )

/**
 * The path of the file for a directory: in `.git` of its repository, where git does not list it, or else in a folder that git
 * ignores. Undefined in a linked worktree or a submodule, whose `.git` is a file that the project itself could have written.
 */
export const nonceFile = (directory: string): Effect.Effect<string | undefined> => {
  const above = (at: string): Effect.Effect<string | undefined> =>
    Effect.flatMap(kindOf(join(at, ".git")), (kind) => {
      if (kind === "directory") return Effect.succeed(join(at, ".git", "skein-host"))
      if (kind === "other") return Effect.succeed(undefined)
      return dirname(at) === at ? Effect.succeed(join(directory, folder, "nonce")) : above(dirname(at))
    })
  return above(directory)
}

const readNonce = async (path: string): Promise<string> => {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  const found = await file.stat({ bigint: true })
  const buffer = Buffer.alloc(length)
  const { bytesRead } = await file.read(buffer, 0, length, 0)
    .finally(() => file.close())
  if (!found.isFile() || found.nlink > 1n || found.size !== BigInt(length) || bytesRead !== length) {
    throw new Error("It is no nonce")
  }
  return createHash("sha256").update(`${found.ino} `).update(buffer).digest("hex")
}

/** The hash of what is in the file now; undefined if there is none. */
export const nonceHash = (path: string): Effect.Effect<string | undefined> =>
  Effect.map(attempt(() => readNonce(path)), (read) => read._tag === "None" ? undefined : read.value)

const put = async (path: string, text: string): Promise<void> => {
  const draft = `${path}.${randomBytes(6).toString("hex")}`
  const file = await open(draft, "wx", 0o600)
  await file.writeFile(text).finally(() => file.close())
  // A link at the path is replaced, and not followed.
  await rename(draft, path).catch((cause: unknown) =>
    rm(draft, { force: true }).then(() => {
      throw cause
    })
  )
}

/** Writes a new one, and gives its hash; undefined if that is not possible, in a directory without write access for example. */
export const writeNonce = (path: string): Effect.Effect<string | undefined> =>
  Effect.gen(function*() {
    const place = dirname(path)
    if (place.endsWith(folder)) {
      yield* attempt(() => mkdir(place, { mode: 0o700 }))
      if ((yield* kindOf(place)) !== "directory") return undefined
      yield* attempt(() => put(join(place, ".gitignore"), "*\n"))
    }
    yield* attempt(() => put(path, randomBytes(length / 2).toString("hex")))
    return yield* nonceHash(path)
  })

/** How many trees may wait until their directory is proved. */
const most = 1_024

/** What a worktree of a task holds is in the data directory of its host, which is proved by nothing. */
const hasWorktree = (sql: SqlClient.SqlClient, rootID: SessionID) =>
  Effect.map(
    sql`SELECT 1 FROM session WHERE root_id = ${rootID} AND data LIKE '%"worktree":{%' LIMIT 1`,
    (rows) => rows.length > 0
  )

/** Whether this host sees the directory of a tree as its host does. */
export const isShared =
  (sql: SqlClient.SqlClient) => (rootID: SessionID, directory: string, machine: string): Effect.Effect<boolean> =>
    Effect.gen(function*() {
      const path = yield* nonceFile(directory)
      const hash = path === undefined ? undefined : yield* nonceHash(path)
      if (hash === undefined) return false
      const rows = yield* sql`SELECT 1 FROM cluster_directory
      WHERE host = ${machine} AND directory = ${directory} AND hash = ${hash}`
      return rows.length > 0 && !(yield* hasWorktree(sql, rootID))
    }).pipe(
      Effect.catchAll(({ message }) =>
        Effect.as(Effect.logWarning("The hosts of directories could not be read", message), false)
      )
    )

/** Keeps the file in the directory, and its hash in the table. */
const prove = (sql: SqlClient.SqlClient, machine: string, directory: string) =>
  Effect.gen(function*() {
    const path = yield* nonceFile(directory)
    if (path === undefined) return
    // Two runners that write the file at once would each store what the other has replaced.
    yield* sql`SELECT pg_advisory_xact_lock(hashtextextended(${`skein ${path}`}, 0))`
    const found = yield* nonceHash(path)
    const known = found === undefined
      ? []
      : yield* sql`SELECT 1 FROM cluster_directory WHERE hash = ${found} LIMIT 1`
    const hash = known.length > 0 ? found : yield* writeNonce(path)
    if (hash === undefined) return
    yield* sql`INSERT INTO cluster_directory (host, directory, hash) VALUES (${machine}, ${directory}, ${hash})
      ON CONFLICT (host, directory) DO UPDATE SET hash = excluded.hash`
  }).pipe(inTransaction(sql))

/**
 * From now on this runner proves that it sees the directories of the trees that it holds. Gives the function that checks
 * whether this host shares a directory with another one.
 */
export const makeProofs = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const storage = yield* SessionStorage
  const leases = yield* Leases
  const held = new Set<SessionID>()
  // What does not fit comes again with the next renewal of its lease.
  const fresh = yield* Queue.dropping<SessionID>(most)
  leases.onRenewed((rootID) => {
    if (!held.has(rootID) && Queue.unsafeOffer(fresh, rootID)) held.add(rootID)
  })
  leases.onReleased((rootID) => Effect.sync(() => held.delete(rootID)))
  /** The directories of trees that are here, each once: most trees of a host share a few. */
  const directoriesOf = (rootIDs: Iterable<SessionID>) =>
    Effect.gen(function*() {
      const found = new Map<string, { readonly machine: string; readonly directory: string }>()
      for (const rootID of rootIDs) {
        const root = Option.getOrUndefined(yield* storage.session(rootID))
        if (root?.host === undefined) continue
        const { directory, host, machine } = root
        if (!isOn(leases.machine, { host, machine })) continue
        const key = machineKey({ host, machine })
        found.set(`${key} ${directory}`, { machine: key, directory })
      }
      return found.values()
    })
  const proveNext = Effect.flatMap(
    Queue.takeBetween(fresh, 1, most),
    (rootIDs) =>
      Effect.flatMap(
        directoriesOf(rootIDs),
        (found) => Effect.forEach(found, ({ directory, machine }) => prove(sql, machine, directory), { discard: true })
      ).pipe(
        // Whatever failed, the next trees must be proved all the same.
        Effect.catchAllCause((cause) => {
          for (const rootID of rootIDs) held.delete(rootID)
          return Effect.logWarning("Other hosts cannot know that they share a directory", causeText(cause))
        })
      )
  )
  yield* Effect.forkScoped(Effect.forever(proveNext))

  return isShared(sql)
})
