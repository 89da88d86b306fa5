/** Declares `skein upgrade`. */
import { command } from "../CommandSpec.ts"

/** Prints how to install a newer version. */
export const upgrade = command({
  name: "upgrade",
  summary: "Prints the command that installs a newer version",
  details: "It changes nothing and asks no server. Run the printed line yourself.",
  flags: {},
  load: () => import("../internal/upgrade.ts").then(({ executeUpgrade }) => executeUpgrade)
})
