/** Makes one HTTP request to an address that was checked before. It resolves nothing, and follows no redirect. */
import { lookup } from "@skein/domain/Lookup"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as http from "node:http"
import * as https from "node:https"
import type { LookupFunction } from "node:net"
import type { Readable, Transform } from "node:stream"
import * as zlib from "node:zlib"
import type { Address } from "../../Network.ts"

/** Why there is no answer: it was too long, or the request failed. */
export class HttpFailed extends Data.TaggedError("HttpFailed")<{
  readonly isTooLong: boolean
  readonly message: string
}> {}

/** An answer. The body of a redirect is not read. */
export interface Answer {
  readonly status: number
  readonly headers: http.IncomingHttpHeaders
  readonly body: Buffer
}

/** What to send. */
interface Request extends Pick<https.RequestOptions, "ca" | "headers" | "method"> {
  readonly body?: string | undefined
  /** The maximum size of an answer, in bytes after decompression. */
  readonly longest: number
}

const redirects = new Set([301, 302, 303, 307, 308])

const unpackers = lookup<() => Transform>({
  gzip: () => zlib.createGunzip(),
  "x-gzip": () => zlib.createGunzip(),
  deflate: () => zlib.createInflate(),
  br: () => zlib.createBrotliDecompress()
})

/** Requests a URL from one of these addresses and no other: a name may lead elsewhere a moment later. Uses no proxy. */
export const httpRequest = (
  url: URL,
  addresses: ReadonlyArray<Address>,
  { body: sent, longest, ...options }: Request
): Effect.Effect<Answer, HttpFailed> =>
  Effect.async((resume) => {
    const fail = ({ message }: Error) => resume(new HttpFailed({ isTooLong: false, message }))
    const resolveHost: LookupFunction = (_host, { all }, found) => {
      if (all === true) found(null, addresses.map(({ address, family }) => ({ address, family })))
      else found(null, addresses[0]?.address ?? "", addresses[0]?.family)
    }
    // A separate connection: a shared one may have been opened to another address.
    const request = (url.protocol === "https:" ? https : http).request(url, {
      ...options,
      agent: false,
      lookup: resolveHost
    })
    request.on("error", fail)
    request.once("response", (response) => {
      const { headers, statusCode: status = 0 } = response
      const answer = (body: Buffer) => resume(Effect.succeed({ status, headers, body }))
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
        if (size <= longest) return
        resume(new HttpFailed({ isTooLong: true, message: `${url.host} answered with more than ${longest / 1024} KB` }))
        unpack?.destroy()
        request.destroy()
      })
      stream.once("end", () => answer(Buffer.concat(pieces)))
    })
    request.end(sent)
    return Effect.sync(() => request.destroy())
  })
