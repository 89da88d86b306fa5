/** Declares `skein trust`. */
import { command } from "../CommandSpec.ts"
import { directoryFlags, listingFlags, verboseFlags } from "../internal/flags.ts"

const load = () => import("../internal/list/trust.ts")

const listFlags = { ...listingFlags, ...directoryFlags, ...verboseFlags } as const

const list = command({
  name: "list",
  summary: "Lists the settings of a project that apply only if you trust them",
  flags: listFlags,
  load: () => load().then(({ listTrust }) => listTrust)
})

const allow = command({
  name: "allow",
  summary: "Trusts a setting until its value changes; `all` trusts all that are listed",
  operands: { usage: "ID…", least: 1, most: Infinity },
  flags: { ...directoryFlags, ...verboseFlags },
  load: () => load().then(({ allowTrust }) => allowTrust)
})

const revoke = command({
  name: "revoke",
  summary: "Revokes trust; `all` revokes it for all settings of the project",
  operands: { usage: "ID…", least: 1, most: Infinity },
  flags: { ...directoryFlags, ...verboseFlags },
  load: () => load().then(({ revokeTrust }) => revokeTrust)
})

/** Lists, gives and takes back trust in what a project's files say. */
export const trust = command({
  name: "trust",
  summary: "Lists a project's settings that need your trust; gives and revokes trust",
  details:
    "These are hooks, base URLs, rules that allow, models of other providers, and other settings that exceed your own.\n`skein run` trusts none of them by default.",
  flags: listFlags,
  commands: [list, allow, revoke],
  load: () => load().then(({ listTrust }) => listTrust)
})
