/** Decides which requests reach a route: those for this host, from this origin, with a token, and with a JSON body. */
import { type Problem, problem } from "@skein/api/Problem"
import type { IncomingMessage } from "node:http"
import { isIP } from "node:net"
import { networkInterfaces } from "node:os"
import { boundOf, sizeProblem } from "../body/bounds.ts"

/** What the gate knows about the server. */
export interface GateOptions {
  /** The address that the server listens on, and its port. */
  readonly hostname: string
  readonly port: number
  /** Whether a request carries the token, or a login. */
  readonly isAuthentic: (request: IncomingMessage) => boolean
  /** The paths that need neither. */
  readonly publicPaths: ReadonlySet<string>
  /** Whether a request is for a file of the page. It needs neither, and may come from a link on another site. */
  readonly isPage: (request: IncomingMessage) => boolean
}

const loopback = new Set(["127.0.0.1", "localhost", "[::1]"])

/** Addresses that every machine has for itself. */
const isLoop = (host: string): boolean => host === "localhost" || host === "::1" || host.startsWith("127.")

/** A page of another site cannot send these. To reach the server, it would need its own host name. */
const hostsOf = (hostname: string): ReadonlySet<string> => {
  const named = isIP(hostname) === 6 ? `[${hostname}]` : hostname.toLowerCase()
  if (loopback.has(named)) return loopback
  const own = Object.values(networkInterfaces()).flatMap((addresses = []) =>
    addresses.map(({ address, family }) => family === "IPv6" ? `[${address}]` : address)
  )
  return new Set([...loopback, named, ...own])
}

const hostProblem = () =>
  problem(403, "ForeignHost", "The request names another host. Use the URL that `skein serve` prints.")

const originProblem = () => problem(403, "ForeignOrigin", "Pages of other origins cannot use this server.")

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

/** The hosts by which a server is reached, as URLs and the header `Host` name them. */
const namesOf = (hostname: string, port: number): ReadonlySet<string> => {
  const hosts = [...hostsOf(hostname)]
  return new Set([...hosts.map((host) => `${host}:${port}`), ...port === 80 ? hosts : []])
}

/**
 * Whether a host is the server's own, for a handshake. Each machine has loopback addresses, and another program may
 * listen on the same port of the other family: such an address counts only for who came by it.
 */
export const makeIsOwn = ({ hostname, port }: Pick<GateOptions, "hostname" | "port">) => {
  const hosts = namesOf(hostname, port)
  return (host: string, { socket: { localAddress = "" } }: IncomingMessage): boolean => {
    const name = host.toLowerCase().replace(/:\d+$/, "").replace(/^\[|\]$/g, "")
    const local = localAddress.replace(/^::ffff:(?=\d+\.)/, "")
    return hosts.has(host.toLowerCase())
      && (isLoop(local) || !isLoop(name))
      && (isIP(name) === 0 || isIP(name) === isIP(local))
  }
}

/** Makes the gate. It returns what is wrong with a request, or nothing. */
export const makeGate = ({ hostname, isAuthentic, isPage, port, publicPaths }: GateOptions) => {
  const hosts = namesOf(hostname, port)

  const isForeign = (request: IncomingMessage, host: string): boolean => {
    const { origin, "sec-fetch-site": site } = request.headers
    if (origin !== undefined && origin !== `http://${host}`) return true
    // A link or a bookmark that opens the page gives another site no access.
    const isOpened = request.headers["sec-fetch-dest"] === "document" && isPage(request)
    return site !== undefined && site !== "same-origin" && site !== "none" && !isOpened
  }

  return (request: IncomingMessage): Problem | undefined => {
    const { host } = request.headers
    if (host === undefined || !hosts.has(host.toLowerCase())) return hostProblem()
    if (isForeign(request, host.toLowerCase())) return originProblem()
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
