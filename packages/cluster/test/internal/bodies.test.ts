import { expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { createServer, type IncomingMessage, request, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { text } from "node:stream/consumers"
import { peekBody, readBody } from "../../src/internal/requests.ts"

/** A server that looks at each body, and then reads it as if nobody had. Answers with both lengths and whether they agree. */
const server = Effect.acquireRelease(
  Effect.async<Server>((resume) => {
    const listening = createServer((incoming, response) => {
      void (async () => {
        const seen = await Effect.runPromise(peekBody(incoming, response, 1_000_000))
        if (seen === undefined) return
        const read = await text(incoming)
        response.end(JSON.stringify([seen.length, read.length, seen.toString() === read]))
      })()
    })
    listening.listen(0, "127.0.0.1", () => resume(Effect.succeed(listening)))
  }),
  (listening) => Effect.async<void>((resume) => void listening.close(() => resume(Effect.void)).closeAllConnections())
)

const answerOf = (incoming: IncomingMessage) => Effect.promise(() => text(incoming))

/** Sends the pieces one after the other, each once the one before is on its way. */
const send = (port: number, pieces: ReadonlyArray<string>, headers: Record<string, string | number>) =>
  Effect.flatMap(
    Effect.async<IncomingMessage>((resume) => {
      const outgoing = request({ port, host: "127.0.0.1", method: "POST", headers, agent: false })
      outgoing.on("response", (incoming) => resume(Effect.succeed(incoming)))
      const next = (index: number): void => {
        const piece = pieces[index]
        if (piece === undefined) return void outgoing.end()
        outgoing.write(piece, () => next(index + 1))
      }
      next(0)
    }),
    (incoming) => Effect.map(answerOf(incoming), (answer) => ({ status: incoming.statusCode, answer }))
  )

const bodies: Readonly<Record<string, ReadonlyArray<string>>> = {
  none: [],
  short: ["{\"text\":\"hello\"}"],
  "of several pieces": ["a", "b".repeat(70_000), "c", "d".repeat(200_000), "e"]
}

it.live.each(Object.keys(bodies))(
  "a body that was looked at is still there: %s",
  (name) =>
    Effect.scoped(Effect.gen(function*() {
      const { port } = (yield* server).address() as AddressInfo
      const pieces = bodies[name] ?? []
      const size = pieces.join("").length
      const { answer } = yield* send(port, pieces, { "content-length": size })
      expect(JSON.parse(answer)).toEqual([size, size, true])
    }))
)

it.live("a body that says to be too large is refused", () =>
  Effect.scoped(Effect.gen(function*() {
    const { port } = (yield* server).address() as AddressInfo
    const { answer, status } = yield* send(port, [], { "content-length": 1_000_001 })
    expect(status).toBe(413)
    expect(answer).toContain("larger than")
  })))

it.scopedLive("a body that is too large is refused before all of it has come, and ends the connection", () =>
  Effect.gen(function*() {
    const server = yield* Effect.acquireRelease(
      Effect.sync(() =>
        createServer((request, response) => {
          void Effect.runPromise(readBody(request, response, 8)).then((body) =>
            body !== undefined && response.end(body)
          )
        }).listen(0, "127.0.0.1")
      ),
      (server) => Effect.async<void>((resume) => void server.close(() => resume(Effect.void)))
    )
    yield* Effect.async<void>((resume) => void server.once("listening", () => resume(Effect.void)))
    const { port } = server.address() as AddressInfo
    const send = (body: string, ends: boolean) =>
      Effect.async<string>((resume) => {
        const sent = request({ port, method: "POST" }, (answer) => {
          let text = ""
          answer.setEncoding("utf8").on("data", (chunk: string) => text += chunk)
          answer.once("close", () => resume(Effect.succeed(`${answer.statusCode} ${text}`)))
        }).on("error", () => undefined)
        sent.write(body)
        if (ends) sent.end()
      })
    expect(yield* send("12345678", true)).toBe("200 12345678")
    expect(yield* send("123456789", false)).toMatch(/^413 .*BodyTooLarge/)
  }))
