/** Decides how leases are stored: in columns of the root session, which an upsert of the session does not change. */
import type { Dialect } from "./dialect.ts"
import type { LeaseOp } from "./op.ts"
import type { Value } from "./tables.ts"

const isHeld = "id = ? AND owner = ? AND epoch = ?"

const textOf = (tag: LeaseOp["_tag"], { now, share }: Dialect): string => {
  switch (tag) {
    case "Hold":
      return `UPDATE session SET owner = ?, epoch = ?, lease_until = ${now} + CAST(? AS BIGINT)
        WHERE id = ? AND coalesce(owner, '') = ? AND epoch = ? AND coalesce(lease_until, 0) = ? RETURNING id`
    case "Renew":
      return `UPDATE session SET lease_until = ${now} + CAST(? AS BIGINT) WHERE ${isHeld} RETURNING id`
    case "Fence":
      return `SELECT id FROM session WHERE ${isHeld}${share}`
    case "Release":
      return `UPDATE session SET owner = NULL, lease_until = NULL WHERE ${isHeld}`
  }
}

const paramsOf = (op: LeaseOp): ReadonlyArray<Value> => {
  const { epoch, owner, rootID } = op.lease
  switch (op._tag) {
    case "Hold":
      return [owner, epoch, op.length, rootID, op.found.owner ?? "", op.found.epoch, op.found.until]
    case "Renew":
      return [op.length, rootID, owner, epoch]
    case "Fence":
    case "Release":
      return [rootID, owner, epoch]
  }
}

/** The statement of a lease change, and whether it must return its row. */
export const leaseStatement = (op: LeaseOp, dialect: Dialect) => ({
  sql: textOf(op._tag, dialect),
  params: paramsOf(op),
  must: op._tag !== "Release"
})
