/** Implements the port over one connection of any SQL database. */
import type { SessionStorage } from "@skein/core/SessionStorage"
import type { StorageError } from "@skein/core/StorageError"
import type { Places } from "@skein/core/StorageFilter"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { type Connection, type Dialect, makeSelect, type Select, type Snapshot } from "./dialect.ts"
import { isRenewal, type Op, type RenewOp, toOps } from "./op.ts"
import { makePlan } from "./plan.ts"
import { makePrune } from "./prune.ts"
import { makeMail, makeQueries } from "./queries.ts"
import { alone, makeTogether } from "./together.ts"
import { makeTransaction, onConnection, type Within } from "./transaction.ts"
import { makeWriter, noPlaces, retryOutage } from "./writer.ts"

/** An open database. */
interface Database {
  readonly dialect: Dialect
  /** The connection for reads and writes, which nobody else uses. */
  readonly connection: Connection
  /** Makes transactions; if absent, they run on that connection, which reads share with them. */
  readonly transactions?: {
    readonly within: Within
    /** Reads that do not wait for transactions, and see every acknowledged commit. */
    readonly read: Select
    readonly snapshot: Snapshot
  }
  /** Renews leases without waiting for commits; if absent, they are renewed before the commits that wait. */
  readonly renew?: (ops: ReadonlyArray<RenewOp>) => Effect.Effect<void, StorageError>
  /** Changes whenever another process has committed; absent if no other process can. */
  readonly othersVersion?: Effect.Effect<unknown, StorageError>
  /** Fails if the database no longer exists at its address; absent if that is impossible. */
  readonly intact?: Effect.Effect<void, StorageError>
  /** Makes commits durable. */
  readonly flush: Effect.Effect<void, StorageError>
  /** Writes the latest commits anew before the next flush: after one that failed, the system may take them for written. */
  readonly rewrite?: Effect.Effect<void, StorageError>
}

/**
 * One connection for reads and writes, so that the next read sees every commit. A transaction makes no wait, so no read
 * falls into the middle of one; and one that begins while a snapshot is read waits for the end of that.
 */
const sharing = (connection: Connection, dialect: Dialect): NonNullable<Database["transactions"]> => {
  const select = makeSelect(connection, dialect)
  const inTransaction = onConnection(connection, dialect)
  const unread = Effect.unsafeMakeLatch(true)
  let readers = 0
  const beginRead = Effect.sync(() => {
    readers++
    unread.unsafeClose()
  })
  const endRead = Effect.sync(() => {
    readers--
    if (readers === 0) unread.unsafeOpen()
  })
  const within: Within = (script) =>
    Effect.suspend(() => readers === 0 ? inTransaction(script) : Effect.zipRight(unread.await, within(script)))
  return {
    within,
    read: (operation, sql, params) => retryOutage(select(operation, sql, params)),
    snapshot: (use) => retryOutage(Effect.acquireUseRelease(beginRead, () => use(select), () => endRead))
  }
}

/** Leaves out the sets of rules that this process knows to be stored: nothing ever removes one. */
const makeKnownSets = () => {
  const known = new Set<string>()
  return {
    newOf: (ops: ReadonlyArray<Op>): ReadonlyArray<Op> =>
      ops.filter((op) => op._tag !== "Put" || op.table !== "ruleset" || !known.has(op.key)),
    /** Notes those of a commit once it is stored. */
    noting: (ops: ReadonlyArray<Op>, onStored?: (places: Places) => void) => {
      const keys = ops.flatMap((op) => op._tag === "Put" && op.table === "ruleset" ? [op.key] : [])
      if (keys.length === 0) return onStored
      return (places: Places): void => {
        for (const key of keys) known.add(key)
        onStored?.(places)
      }
    }
  }
}

/** The port over a database. */
export const makeSqlStorage = (
  { connection, dialect, flush, intact, othersVersion, renew, rewrite = Effect.void, transactions }: Database
): Effect.Effect<Context.Tag.Service<SessionStorage>, never, Scope.Scope> =>
  Effect.gen(function*() {
    const { read, snapshot, within } = transactions ?? sharing(connection, dialect)
    const commit = yield* makeWriter({
      flush,
      plan: makePlan(dialect),
      rewrite,
      transaction: makeTransaction(within, dialect)
    })
    const mail = othersVersion === undefined ? undefined : yield* makeMail(othersVersion, read)
    // A statement that goes to a server and back costs more than waiting for the next one.
    const together = transactions === undefined ? alone : yield* makeTogether
    const sets = makeKnownSets()
    let gone: StorageError | undefined
    /**
     * Checks with each renewal of a lease, every few seconds, that the database is still there, and whole: a commit would not
     * notice. If it is not, nothing more is stored, so that nobody continues long on lost data.
     */
    const check = Effect.catchAll(intact ?? Effect.void, (error) => {
      // What is in the way for a moment is in the way of the renewal as well, which says so.
      if (error.reason !== "gone") return Effect.void
      gone = error
      return error
    })
    const store: Context.Tag.Service<SessionStorage>["commit"] = (writes, onStored) =>
      Effect.suspend(() => {
        if (gone !== undefined) return gone
        const ops = sets.newOf(writes.flatMap(toOps))
        if (ops.length === 0) return Effect.sync(() => (onStored?.(noPlaces), noPlaces))
        if (!isRenewal(ops)) return commit(ops, sets.noting(ops, onStored))
        const renewing = renew === undefined
          ? Effect.suspend(() => commit(ops, onStored))
          : Effect.map(renew(ops), () => (onStored?.(noPlaces), noPlaces))
        return Effect.zipRight(check, renewing)
      })
    return {
      ...(mail === undefined ? {} : { mail }),
      ...(intact === undefined ? {} : { intact: retryOutage(intact) }),
      ...makeQueries(read, snapshot, together, dialect),
      prune: makePrune(connection, dialect, read),
      commit: store
    }
  })
