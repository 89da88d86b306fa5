/** The flags of `skein acp`: how new sessions work, and where they are. */
import type { Flags } from "../../CommandSpec.ts"
import { promptFlags } from "../run/flags.ts"

/** The flags. */
export const acpFlags = {
  agent: promptFlags.agent,
  model: promptFlags.model,
  mode: promptFlags.mode,
  auto: promptFlags.auto,
  sandbox: promptFlags.sandbox,
  attach: promptFlags.attach,
  db: promptFlags.db,
  verbose: promptFlags.verbose,
  "log-format": promptFlags["log-format"]
} as const satisfies Flags
