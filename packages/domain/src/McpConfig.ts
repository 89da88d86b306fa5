/** Decides what config says of MCP servers. */
import * as Schema from "effect/Schema"
import { key, narrows, never, trust } from "./ConfigKey.ts"
import { Milliseconds } from "./Milliseconds.ts"

const texts = Schema.Record({ key: Schema.NonEmptyString, value: Schema.String })

/** What config says of one server: a program with its arguments, or where a server is. A project's needs trust as a whole. */
export const McpServerConfig = Schema.Struct({
  command: key(Schema.NonEmptyArray(Schema.String), trust, "The program and its arguments. No shell is involved."),
  env: key(texts, trust, "Environment variables of the program. It sees no others but those that every program needs."),
  url: key(
    Schema.String.pipe(Schema.pattern(/^(?:https?:\/\/|\$\{|\{env:)/, { message: () => "an http(s) URL" })),
    trust,
    "Where the server is, if it is reached over HTTP."
  ),
  headers: key(texts, trust, "Headers that are sent with each request, such as a key."),
  type: key(
    Schema.Literal("http", "sse", "stdio", "local", "remote"),
    trust,
    "`sse` for a server of the older kind. By default Skein finds out. `stdio`, `local` and `remote` have no effect."
  ),
  client_id: key(
    Schema.NonEmptyString,
    trust,
    "The id of an OAuth client that you registered, or the https URL of its metadata. By default Skein registers itself."
  ),
  client_secret: key(
    Schema.NonEmptyString,
    trust,
    "The secret of that client, if it has one. Write `${NAME}` to take it from an environment variable."
  ),
  login_port: key(
    Schema.Int.pipe(Schema.between(1, 65_535)),
    trust,
    "The port to which the browser comes back from `skein mcp login`. A free one by default."
  ),
  enabled: key(
    Schema.Boolean,
    narrows([true, false]),
    "`false` turns the server off, also one that another file defines."
  ),
  startup_timeout: key(
    Milliseconds,
    trust,
    "How long the first request of a session waits for the server. In milliseconds, or text such as \"30m\"."
  ),
  timeout: key(
    Milliseconds,
    trust,
    "The longest silence of one of its tools. In milliseconds, or text such as \"30m\"."
  ),
  read_only: key(
    Schema.Union(Schema.Boolean, Schema.Array(Schema.NonEmptyString)),
    never,
    "Tools that change nothing: `true` for all, or a list of names. They work where edits are denied."
  ),
  trust_hints: key(Schema.Boolean, never, "Whether to believe the server about which of its tools change nothing.")
})
/** The type of a server's settings. */
export interface McpServerConfig extends Schema.Schema.Type<typeof McpServerConfig> {}

/** What of a command is the program Skein, however it is started: `skein`, `npx skein@1`, `node …/bin/skein.js`. */
const skein = /(?:^|[\\/])skein(?:@[^\\/]*)?(?:\.(?:[cm]?js|cmd|exe))?$/i

/** Whether a command starts Skein as an MCP server: its agents would delegate to themselves, beyond every bound of a tree. */
export const startsSkein = (command: ReadonlyArray<string>): boolean => {
  const words = command.flatMap((word) => word.split(/\s+/))
  const at = words.findIndex((word, index) => word === "mcp" && words[index + 1] === "serve")
  return words.slice(0, Math.max(at, 0)).some((word) => skein.test(word))
}

/** Why such a server is ignored. */
export const isSkeinItself = "this server is Skein itself, so Skein ignores it: its agents delegate with the task tool"
