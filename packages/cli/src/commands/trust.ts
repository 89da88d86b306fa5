/** Declares `skein trust`. */
import { command } from "../CommandSpec.ts"
import { directoryFlags, listingFlags, verboseFlags } from "../internal/sharedFlags.ts"

const load = () => import("../internal/list/trust.ts")

const listFlags = { ...listingFlags, ...directoryFlags, ...verboseFlags } as const

const list = command({
  name: "list",
  summary: "Lists what of a project's files counts only if you trust it",
  flags: listFlags,
  load: () => load().then(({ listTrust }) => listTrust)
})

const allow = command({
  name: "allow",
  summary: "Lets a value count, as long as it stays what it is now",
  operands: { usage: "ID…", least: 1, most: Infinity },
  flags: { ...directoryFlags, ...verboseFlags },
  load: () => load().then(({ allowTrust }) => allowTrust)
})

const revoke = command({
  name: "revoke",
  summary: "Takes trust back",
  operands: { usage: "ID…", least: 1, most: Infinity },
  flags: { ...verboseFlags },
  load: () => load().then(({ revokeTrust }) => revokeTrust)
})

/** Lists, gives and takes back trust in what a project's files say. */
export const trust = command({
  name: "trust",
  summary: "Lists what of a project's files counts only if you trust it",
  details:
    "That is hooks, base URLs, rules that allow, and all else that goes beyond what you grant. `skein run` trusts nothing.",
  flags: listFlags,
  commands: [list, allow, revoke],
  load: () => load().then(({ listTrust }) => listTrust)
})
