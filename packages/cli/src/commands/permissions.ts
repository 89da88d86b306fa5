/** Declares `skein permissions`. */
import { command } from "../CommandSpec.ts"
import { databaseFlags, directoryFlags, listingFlags, verboseFlags } from "../internal/sharedFlags.ts"

const load = () => import("../internal/list/permissions.ts")

const placeFlags = {
  session: {
    type: "text",
    short: "s",
    value: "ID",
    description: "Only what holds for this session's tree, in the project that it belongs to"
  },
  ...directoryFlags,
  ...databaseFlags,
  ...verboseFlags
} as const

const flags = { ...listingFlags, ...placeFlags } as const

const list = command({
  name: "list",
  summary: "Lists what was allowed for this project, and for trees of sessions in it",
  flags,
  load: () => load().then(({ listPermissions }) => listPermissions)
})

const revoke = command({
  name: "revoke",
  summary: "Takes an approval back, so that it is asked again, also by who is at work just now",
  operands: { usage: "ID", least: 1, most: 1 },
  flags: placeFlags,
  load: () => load().then(({ revokePermission }) => revokePermission)
})

/** Lists and revokes approvals. */
export const permissions = command({
  name: "permissions",
  summary: "Lists and revokes what was allowed, for a project or a session",
  flags,
  commands: [list, revoke],
  load: () => load().then(({ listPermissions }) => listPermissions)
})
