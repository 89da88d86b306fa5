/** Decides at which address of a proxy a server may be reached. */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { UsageError } from "../../UsageError.ts"
import { isLoopback } from "./token.ts"

const faultOf = (text: string, url: URL | undefined, hostname: string): string | undefined => {
  if (!/^https?:\/\//i.test(text)) return "has to begin with https:// or http://"
  if (url === undefined) return "is no valid URL: check its host, and its port up to 65535"
  if (url.username !== "" || url.password !== "") return "must not contain a user or a password"
  if (url.pathname !== "/") return "must not have a path, because the server answers at the root of a host"
  if (/[?#]/.test(text)) return "must end after the host and port"
  return isLoopback(url.hostname.replace(/^\[|\]$/g, "")) && !isLoopback(hostname)
    ? `names an address that each machine has for itself, and the server listens on ${hostname}`
    : undefined
}

/** Reads the value of `--public-url` for a server that listens on this host: the origin of the address. */
export const readPublicUrl = (text: string, hostname: string): Effect.Effect<string, UsageError> => {
  const url = Either.getOrUndefined(Either.try(() => new URL(text)))
  const fault = faultOf(text, url, hostname)
  return url !== undefined && fault === undefined
    ? Effect.succeed(url.origin)
    : new UsageError({
      // A password does not belong on a terminal.
      message: `--public-url ${fault}${url?.username || url?.password ? "" : `, and got ${JSON.stringify(text)}`}. `
        + "Give the address at which a proxy serves it, such as https://skein.example."
    })
}
