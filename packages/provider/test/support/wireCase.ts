/** Shared parts of the wire tests: the format of an API, and a request to a scripted server. */
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import type { Scope } from "effect/Scope"
import type { ServerResponse } from "node:http"
import type { Vendor } from "../../src/Vendor.ts"
import { ask, type Script, serve, sse } from "./Server.ts"

/** The key of all tests. */
export const secret = "sk-test-SECRET"

/** The wire format of an API; a frame is the text after `data:`. */
export interface Wire {
  readonly path: string
  readonly vendor: (baseUrl: string, apiKey: Redacted.Redacted) => Effect.Effect<Vendor, never, Scope>
  /** The header that holds the key, and what stands before it. */
  readonly keyHeader: readonly [name: string, prefix: string]
  /** The field that caps an answer, and what it holds where nobody asked for a cap. */
  readonly outputCap: string
  readonly usualCap?: number
  /** Calls come whole, with arguments that are an object, so nothing of this API can be cut in a call. */
  readonly wholeCalls?: boolean
  /** The version is added to a base URL without one. */
  readonly addsVersion?: boolean
  /** Error events of its own, with what they mean. */
  readonly errors?: ReadonlyArray<readonly [error: object, reason: string, retryable: boolean]>
  /** What a request holds. */
  readonly request: {
    readonly fixed: object
    /** A call of an earlier step, and one whose arguments were never an object. */
    readonly goodCall: string
    readonly badCall: string
  }
  readonly begin: ReadonlyArray<unknown>
  readonly text: (...deltas: ReadonlyArray<string>) => ReadonlyArray<unknown>
  /** The beginning of a call: its arguments so far. */
  readonly callBegin: (id: string, name: string, argumentsSoFar: string, index?: number) => ReadonlyArray<unknown>
  readonly callEnd: (id: string, name: string, all: string, index?: number) => ReadonlyArray<unknown>
  readonly finish: (reason: "stop" | "length" | "tool_calls", usage?: unknown) => ReadonlyArray<unknown>
  /** Counts in the API's own names. */
  readonly usage: (input: unknown, output: unknown, cached?: unknown, reasoning?: unknown) => unknown
}

/** A whole call. */
export const call = (wire: Wire, id: string, name: string, args: string, index = 0) => [
  ...wire.callBegin(id, name, args, index),
  ...wire.callEnd(id, name, args, index)
]

/** Ends an answer with these frames. */
export const end = (response: ServerResponse, ...frames: ReadonlyArray<unknown>) =>
  sse(response, ...frames, "data: [DONE]\n\n").end()

/** The model of a server at this address. */
export const modelAt = (wire: Wire, url: string) =>
  Effect.flatMap(wire.vendor(url, Redacted.make(secret)), (vendor) => vendor.model("m"))

/** The result of one request, whatever the server does. */
export const answered = (wire: Wire) => (script: Script, overrides = {}) =>
  Effect.gen(function*() {
    const server = yield* serve(script)
    const asked = yield* ask(yield* modelAt(wire, server.url), overrides)
    return { ...asked, asked, server }
  })

/** Counts of an answer. */
export const usual = (wire: Wire) => wire.usage(120, 30, 20, 10)
