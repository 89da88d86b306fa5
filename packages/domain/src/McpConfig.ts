/** Decides what config says of MCP servers. */
import * as Schema from "effect/Schema"
import { Milliseconds } from "./Milliseconds.ts"

const texts = Schema.Record({ key: Schema.NonEmptyString, value: Schema.String })

/** What config says of one server: a program with its arguments, or where a server is. */
export const McpServerConfig = Schema.Struct({
  /** The program and its arguments, without a shell. */
  command: Schema.optional(Schema.NonEmptyArray(Schema.String)),
  /** Variables that the program sees besides those that every program needs. */
  env: Schema.optional(texts),
  /** Where the server is, for one that is reached over HTTP. */
  url: Schema.optional(
    Schema.String.pipe(Schema.pattern(/^(?:https?:\/\/|\$\{|\{env:)/, { message: () => "an http(s) URL" }))
  ),
  /** Headers of each request to it. */
  headers: Schema.optional(texts),
  /** `sse` for a server of the older kind. What others write, `stdio`, `local` or `remote`, says no more than the keys do. */
  type: Schema.optional(Schema.Literal("http", "sse", "stdio", "local", "remote")),
  /** Who Skein is to the server's login: an id that the user registered, or the https URL of a document that says so. */
  client_id: Schema.optional(Schema.NonEmptyString),
  /** The port to which a browser comes back from a login; a free one by default. */
  login_port: Schema.optional(Schema.Int.pipe(Schema.between(1, 65_535))),
  enabled: Schema.optional(Schema.Boolean),
  /** How long the first request of a session waits for it. */
  startup_timeout: Schema.optional(Milliseconds),
  /** How long one of its tools may be silent. */
  timeout: Schema.optional(Milliseconds),
  /** Which of its tools change nothing: all, or those of these names. */
  read_only: Schema.optional(Schema.Union(Schema.Boolean, Schema.Array(Schema.NonEmptyString))),
  /** Whether it is believed what it says of tools that change nothing. */
  trust_hints: Schema.optional(Schema.Boolean)
})
/** The type of a server's settings. */
export interface McpServerConfig extends Schema.Schema.Type<typeof McpServerConfig> {}
