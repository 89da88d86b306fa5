/** Decides the options of a server: its page, and what it needs from its program. */
import type { CleanWorktrees } from "@skein/api/Input"
import type { CleanedWorktree, Cluster, ShownConfig, TrustItem, Worktree } from "@skein/api/Output"
import type { ManyServices } from "@skein/core/Skein"
import type { SessionID } from "@skein/domain/Id"
import type * as Effect from "effect/Effect"
import type * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Duplex } from "node:stream"

/** A file of the page, as it is sent. */
export interface PageFile {
  readonly type: string
  readonly body: Uint8Array
  /** The same body compressed, by the name of the encoding. */
  readonly encoded: Readonly<Partial<Record<"br" | "gzip", Uint8Array>>>
  /** Whether its path changes with its content, so that browsers may cache it permanently. */
  readonly immutable: boolean
}

/** The files of the page by their path. The file of `/` also answers the URLs of sessions. */
export type Page = ReadonlyMap<string, PageFile>

/** The program cannot do what was requested. The message says why, and how to fix it. */
export class HostRefused extends Schema.TaggedError<HostRefused>()("HostRefused", {
  /** `invalid`: the request makes no sense here. `failed`: it could not be carried out. */
  reason: Schema.Literal("invalid", "failed"),
  message: Schema.String
}) {}

/** The number of events and long texts that were removed, or would be. */
export interface Forgotten {
  readonly events: number
  readonly texts: { readonly files: number; readonly bytes: number }
}

/** What the program does for the clients of its server. */
export interface ServerHost {
  /** The effective settings of a directory, without secrets. */
  readonly config: (directory: string) => Effect.Effect<ShownConfig, HostRefused>
  /** The JSON Schema of config files. */
  readonly configSchema: Effect.Effect<Readonly<Record<string, unknown>>>
  readonly trust: (directory: string) => Effect.Effect<ReadonlyArray<TrustItem>, HostRefused>
  readonly allowTrust: (
    directory: string,
    ids: ReadonlyArray<string>
  ) => Effect.Effect<ReadonlyArray<TrustItem>, HostRefused>
  readonly revokeTrust: (ids: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<TrustItem>, HostRefused>
  readonly worktrees: Effect.Effect<ReadonlyArray<Worktree>, HostRefused>
  readonly cleanWorktrees: (options: CleanWorktrees) => Effect.Effect<ReadonlyArray<CleanedWorktree>, HostRefused>
  /** Removes old events and long texts, and the texts of the sessions that were just removed. */
  readonly forget: (options: {
    readonly dryRun: boolean
    readonly removed: ReadonlySet<SessionID>
  }) => Effect.Effect<Forgotten, HostRefused>
}

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

/** How long a client may take to send a request, or the next piece of an archive, in milliseconds. */
export const requestPatience = 30_000

/** How long a client may take to send the headers of a request, in milliseconds. */
export const headersPatience = 10_000

/** How many bytes of events may wait for a client to read them. A slower client gets a reset, and is disconnected. */
export const mostUnread = 1024 * 1024
