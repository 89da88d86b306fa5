/** Declares what `skein` does on a terminal if no command is named. */
import { command } from "../CommandSpec.ts"
import { sessionFlags } from "../internal/session/flags.ts"

/** Opens a session at the terminal. */
export const session = command({
  name: "session",
  summary: "Opens a session at the terminal",
  operands: { usage: "[prompt…]", least: 0, most: Infinity },
  flags: sessionFlags,
  load: () => import("../internal/session/execute.ts").then(({ executeSession }) => executeSession)
})
