/** Decides which requests reach a route: those for this host, from this origin, with a token, and with a JSON body. */
import { type Problem, problem } from "@skein/api/Problem"
import type { IncomingMessage } from "node:http"
import { type Addresses, behindProxy } from "../addresses.ts"
import { boundOf, sizeProblem } from "../readBody.ts"

/** What the gate knows about the server. */
export interface GateOptions {
  /** The server's own addresses. */
  readonly addresses: Addresses
  /** Whether a request carries the token, or a login. */
  readonly isAuthentic: (request: IncomingMessage) => boolean
  /** The paths that need neither. */
  readonly publicPaths: ReadonlySet<string>
  /** Whether a request is for a file of the page. It needs neither, and may come from a link on another site. */
  readonly isPage: (request: IncomingMessage) => boolean
}

const hostProblem = () =>
  problem(
    403,
    "ForeignHost",
    `The request names a host that is not this server's. Use the URL that \`skein serve\` prints. ${behindProxy}`
  )

const originProblem = () =>
  problem(403, "ForeignOrigin", `Pages of other origins cannot use this server. ${behindProxy}`)

const tokenProblem = () =>
  problem(401, "Unauthenticated", "Send the token of the server in the header Authorization: Bearer TOKEN.")

const mediaProblem = () => problem(415, "NotJson", "Send a body as Content-Type: application/json, in UTF-8.")

const isJson = /^application\/json(\s*;\s*charset="?utf-8"?)?$/i

const bodyProblem = ({ headers, url }: IncomingMessage): Problem | undefined => {
  const type = headers["content-type"]
  const length = headers["content-length"]
  const hasBody = headers["transfer-encoding"] !== undefined || (length !== undefined && length !== "0")
  if (type === undefined ? hasBody : !isJson.test(type)) return mediaProblem()
  if ((headers["content-encoding"] ?? "identity") !== "identity") return mediaProblem()
  const bound = boundOf(url)
  return Number(length ?? 0) > bound ? sizeProblem(bound) : undefined
}

/** Headers that may occur once. If there are two, a proxy may use the other one. */
const single = new Set([
  "authorization",
  "content-encoding",
  "content-type",
  "host",
  "idempotency-key",
  "last-event-id",
  "origin",
  "skein-key"
])

/** A header that occurs twice and must not. */
const doubledHeader = ({ rawHeaders }: IncomingMessage): string | undefined => {
  const seen = new Set<string>()
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]?.toLowerCase() ?? ""
    if (seen.has(name) && single.has(name)) return name
    seen.add(name)
  }
  return undefined
}

/** Makes the gate. It returns what is wrong with a request, or nothing. */
export const makeGate = ({ addresses, isAuthentic, isPage, publicPaths }: GateOptions) => {
  const isForeign = (request: IncomingMessage, host: string): boolean => {
    const { origin, "sec-fetch-site": site } = request.headers
    // The page holds no secrets. Behind a proxy that replaces the host it has to load, or nobody reads what is wrong.
    if (origin !== undefined && !addresses.isOrigin(origin, host) && !isPage(request)) return true
    // A link or a bookmark that opens the page gives another site no access.
    const isOpened = request.headers["sec-fetch-dest"] === "document" && isPage(request)
    return site !== undefined && site !== "same-origin" && site !== "none" && !isOpened
  }

  return (request: IncomingMessage): Problem | undefined => {
    const { host } = request.headers
    if (host === undefined || !addresses.isHost(host)) return hostProblem()
    if (isForeign(request, host)) return originProblem()
    const { url = "" } = request
    if (!/^\/(?!\/)/.test(url)) return problem(400, "BadRequest", "Send the path alone in the request line.")
    const doubled = doubledHeader(request)
    if (doubled !== undefined) return problem(400, "BadRequest", `Send the header ${doubled} once.`)
    const end = url.indexOf("?")
    const isOpen = publicPaths.has(end < 0 ? url : url.slice(0, end)) || isPage(request)
    if (!isOpen && !isAuthentic(request)) return tokenProblem()
    return bodyProblem(request)
  }
}
