/** Decides what a server is started with. */
import type * as Effect from "effect/Effect"
import type * as Redacted from "effect/Redacted"
import type { Page } from "./Page.ts"
import type { ServerHost } from "./ServerHost.ts"

/** What a server is started with. */
export interface ServerOptions {
  /** The address to listen on. */
  readonly hostname: string
  /** 0 takes a free one. */
  readonly port: number
  /** What programs authenticate with. */
  readonly token: Redacted.Redacted
  readonly version: string
  /** The directory in which it was started: the page proposes it for the first session. */
  readonly directory?: string
  /** The project that a directory belongs to: what approvals go by. */
  readonly projectOf: (directory: string) => Effect.Effect<string>
  /** Whether unfinished work of earlier processes is resumed. */
  readonly resume: boolean
  /** Answers for files of config, trust, worktrees and long texts. Without it, the server has no such routes. */
  readonly host?: ServerHost
  /** Where logins are kept, so that they outlive the server; in memory only where absent. */
  readonly loginFile?: string
  /** The page; none where absent. */
  readonly page?: Page
}

/** The largest body of a request, in bytes. */
export const largestBody = 8 * 1024 * 1024

/** The largest archive that is imported, in bytes. */
export const largestArchive = 64 * 1024 * 1024

/** How long a client may take to send a request, in milliseconds. */
export const requestPatience = 30_000

/** How long a client may take to send the headers of a request, in milliseconds. */
export const headersPatience = 10_000

/** How much may wait to be read by a client of events, in bytes: whoever reads more slowly is reset and closed. */
export const mostUnread = 1024 * 1024
