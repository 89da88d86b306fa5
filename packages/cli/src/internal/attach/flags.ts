/** The flag of commands that can work through a running server. */
import type { Flags } from "../../CommandSpec.ts"

/** For commands that can work through a server. */
export const attachFlags = {
  attach: {
    type: "text",
    value: "auto|off|URL",
    description: "auto (default): uses a running server of this database; off: never; or server URL[,…]"
  }
} as const satisfies Flags
