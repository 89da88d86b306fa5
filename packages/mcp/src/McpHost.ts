/** What MCP servers need of the machine that they run on, as ports: the package starts no process by itself. */
import type { McpServerConfig } from "@skein/domain/McpConfig"
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { Readable, Writable } from "node:stream"

/** A program that runs. */
export interface Launched {
  /** Its process, where there is one. */
  readonly pid?: number | undefined
  readonly stdin: Writable
  readonly stdout: Readable
  readonly stderr: Readable
  /** Ends when it has ended, and says how, as in `exit code 1`. */
  readonly ended: Effect.Effect<string>
}

/** What to run. */
export interface LaunchOptions {
  readonly command: readonly [string, ...ReadonlyArray<string>]
  /** Absolute. */
  readonly directory: string
  /** The variables that config sets for it; the host adds what every program needs, and no credentials. */
  readonly environment: Readonly<Record<string, string>>
}

/** The machine, as servers need it. */
export interface McpHost {
  /** The version of the program, which servers get. */
  readonly version: string
  /** All variables of this process, for those that config names as `${NAME}` or `{env:NAME}`. */
  readonly variables: Readonly<Record<string, string | undefined>>
  /** The text of a file that the user's own config names as `{file:PATH}`. */
  readonly readText: (path: string) => Effect.Effect<string, { readonly message: string }>
  /** Hears the config of a server that is about to start, with all values put in: secrets in it must show in no log. */
  readonly hide: (config: McpServerConfig) => void
  /** The text without secrets: what a server says of its failure may name them, and models and logs show it. */
  readonly redact: (text: string) => string
  /** Sends a request over HTTP. */
  readonly fetch: (url: string | URL, init?: RequestInit) => Promise<Response>
  /** The same to a host that a server named: over HTTPS, only to hosts open to everybody, following no redirect. */
  readonly fetchPublic: (url: string | URL, init?: RequestInit) => Promise<Response>
  /** What logins gave, by the exact URL of the server; only this user can read it. */
  readonly credentials: {
    readonly read: (url: string) => Effect.Effect<string | undefined, { readonly message: string }>
    readonly write: (url: string, text: string) => Effect.Effect<void, { readonly message: string }>
    readonly remove: (url: string) => Effect.Effect<void, { readonly message: string }>
  }
  /** Remembers the scripts that a command names; the result finds one that is no longer what it was. */
  readonly remember: (command: ReadonlyArray<string>, directory: string) => () => string | undefined
  /** Starts a program; when the scope closes, nothing of it is left. */
  readonly launch: (options: LaunchOptions) => Effect.Effect<Launched, { readonly message: string }, Scope.Scope>
}
