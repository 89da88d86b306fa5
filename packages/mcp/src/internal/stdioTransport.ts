/** Speaks MCP with a server over its standard streams. What nobody asks for stays in the pipe, so that the server waits. */
import {
  type JSONRPCMessage,
  parseJSONRPCMessage,
  serializeMessage,
  type Transport
} from "@modelcontextprotocol/client"
import { pieces } from "@skein/core/Fibers"
import * as MonotonicClock from "@skein/core/MonotonicClock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import { StringDecoder } from "node:string_decoder"
import type { Launched, McpHost } from "../McpHost.ts"
import { cleanLine, cleanText } from "./content.ts"
import { longestFrame, makeFrames } from "./frames.ts"

/** What the error in its place says. */
export const unintelligible = "its answer is no answer of JSON-RPC"

/** How much a server may send in the time of a window; it then waits, and nobody else. */
const window = { millis: 50, messages: 1_000, bytes: 4 * 1024 * 1024 } as const

/** How many bytes wait for a server that does not read. */
const mostUnsent = 16 * 1024 * 1024

/** How much of what a server writes to its standard error is kept, in characters. */
const lastWords = 2_000

/** A transport, and how it ended. */
interface StdioTransport {
  readonly transport: Transport
  /** Ends when the server has closed its output, and says why. */
  readonly ended: Effect.Effect<string>
  /** Why it has ended, before that is reported. */
  readonly whyEnded: () => string | undefined
  /** Whether it was the client that closed it. */
  readonly isClosed: () => boolean
}

/** What the SDK recognises a transport of this kind by: it then takes a server that does not know a method for an old one. */
interface StdioShaped extends Transport {
  readonly pid: null
  readonly stderr: null
}

/** How much more is kept, so that no secret is shown that lost its beginning. */
const more = 16_000

const endOfWords = (stream: Launched["stderr"], redact: McpHost["redact"]): () => string => {
  const decoder = new StringDecoder("utf8")
  let words = ""
  stream.on("data", (bytes: Buffer) => {
    words = `${words}${decoder.write(bytes)}`.slice(-lastWords - more)
  })
  return () => cleanLine(redact(cleanText(words)).slice(-lastWords), lastWords)
}

/** What a client acts on that it did not ask for. */
const heard = /^notifications\/(?:progress$|cancelled$|tools\/|prompts\/|resources\/|subscriptions|elicitation)/

/** Whether nobody listens for a notification: a server may send many, such as its logs. */
const isUnheard = (message: unknown): boolean => {
  if (typeof message !== "object" || message === null || "id" in message) return false
  return "method" in message && typeof message.method === "string" && !heard.test(message.method)
}

/** The error in place of an answer that no client understands: its call then fails at once. */
const misfit = (json: unknown): JSONRPCMessage | undefined => {
  if (typeof json !== "object" || json === null || !("id" in json) || "method" in json) return undefined
  const { id } = json
  if (typeof id !== "string" && typeof id !== "number") return undefined
  return { jsonrpc: "2.0", id, error: { code: -32_603, message: unintelligible } }
}

const messageOf = (line: string): JSONRPCMessage | undefined => {
  const json: unknown = JSON.parse(line)
  if (isUnheard(json)) return undefined
  return Either.getOrElse(Either.try(() => parseJSONRPCMessage(json)), (error) => {
    const known = misfit(json)
    if (known === undefined) throw error
    return known
  })
}

/** Reads a server's messages until it ends, and lets no server that sends without end keep everybody else waiting. */
const readAll = Effect.fnUntraced(function*(launched: Launched, take: (line: string) => void) {
  const frames = makeFrames()
  const next = pieces(launched.stdout)
  let since = yield* MonotonicClock.now
  let messages = 0
  let bytes = 0
  for (;;) {
    const piece = yield* next
    if (Option.isNone(piece)) return undefined
    const lines = frames.push(piece.value)
    if (lines.includes(undefined)) return `it sent a message of more than ${longestFrame / 1024 / 1024} MB`
    bytes += piece.value.length
    for (const line of lines) {
      take(line ?? "")
      messages++
      if (messages < window.messages && bytes < window.bytes) continue
      const spent = (yield* MonotonicClock.now) - since
      if (spent < window.millis) yield* Effect.sleep(window.millis - spent)
      since = yield* MonotonicClock.now
      messages = 0
      bytes = 0
    }
  }
})

/** How long to wait for the end of a server that reads no more: it says more than a broken pipe. */
const patience = "1 second"

const sendTo = (
  { stdin }: Launched,
  isOver: () => boolean,
  ended: Deferred.Deferred<string>
): Transport["send"] =>
(message) =>
  new Promise((resolve, reject) => {
    if (isOver()) reject(new Error("the server has ended"))
    else if (stdin.writableLength > mostUnsent) reject(new Error("the server is not reading its input"))
    else {
      stdin.write(serializeMessage(message), (error) => {
        if (!error) return resolve()
        const why = Effect.timeoutTo(Deferred.await(ended), {
          duration: patience,
          onSuccess: (end) => new Error(end),
          onTimeout: () => error
        })
        Effect.runCallback(why, { onExit: (exit) => reject(Exit.getOrElse(exit, () => error)) })
      })
    }
  })

/** Makes the transport of a program that runs. */
export const makeStdioTransport = (
  launched: Launched,
  { redact }: Pick<McpHost, "redact">
): Effect.Effect<StdioTransport, never, Scope.Scope> =>
  Effect.gen(function*() {
    const ended = yield* Deferred.make<string>()
    const words = endOfWords(launched.stderr, redact)
    let whyEnded: string | undefined
    let isClosed = false
    const finish = (how: string) =>
      Effect.suspend(() => {
        if (whyEnded !== undefined) return Effect.void
        const said = words()
        whyEnded = said === "" ? how : `${how}; its last words: ${said}`
        return Effect.zipRight(Deferred.succeed(ended, whyEnded), Effect.sync(() => transport.onclose?.()))
      })
    const transport: StdioShaped = {
      pid: null,
      stderr: null,
      start: () => Promise.resolve(),
      send: sendTo(launched, () => whyEnded !== undefined, ended),
      // The program ends with the scope.
      close: () => {
        isClosed = whyEnded === undefined
        return Effect.runPromise(finish("it was closed"))
      }
    }
    const take = (line: string): void => {
      // Servers write logs where they must not; such a line is no message, and costs nothing.
      if (whyEnded !== undefined || !line.startsWith("{")) return
      const message = Either.try(() => messageOf(line))
      if (Either.isLeft(message)) transport.onerror?.(new Error("a message that is not JSON-RPC"))
      else if (message.right !== undefined) transport.onmessage?.(message.right)
    }
    yield* readAll(launched, take).pipe(
      Effect.flatMap((fault) =>
        fault === undefined ? Effect.flatMap(launched.ended, (how) => finish(`it ended with ${how}`)) : finish(fault)
      ),
      Effect.forkScoped
    )
    return { transport, ended: Deferred.await(ended), whyEnded: () => whyEnded, isClosed: () => isClosed }
  })
