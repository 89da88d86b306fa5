/**
 * Sends requests to hosts that a stranger named: over HTTPS alone, only to hosts open to everybody, following no
 * redirect.
 */
import * as Effect from "effect/Effect"
import { HttpFailed, httpRequest } from "./internal/web/httpRequest.ts"
import type { Address, Network } from "./Network.ts"

type Reaching = Pick<typeof Network.Service, "isPublic" | "resolve">

/** How many bytes of an answer are taken. */
const longest = 1024 * 1024

/** How long a request may take. */
const patience = "30 seconds"

/** The addresses of a host; fails if one of them is not open to everybody. */
const addressesOf = async (url: URL, { isPublic, resolve }: Reaching): Promise<ReadonlyArray<Address>> => {
  if (url.protocol !== "https:" || url.username !== "" || url.password !== "") {
    throw new Error(`${url.origin} is not reached: only https URLs without a password are`)
  }
  const host = url.hostname.replace(/^\[|\]$/g, "")
  const found = await Effect.runPromise(resolve(host))
  if (found.length === 0 || !found.every(({ address }) => isPublic(address))) {
    throw new Error(`${url.host} is not reached: its address is not open to everybody`)
  }
  return found
}

const bodyOf = (body: RequestInit["body"]): string | undefined =>
  body === undefined || body === null ? undefined : body instanceof URLSearchParams ? body.toString() : String(body)

/** Makes what sends them; `ca` is the certificate of who vouches for hosts, by default those that Node knows. */
export const makePublicFetch =
  (network: Reaching, ca?: string) => async (to: string | URL, init: RequestInit = {}): Promise<Response> => {
    const url = new URL(to)
    const request = httpRequest(url, await addressesOf(url, network), {
      method: init.method ?? "GET",
      headers: { ...Object.fromEntries(new Headers(init.headers)), "accept-encoding": "identity" },
      body: bodyOf(init.body),
      longest,
      ...(ca === undefined ? {} : { ca })
    })
    const { body, headers, status } = await Effect.runPromise(
      Effect.timeoutFail(request, {
        duration: patience,
        onTimeout: () => new HttpFailed({ isTooLong: false, message: `${url.host} did not answer within ${patience}` })
      }),
      init.signal ? { signal: init.signal } : {}
    )
    const isBare = status === 204 || status === 304
    return new Response(isBare ? null : new Uint8Array(body), {
      status,
      headers: Object.entries(headers).flatMap(([name, value]): Array<[string, string]> =>
        value === undefined ? [] : [[name, String(value)]]
      )
    })
  }
