/** Makes one HTTP request to an address that was checked before. It resolves nothing, and follows no redirect. */
import type { ToolError } from "@skein/core/Tool"
import { lookup } from "@skein/domain/Lookup"
import * as Effect from "effect/Effect"
import * as http from "node:http"
import * as https from "node:https"
import type { LookupFunction } from "node:net"
import type { Readable, Transform } from "node:stream"
import * as zlib from "node:zlib"
import type { Address } from "../../Network.ts"
import { refusal } from "../refusal.ts"

/** The maximum size of an answer, in bytes after decompression. */
export const maximumBody = 5 * 1024 * 1024

/** An answer. The body of a redirect is not read. */
export interface Answer {
  readonly status: number
  readonly location: string | undefined
  readonly contentType: string
  readonly body: Buffer
}

const redirects = new Set([301, 302, 303, 307, 308])

const unpackers = lookup<() => Transform>({
  gzip: () => zlib.createGunzip(),
  "x-gzip": () => zlib.createGunzip(),
  deflate: () => zlib.createInflate(),
  br: () => zlib.createBrotliDecompress()
})

/** Requests a URL from one of these addresses and no other. Sends no cookies and no credentials, and uses no proxy. */
export const httpGet = (
  url: URL,
  addresses: ReadonlyArray<Address>,
  accept: string
): Effect.Effect<Answer, ToolError> =>
  Effect.async((resume) => {
    const fail = (error: Error) =>
      resume(
        Effect.fail(
          refusal("network", `${url.origin} could not be read: ${error.message}. Check the URL, or try again later.`)
        )
      )

    const resolveHost: LookupFunction = (_host, options, found) => {
      if (options.all === true) found(null, addresses.map(({ address, family }) => ({ address, family })))
      else found(null, addresses[0]?.address ?? "", addresses[0]?.family)
    }
    const request = (url.protocol === "https:" ? https : http).request(url, {
      // A separate connection: a shared one may have been opened to another address.
      agent: false,
      lookup: resolveHost,
      headers: { accept, "accept-encoding": "gzip, deflate, br", "user-agent": "Mozilla/5.0 (compatible; Skein)" }
    })
    request.on("error", fail)
    request.once("response", (response) => {
      const status = response.statusCode ?? 0
      const { headers } = response
      const answer = (body: Buffer) =>
        resume(Effect.succeed({ status, location: headers.location, contentType: headers["content-type"] ?? "", body }))
      if (redirects.has(status) && headers.location !== undefined) {
        answer(Buffer.alloc(0))
        request.destroy()
        return
      }
      const unpack = unpackers[(headers["content-encoding"] ?? "").trim().toLowerCase()]?.()
      const stream: Readable = unpack === undefined ? response : response.pipe(unpack)
      const pieces: Array<Buffer> = []
      let size = 0
      response.on("error", fail)
      response.once("aborted", () => fail(new Error("the connection was cut")))
      stream.on("error", fail)
      stream.on("data", (piece: Buffer) => {
        size += piece.length
        pieces.push(piece)
        if (size <= maximumBody) return
        resume(
          Effect.fail(
            refusal(
              "too_large",
              `${url.href} has more than ${
                maximumBody / 1024 / 1024
              } MB, which is the most that is read. Ask for a smaller page.`
            )
          )
        )
        unpack?.destroy()
        request.destroy()
      })
      stream.once("end", () => answer(Buffer.concat(pieces)))
    })
    request.end()
    return Effect.sync(() => request.destroy())
  })
