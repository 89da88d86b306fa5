/** Declares `skein acp`. */
import { command } from "../CommandSpec.ts"
import { acpFlags } from "../internal/acp/flags.ts"

/** Serves one editor over standard input and output. */
export const acp = command({
  name: "acp",
  summary: "Serves an editor that speaks the Agent Client Protocol",
  details: "Editors start it themselves. docs/editors.md says how to set up Zed, JetBrains, Neovim and Emacs.",
  flags: acpFlags,
  load: () => import("../internal/acp/execute.ts").then(({ executeAcp }) => executeAcp)
})
