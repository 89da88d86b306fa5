/** The flag of the commands that work through a server where one runs. */
import type { Flags } from "../../CommandSpec.ts"

/** For commands that work through a server. */
export const attachFlags = {
  attach: {
    type: "text",
    value: "auto|off|URL",
    description: "auto (default): through the server of this database, if one runs; off: never; or a server's URL"
  }
} as const satisfies Flags
