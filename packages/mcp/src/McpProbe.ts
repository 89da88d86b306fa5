/** Tries one MCP server, and tells what it is and what it offers. */
import * as MonotonicClock from "@skein/core/MonotonicClock"
import type { McpServerConfig } from "@skein/domain/McpConfig"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import { connect } from "./internal/connect.ts"
import { cleanLine } from "./internal/content.ts"
import { ServerFailed } from "./internal/failure.ts"
import { commandName, readPrompts, readTools, toolNames } from "./internal/listing.ts"
import type { McpHost } from "./McpHost.ts"

/** A server cannot be used. */
export class McpUnavailable extends Schema.TaggedError<McpUnavailable>()("McpUnavailable", {
  name: Schema.String,
  message: Schema.String
}) {}

/** What a server says of itself. */
export interface Probed {
  /** The name and version that it gives itself. */
  readonly server: string
  /** The revision of the protocol, such as `2026-07-28`. */
  readonly revision: string
  /** The tools that agents can use: their names there, and how agents call them. */
  readonly tools: ReadonlyArray<{ readonly name: string; readonly as: string }>
  /** Its prompts as commands, with the names of what they take. */
  readonly prompts: ReadonlyArray<string>
  /** What else it offers, such as `resources`. */
  readonly offers: ReadonlyArray<string>
  /** What is left out, and why. */
  readonly notes: ReadonlyArray<string>
  /** How long it took to reach it, and to list its tools, in milliseconds. */
  readonly connected: number
  readonly listed: number
}

/** What is tried. */
export interface Target {
  readonly name: string
  /** Where it runs, absolute. */
  readonly directory: string
  readonly config: McpServerConfig
  /** The names of all servers of the project: the names of tools depend on them. */
  readonly servers: ReadonlyArray<string>
}

/** How long it may take, in seconds: programs may have to be downloaded first. */
const longest = 120

/** How often to say that it still takes, in seconds. */
const beat = 10

/** How much of what a server writes to its standard error is kept, in characters. */
const lastWords = 2_000

/** A machine on which the last words that programs write to their standard error are known. */
const listening = (host: McpHost) => {
  let words = ""
  const launch: McpHost["launch"] = (options) =>
    Effect.tap(host.launch(options), ({ stderr }) =>
      Effect.sync(() =>
        stderr.on("data", (bytes: Buffer) => {
          words = `${words}${bytes.toString("utf8")}`.slice(-10 * lastWords)
        })
      ))
  const said = () => {
    const clean = cleanLine(host.redact(words).slice(-lastWords), lastWords)
    return clean === "" ? "" : `; it says: ${clean}`
  }
  return { host: { ...host, launch }, said }
}

/** Reaches a server, lists its tools, and leaves it. `say` hears now and then how long that takes already. */
export const probe = (
  machine: McpHost,
  target: Target,
  say: (line: string) => Effect.Effect<void> = () => Effect.void
): Effect.Effect<Probed, McpUnavailable> => {
  const { host, said } = listening(machine)
  const { name } = target
  return Effect.scoped(Effect.gen(function*() {
    let seconds = 0
    const still = Effect.suspend(() => {
      seconds += beat
      return say(`the MCP server ${name} has not answered yet, after ${seconds} of at most ${longest} s${said()}`)
    })
    yield* Effect.forkScoped(Effect.forever(Effect.zipRight(Effect.sleep(beat * 1_000), still)))
    const start = yield* MonotonicClock.now
    const { client, leftOut, prompts, tools } = yield* connect({ ...target, host })
    const connected = yield* MonotonicClock.now
    const found = readTools(yield* tools)
    const listed = yield* MonotonicClock.now
    const { name: title = "", version = "" } = client.getServerVersion() ?? {}
    const as = toolNames(name, found.tools.map(({ tool }) => tool.name), target.servers)
    // As in a session, a server whose prompts cannot be listed still has its tools.
    const listedPrompts = yield* Effect.either(prompts)
    const usable = Either.isRight(listedPrompts) ? readPrompts(listedPrompts.right) : []
    const fault = Either.isRight(listedPrompts) ? [] : [`its prompts cannot be listed: ${listedPrompts.left.message}`]
    return {
      server: cleanLine(`${title} ${version}`, 200),
      revision: client.getNegotiatedProtocolVersion() ?? "unknown",
      tools: found.tools.map(({ tool }, at) => ({ name: cleanLine(tool.name, 100), as: as[at]?.name ?? "" })),
      prompts: usable.map((each) => `/${commandName(name, each)} ${each.words}`.trim()),
      offers: Object.keys(client.getServerCapabilities() ?? {}).map((each) => cleanLine(each, 100)),
      notes: [...found.notes, ...leftOut("prompts/list"), ...fault],
      connected: connected - start,
      listed: listed - connected
    }
  })).pipe(
    Effect.timeoutFail({
      duration: longest * 1_000,
      onTimeout: () => new ServerFailed({ message: `it did not answer within ${longest} s${said()}` })
    }),
    Effect.mapError(({ message }) =>
      new McpUnavailable({ name: target.name, message: `The MCP server ${target.name} cannot be used: ${message}.` })
    )
  )
}
