/** Proves to other hosts that this one sees a directory, and checks whether others have proved it. */
import * as SqlClient from "@effect/sql/SqlClient"
import { Leases } from "@skein/core/Leases"
import { isOn, machineKey } from "@skein/core/Machine"
import { SessionStorage } from "@skein/core/SessionStorage"
import type { SessionID } from "@skein/domain/Id"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Queue from "effect/Queue"
import { causeText } from "./causeText.ts"
import { inTransaction } from "./inTransaction.ts"
import { nonceFile, nonceHash, writeNonce } from "./nonce.ts"

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
