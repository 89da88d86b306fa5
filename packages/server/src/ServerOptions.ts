/** Decides the options of a server. */
import type { Cluster } from "@skein/api/Output"
import type { ManyServices } from "@skein/core/Skein"
import type * as Effect from "effect/Effect"
import type * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Duplex } from "node:stream"
import type { Page } from "./Page.ts"
import type { ServerHost } from "./ServerHost.ts"

/** Where clients of MCP are served. */
export interface McpDoor {
  /** Answers a request for `/mcp`. */
  readonly answer: (request: IncomingMessage, response: ServerResponse) => void
  /** Serves a client over two streams until its input ends; `directory` is where it works. */
  readonly serve: (
    streams: { readonly input: Duplex; readonly output: Duplex; readonly directory: string | undefined }
  ) => Effect.Effect<void>
}

/** The options of a server. */
export interface ServerOptions {
  /** The address to listen on. */
  readonly hostname: string
  /** 0 takes a free one. */
  readonly port: number
  /** The origin at which a proxy serves it, such as `https://skein.example`. */
  readonly publicUrl?: string
  /** The token with which programs authenticate. */
  readonly token: Redacted.Redacted
  readonly version: string
  /** The directory in which it was started. The page suggests it for the first session. */
  readonly directory?: string
  /** The project of a directory, by which approvals are keyed. */
  readonly projectOf: (directory: string) => Effect.Effect<string>
  /** Whether to resume unfinished work of earlier processes. */
  readonly resume: boolean
  /** Gives access to files of config, trust, worktrees and long texts. Without it, the server has no such routes. */
  readonly host?: ServerHost
  /** Where logins are stored, so that they survive a restart; by default in memory only. */
  readonly loginFile?: string
  /** The door for MCP clients. The first client loads it, and its connections end with the scope. If absent, there is none. */
  readonly mcp?: Effect.Effect<McpDoor, never, ManyServices | Scope.Scope>
  /** The other servers of a cluster. With them, unfinished work is resumed as it becomes free. */
  readonly cluster?: ClusterPort
  /** The page; if absent, the server has none. */
  readonly page?: Page
}

/** What makes a server one of several on the same database. */
export interface ClusterPort {
  /** Whether a request comes from another server, which has authenticated its client. */
  readonly isTrusted: (request: IncomingMessage) => boolean
  /** Answers a request, elsewhere or by `local`. */
  readonly route: (request: IncomingMessage, response: ServerResponse, local: () => void) => void
  /** Who is in the cluster. */
  readonly status: Effect.Effect<typeof Cluster.Type, { readonly message: string }>
  /** Run before the trees of this server are left: from then on it takes up none. */
  readonly leave: Effect.Effect<void>
}

/** The largest body of a request, in bytes. */
export const largestBody = 8 * 1024 * 1024

/** The maximum size of an imported archive, in bytes. */
export const largestArchive = 64 * 1024 * 1024

/** How long a client may take to send a request, in milliseconds. */
export const requestPatience = 30_000

/** How long a client may take to send the headers of a request, in milliseconds. */
export const headersPatience = 10_000

/** How many bytes of events may wait for a client to read them. A slower client gets a reset, and is disconnected. */
export const mostUnread = 1024 * 1024
