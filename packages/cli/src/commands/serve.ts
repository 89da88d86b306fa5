/** `skein serve` and `skein acp`: serve others. What they stand on is loaded when they are called. */
import { commandBody } from "../CommandSpec.ts"
import { acpFlags, serveFlags } from "../internal/flags.ts"

/** Serves the sessions of a database over HTTP. */
export const serve = commandBody({
  details:
    "Prints its URL, with a login code that works once, within a minute.\nOther programs find it by a file that only you can read. See docs/server.md.",
  flags: serveFlags,
  load: () => import("../internal/serve/execute.ts").then(({ executeServe }) => executeServe)
})

/** Serves one editor over standard input and output. */
export const acp = commandBody({
  details: "Editors start it themselves. docs/editors.md says how to set up Zed, JetBrains, Neovim and Emacs.",
  flags: acpFlags,
  load: () => import("../internal/acp/execute.ts").then(({ executeAcp }) => executeAcp)
})
