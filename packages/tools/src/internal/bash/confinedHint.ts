/** Tells a model why a confined command failed if the sandbox is the reason, and what to do. */
import type { SandboxLimits } from "../../SandboxPlace.ts"
import type { Need } from "./confinedAsks.ts"

const signs: Readonly<Record<Need, RegExp>> = {
  write: /read-only file system|\bEROFS\b/i,
  network:
    /could not resolve|name resolution|\b(?:ENOTFOUND|EAI_AGAIN|ENETUNREACH|ECONNREFUSED)\b|network is unreachable|connection refused|couldn't connect to server|failed to connect/i,
  credentials:
    /permission denied \(publickey|could not read (?:username|password)|authentication failed|\bENEEDAUTH\b|authentication required/i
}

/** How a command ran. */
export interface Ran {
  readonly exit: number
  readonly output: string
  readonly readOnly: boolean
  /** Whether edits are denied, so that no question could allow them. */
  readonly deniesEdits: boolean
  readonly has: (need: Need) => boolean
}

/** One sentence for each thing that it lacked; none if it did not fail. */
export const confinedHint = (limits: SandboxLimits, ran: Ran): string => {
  if (ran.exit === 0) return ""
  const lacks = (need: Need) => signs[need].test(ran.output) && !ran.has(need)
  const hints = [
    ...(ran.readOnly && lacks("write")
      ? [
        ran.deniesEdits
          ? "The project is read-only here, because edits are denied."
          : "The project is read-only for this command. If it has to change files, call again with needs: [\"write\"]."
      ]
      : []),
    ...(!limits.network && lacks("network")
      ? ["Commands have no network. If this one has to use it, call again with needs: [\"network\"]."]
      : []),
    ...(lacks("credentials")
      ? [
        "Commands see no credentials. If this one has to use them, call again with needs: [\"credentials\", \"network\"]."
      ]
      : [])
  ]
  return hints.length === 0 ? "" : `\n[Sandbox: ${hints.join(" ")}]`
}
