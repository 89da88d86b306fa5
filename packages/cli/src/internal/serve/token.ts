/** Decides how programs authenticate, and where the server may listen. */
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { randomBytes } from "node:crypto"
import { isIP } from "node:net"
import type { Stdio } from "../../Stdio.ts"
import { UsageError } from "../../UsageError.ts"
import { readSecret } from "./secretFile.ts"

/** Whether only programs of this machine reach an address. */
export const isLoopback = (hostname: string): boolean =>
  hostname === "localhost" || hostname === "::1" || (isIP(hostname) === 4 && hostname.startsWith("127."))

/** The token of a server that listens on this address. */
export const tokenFor = (
  hostname: string,
  file: string | undefined
): Effect.Effect<Redacted.Redacted, UsageError, Stdio> => {
  if (file !== undefined) return Effect.map(readSecret("--token-file", file), Redacted.make)
  if (!isLoopback(hostname)) {
    return new UsageError({
      message: `--hostname ${hostname} is open to other machines, so it needs --token-file FILE with your own token. `
        + "The server does not encrypt: put a proxy with TLS in front of it, and name that with --public-url."
    })
  }
  return Effect.sync(() => Redacted.make(randomBytes(32).toString("hex")))
}
