/** Decides how programs authenticate, and where the server may listen. */
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { randomBytes } from "node:crypto"
import { readFileSync } from "node:fs"
import { isIP } from "node:net"
import { UsageError } from "../../UsageError.ts"

/** Too long to guess: 128 bits as hexadecimal digits. */
const shortest = 32

/** Whether only programs of this machine reach an address. */
export const isLoopback = (hostname: string): boolean =>
  hostname === "localhost" || hostname === "::1" || (isIP(hostname) === 4 && hostname.startsWith("127."))

/** Reads what a file keeps secret, for this flag. */
export const readSecret = (flag: string, file: string) =>
  Effect.try({
    try: () => readFileSync(file, "utf8").trim(),
    catch: (cause) =>
      new UsageError({
        message: `${flag}: ${file} cannot be read (${cause instanceof Error ? cause.message : String(cause)}).`
      })
  }).pipe(Effect.filterOrFail(
    (token) => token.length >= shortest && /^[\x21-\x7e]+$/.test(token),
    () =>
      new UsageError({
        message: `${flag}: ${file} has to hold a secret of at least ${shortest} visible ASCII characters. `
          + `Make one: openssl rand -hex 32 > ${file}`
      })
  ))

/** The token of a server that listens on this address. */
export const tokenFor = (hostname: string, file: string | undefined): Effect.Effect<Redacted.Redacted, UsageError> => {
  if (file !== undefined) return Effect.map(readSecret("--token-file", file), Redacted.make)
  if (!isLoopback(hostname)) {
    return new UsageError({
      message: `--hostname ${hostname} is open to other machines, so it needs --token-file FILE with your own token. `
        + "The server does not encrypt: put a proxy with TLS in front of it."
    })
  }
  return Effect.sync(() => Redacted.make(randomBytes(32).toString("hex")))
}
