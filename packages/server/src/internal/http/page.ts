/** Serves the page: static files without secrets, so they need no login. The page requests its data with a login. */
import { createHash } from "node:crypto"
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Page, PageFile } from "../../ServerOptions.ts"
import { safeHeaders } from "../respond.ts"

/** The page runs only its own files, talks only to its own server, and creates markup only in its sanitiser. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types skein"
].join("; ")

/** The paths of its views: of a session, and of the servers of a cluster. */
const isOfView = /^(\/s\/[\w-]+(\/[\w-]+){0,2}|\/cluster)$/

const fileOf = (page: Page, url: string): PageFile | undefined => {
  const path = url.split("?", 1)[0] ?? ""
  return page.get(isOfView.test(path) ? "/" : path)
}

/** The encoding that the client accepts and the file has; the smallest first. */
const encodingOf = (file: PageFile, accepted: string): "br" | "gzip" | undefined => {
  const offered = new Map(
    accepted.toLowerCase().split(",").map((each) => {
      const [name = "", ...params] = each.split(";").map((word) => word.trim())
      return [name, !params.some((param) => /^q=0(\.0*)?$/.test(param))] as const
    })
  )
  return (["br", "gzip"] as const).find((name) => offered.get(name) === true && file.encoded[name] !== undefined)
}

interface Tagged {
  readonly file: PageFile
  readonly etag: string
}

const send = (request: IncomingMessage, response: ServerResponse, { etag, file }: Tagged): void => {
  const { "accept-encoding": accepted = "", "if-none-match": known = "" } = request.headers
  const encoding = encodingOf(file, String(accepted))
  const body = encoding === undefined ? file.body : file.encoded[encoding] ?? file.body
  const tag = `"${etag}${encoding === undefined ? "" : `-${encoding}`}"`
  const isKnown = known.split(",").some((each) => each.trim().replace(/^W\//, "") === tag)
  response.writeHead(isKnown ? 304 : 200, {
    ...safeHeaders,
    "Cache-Control": file.immutable ? "public, max-age=31536000, immutable" : "no-cache",
    "Content-Security-Policy": policy,
    "Cross-Origin-Opener-Policy": "same-origin",
    ETag: tag,
    Vary: "Accept-Encoding",
    ...(isKnown ? {} : {
      "Content-Type": file.type,
      "Content-Length": body.length,
      ...(encoding === undefined ? {} : { "Content-Encoding": encoding })
    })
  })
  response.end(isKnown || request.method === "HEAD" ? undefined : body)
}

/** Makes the page: whether a request is for it, and the answer. */
export const makePage = (page: Page) => {
  const tagged = new Map<PageFile, Tagged>()
  for (const file of page.values()) {
    tagged.set(file, { file, etag: createHash("sha256").update(file.body).digest("base64url").slice(0, 27) })
  }
  const find = ({ method, url = "" }: IncomingMessage): Tagged | undefined => {
    const file = method === "GET" || method === "HEAD" ? fileOf(page, url) : undefined
    return file === undefined ? undefined : tagged.get(file)
  }
  return {
    has: (request: IncomingMessage): boolean => find(request) !== undefined,
    /** Answers; returns whether the request was for the page. */
    answer: (request: IncomingMessage, response: ServerResponse): boolean => {
      const found = find(request)
      if (found !== undefined) send(request, response, found)
      return found !== undefined
    }
  }
}
