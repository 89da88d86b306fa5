/** Sends requests to hosts that a stranger named: over HTTPS alone, only to hosts open to everybody, following no redirect. */
import * as Effect from "effect/Effect"
import * as https from "node:https"
import type { LookupFunction } from "node:net"
import type { Address, Network } from "./Network.ts"

type Reaching = Pick<typeof Network.Service, "isPublic" | "resolve">

/** How many bytes of an answer are taken. */
const longest = 1024 * 1024

/** How long a request may take, in milliseconds. */
const patience = 30_000

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

/** Asks at one of these addresses and no other: a name may lead elsewhere a moment later. */
const send = (
  url: URL,
  init: RequestInit,
  addresses: ReadonlyArray<Address>,
  ca: string | undefined
): Promise<Response> =>
  new Promise((resolve, reject) => {
    const lookup: LookupFunction = (_host, options, found) => {
      if (options.all === true) found(null, addresses.map(({ address, family }) => ({ address, family })))
      else found(null, addresses[0]?.address ?? "", addresses[0]?.family)
    }
    const request = https.request(url, {
      agent: false,
      lookup,
      method: init.method ?? "GET",
      headers: { ...Object.fromEntries(new Headers(init.headers)), "accept-encoding": "identity" },
      timeout: patience,
      ...(ca === undefined ? {} : { ca }),
      ...(init.signal ? { signal: init.signal } : {})
    })
    request.once("timeout", () => request.destroy(new Error(`${url.host} did not answer in time`)))
    request.once("error", reject)
    request.once("response", (response) => {
      const pieces: Array<Buffer> = []
      let size = 0
      response.on("error", reject)
      response.on("data", (piece: Buffer) => {
        size += piece.length
        pieces.push(piece)
        if (size > longest) request.destroy(new Error(`${url.host} answered with more than ${longest / 1024} KB`))
      })
      response.once("end", () => {
        const status = response.statusCode ?? 500
        const headers = Object.entries(response.headers).flatMap(([name, value]) =>
          value === undefined ? [] : [[name, String(value)] as [string, string]]
        )
        const isBare = status === 204 || status === 304
        resolve(new Response(isBare ? null : Buffer.concat(pieces), { status, headers }))
      })
    })
    request.end(bodyOf(init.body))
  })

/** Makes what sends them; `ca` is the certificate of who vouches for hosts, by default those that Node knows. */
export const makePublicFetch =
  (network: Reaching, ca?: string) => async (to: string | URL, init: RequestInit = {}): Promise<Response> => {
    const url = new URL(to)
    return send(url, init, await addressesOf(url, network), ca)
  }
