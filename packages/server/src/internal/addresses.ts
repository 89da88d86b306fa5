/** Decides which addresses are the server's own: those that it listens on, and the one at which a proxy serves it. */
import { dialledHost, directUrl } from "@skein/api/Handshake"
import type { IncomingMessage } from "node:http"
import { isIP } from "node:net"
import { networkInterfaces } from "node:os"

/** What to do if a request was refused for its address, and that is right. */
export const behindProxy =
  "If a proxy serves it at another address, start it with that one: skein serve --public-url https://HOST"

/** Where a server is reached. */
export interface AddressOptions {
  /** The address that the server listens on, and its port. */
  readonly hostname: string
  readonly port: number
  /** The address at which a proxy serves it, such as `https://skein.example`. */
  readonly publicUrl?: string | undefined
}

/** The server's own addresses. */
export interface Addresses {
  /** Whether the header `Host` names this server. */
  readonly isHost: (host: string) => boolean
  /** Whether the header `Origin` names the page of this server, in a request with this `Host`. */
  readonly isOrigin: (origin: string, host: string) => boolean
  /** Whether a handshake may prove this host and port to who came by this request. */
  readonly isProvable: (host: string, request: IncomingMessage) => boolean
  /** Whether a browser sent the request to a public address with TLS, so that its cookies need TLS as well. */
  readonly isSecure: (request: IncomingMessage) => boolean
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

/** The name or address of a host and port. */
const nameOf = (host: string): string => host.replace(/:\d+$/, "").replace(/^\[|\]$/g, "")

/** Makes them. */
export const makeAddresses = ({ hostname, port, publicUrl }: AddressOptions): Addresses => {
  const own = [...hostsOf(hostname)]
  const dialled = new Set(own.map((host) => `${host}:${port}`))
  const local = new Set([...dialled, ...port === 80 ? own : []])
  const open = publicUrl === undefined ? undefined : new URL(publicUrl)
  const openHost = open === undefined ? undefined : dialledHost(open.origin)
  // Clients dial it there.
  const provableHost = open === undefined ? undefined : dialledHost(directUrl(open.origin))
  const isOpenHost = (host: string): boolean => host === open?.host || host === openHost || host === provableHost
  return {
    isHost: (host) => local.has(host.toLowerCase()) || isOpenHost(host.toLowerCase()),
    // A proxy may keep the host of the browser, or replace it by the one that it dials.
    isOrigin: (origin, host) =>
      origin === open?.origin || (local.has(host.toLowerCase()) && origin === `http://${host.toLowerCase()}`),
    // Each machine has loopback addresses, and another program may listen on the same port of the other family: such
    // an address counts only for who came by it. The family by which a proxy comes says nothing about its clients.
    isProvable: (given, { socket: { localAddress = "" } }) => {
      const host = given.toLowerCase()
      const name = nameOf(host)
      const at = localAddress.replace(/^::ffff:(?=\d+\.)/, "")
      if (isLoop(name) && !isLoop(at)) return false
      if (host === provableHost) return true
      // The name does not say by which of its addresses somebody came: another user may listen at the other one.
      return name !== "localhost" && (dialled.has(host) && (isIP(name) === 0 || isIP(name) === isIP(at)))
    },
    isSecure: ({ headers: { host = "", origin } }) =>
      open?.protocol === "https:" && (origin === undefined ? isOpenHost(host.toLowerCase()) : origin === open.origin)
  }
}
