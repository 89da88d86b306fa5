/**
 * Renews leases on a connection of its own, outside of the order of commits: a process that has much to store, or waits
 * for others that have, must not lose its trees. Renewing twice does no harm, so no transaction has to be made once.
 */
import type { SqlError } from "@effect/sql/SqlError"
import { heldByAnother, isOutage, type StorageError } from "@skein/core/StorageError"
import * as Effect from "effect/Effect"
import type { Connection } from "./dialect.ts"
import type { RenewOp } from "./op.ts"
import type { Postgres } from "./pgConnection.ts"
import { leaseStatement } from "./plan.ts"
import { retryOutage } from "./writer.ts"

const operation = "renew"

/**
 * Renews in one statement, which waits for nobody: it skips what a commit is changing. A key of a message or a run that
 * points to the root is no such change.
 */
const textOf = (now: string) =>
  `WITH wanted AS (
    SELECT id, owner, epoch, length FROM json_to_recordset(CAST(? AS json)) AS each(id TEXT, owner TEXT, epoch BIGINT, length BIGINT)
  ), ours AS (
    SELECT session.id, wanted.length FROM session
    JOIN wanted ON wanted.id = session.id AND wanted.owner = session.owner AND wanted.epoch = session.epoch
    FOR NO KEY UPDATE OF session SKIP LOCKED
  )
  UPDATE session SET lease_until = ${now} + ours.length FROM ours WHERE session.id = ours.id RETURNING session.id`

/** Makes what renews leases. It fails with reason `held` if one of them is lost; the others are renewed. */
export const makePgRenewals = ({ dialect, patientRenewals, renewals }: Postgres) => {
  const execute = (sql: string, params: ReadonlyArray<unknown>) => {
    const on = (connection: Connection) =>
      Effect.mapError(
        connection.execute(dialect.text(sql), params, undefined),
        (error: SqlError) => dialect.explain(operation, error)
      )
    // If nothing comes on a new connection either, the database is slow. To begin again and again would renew nothing.
    return Effect.catchIf(on(renewals), isOutage, () => retryOutage(on(patientRenewals)))
  }
  const all = textOf(dialect.now)

  /** Waits for the commit that is changing the tree, if there is one. */
  const renewOne = (op: RenewOp) => {
    const { params, sql } = leaseStatement(op, dialect)
    return Effect.flatMap(
      execute(sql, params),
      (rows) => rows.length === 1 ? Effect.void : Effect.fail(heldByAnother(operation, op.lease))
    )
  }

  return (ops: ReadonlyArray<RenewOp>): Effect.Effect<void, StorageError> => {
    const wanted = ops.map(({ length, lease: { epoch, owner, rootID } }) => ({ id: rootID, owner, epoch, length }))
    return Effect.flatMap(execute(all, [JSON.stringify(wanted)]), (rows) => {
      const renewed = new Set(rows.map(({ id }) => id))
      return Effect.forEach(ops.filter(({ lease }) => !renewed.has(lease.rootID)), renewOne, { discard: true })
    })
  }
}
