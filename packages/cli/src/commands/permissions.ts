/** Declares `skein permissions`. */
import { command } from "../CommandSpec.ts"
import { databaseFlags, directoryFlags, formatFlags, verboseFlags } from "./listing.ts"

const load = () => import("../internal/list/permissions.ts")

const flags = { ...formatFlags, ...directoryFlags, ...databaseFlags, ...verboseFlags } as const

const list = command({
  name: "list",
  summary: "Lists what was allowed for this project",
  flags,
  load: () => load().then(({ listPermissions }) => listPermissions)
})

const revoke = command({
  name: "revoke",
  summary: "Takes an approval back, so that it is asked again",
  operands: { usage: "ID", least: 1, most: 1 },
  flags: { ...directoryFlags, ...databaseFlags, ...verboseFlags },
  load: () => load().then(({ revokePermission }) => revokePermission)
})

/** Lists and revokes approvals. */
export const permissions = command({
  name: "permissions",
  summary: "Lists and revokes what was allowed for this project",
  flags,
  commands: [list, revoke],
  load: () => load().then(({ listPermissions }) => listPermissions)
})
