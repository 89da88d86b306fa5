import type { LanguageModel, ModelError, ModelEvent, ModelRequest } from "@skein/core/Provider"
import { SessionID } from "@skein/domain/Id"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Runtime from "effect/Runtime"
import * as http from "node:http"
import type { AddressInfo } from "node:net"

/** Answers the request with this number, counted from 0. */
export type Script = (response: http.ServerResponse, number: number, seen: {
  readonly url: string
  readonly headers: http.IncomingHttpHeaders
  readonly body: string
}) => void

/** What every API refuses: a text or a result that shows nothing, in any of their formats. */
const blankIn = (body: string): string | undefined => {
  let fault: string | undefined
  if (body !== "") {
    JSON.parse(body, (key, value: unknown) => {
      if (/^(?:text|content|output)$/.test(key) && typeof value === "string" && value.trim() === "") {
        fault = `${key}: text content blocks must contain non-whitespace text`
      }
      return value
    })
  }
  return fault
}

/** A server on the loopback address that follows a script; it ends with the scope. */
export const serve = (script: Script) =>
  Effect.acquireRelease(
    Effect.gen(function*() {
      const seen: Array<Parameters<Script>[2]> = []
      const closed = yield* Deferred.make<void>()
      const run = Runtime.runFork(yield* Effect.runtime())
      const server = http.createServer((request, response) => {
        const chunks: Array<Buffer> = []
        request.on("data", (chunk: Buffer) => chunks.push(chunk))
        response.on("close", () => {
          if (!response.writableFinished) run(Deferred.succeed(closed, undefined))
        })
        request.on("end", () => {
          const one = { url: request.url ?? "", headers: request.headers, body: Buffer.concat(chunks).toString() }
          seen.push(one)
          const fault = blankIn(one.body)
          if (fault !== undefined) return json(response, 400, { error: { message: fault } })
          script(response, seen.length - 1, one)
        })
      })
      yield* Effect.async<void>((resume) => {
        server.listen(0, "127.0.0.1", () => resume(Effect.void))
      })
      const { port } = server.address() as AddressInfo
      return {
        server,
        seen,
        /** Done when a client disconnected before its answer was complete. */
        closed: Deferred.await(closed),
        host: `127.0.0.1:${port}`,
        url: `http://127.0.0.1:${port}/v1`
      }
    }),
    ({ server }) =>
      Effect.async<void>((resume) => {
        server.close(() => resume(Effect.void))
        server.closeAllConnections()
      })
  )

/** Answers with server-sent events; values other than strings become JSON frames. */
export const sse = (response: http.ServerResponse, ...frames: ReadonlyArray<unknown>): http.ServerResponse => {
  if (!response.headersSent) response.writeHead(200, { "content-type": "text/event-stream" })
  for (const frame of frames) {
    response.write(typeof frame === "string" ? frame : `data: ${JSON.stringify(frame)}\n\n`)
  }
  return response
}

/** Answers with one JSON document. */
export const json = (
  response: http.ServerResponse,
  status: number,
  body: unknown,
  headers: http.OutgoingHttpHeaders = {}
): void => {
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body))
}

const id = SessionID.make("ses_00000000000000000000000000")

/** A request of a build agent. */
export const request = (overrides: Partial<ModelRequest> = {}): ModelRequest => ({
  messages: [{ role: "user", content: [{ type: "text", text: "hello" }] }],
  tools: [{ name: "bash", description: "Runs a command", inputSchema: { type: "object", properties: {} } }],
  toolChoice: "auto",
  origin: { sessionID: id, rootID: id, path: ["build"], step: 0, directory: "/w", purpose: "turn" },
  ...overrides
})

/** The events of a model, and its error if it failed. */
export interface Asked {
  readonly events: ReadonlyArray<ModelEvent>
  readonly error: ModelError | undefined
}

/** Asks a model once. */
export const ask = (model: LanguageModel, overrides: Partial<ModelRequest> = {}): Effect.Effect<Asked> =>
  Effect.suspend(() => {
    const events: Array<ModelEvent> = []
    return Effect.map(
      Effect.either(model.stream(request(overrides), (event) => events.push(event))),
      (end) => ({ events, error: Either.isLeft(end) ? end.left : undefined })
    )
  })

/** All text of an answer. */
export const textOf = ({ events }: Asked): string =>
  events.flatMap((event) => event.type === "text-delta" ? [event.delta] : []).join("")

/** The calls of an answer. */
export const callsOf = ({ events }: Asked) => events.filter((event) => event.type === "tool-call")

/** The end of an answer. */
export const finishOf = ({ events }: Asked) => events.find((event) => event.type === "finish")
