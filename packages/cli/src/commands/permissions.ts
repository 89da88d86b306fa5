/** Declares `skein permissions`. */
import { command } from "../CommandSpec.ts"
import { attachFlags, databaseFlags, directoryFlags, listingFlags, verboseFlags } from "../internal/flags.ts"

const load = () => import("../internal/list/permissions.ts")

const placeFlags = {
  session: {
    type: "text",
    short: "s",
    value: "ID",
    description: "Only the approvals that apply to this session's tree"
  },
  ...directoryFlags,
  ...databaseFlags,
  ...attachFlags,
  ...verboseFlags
} as const

const flags = { ...listingFlags, ...placeFlags } as const

const list = command({
  name: "list",
  summary: "Lists the approvals of this project and of its sessions",
  flags,
  load: () => load().then(({ listPermissions }) => listPermissions)
})

const revoke = command({
  name: "revoke",
  summary: "Revokes an approval. Running agents ask again as well",
  operands: { usage: "ID", least: 1, most: 1 },
  flags: placeFlags,
  load: () => load().then(({ revokePermission }) => revokePermission)
})

const suggest = command({
  name: "suggest",
  summary: "Proposes rules for what you allowed by hand three times or more in this project",
  flags: { ...listingFlags, ...directoryFlags, ...databaseFlags, ...verboseFlags },
  load: () => import("../internal/list/permissions.ts").then(({ suggestPermissions }) => suggestPermissions)
})

/** Lists and revokes approvals. */
export const permissions = command({
  name: "permissions",
  summary: "Lists and revokes approvals",
  flags,
  commands: [list, revoke, suggest],
  load: () => load().then(({ listPermissions }) => listPermissions)
})
