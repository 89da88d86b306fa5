/** Proves that a stream of events survives broken connections, and ends where trying again would not help. */
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import { expect, it } from "@effect/vitest"
import * as EventStream from "@skein/client/EventStream"
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Stream from "effect/Stream"
import type { IncomingMessage, ServerResponse } from "node:http"
import { served } from "./support/served.ts"

type Answer = (request: IncomingMessage, response: ServerResponse) => void

/** A server that answers its requests by these, in turn. */
const answering = (...answers: ReadonlyArray<Answer>) => {
  let count = 0
  const serving = served((request, response) => answers[Math.min(count++, answers.length - 1)]?.(request, response))
  return Effect.map(serving, ({ url }) => ({ url, token: Redacted.make("secret") }))
}

const message = (id: number) => `id: ${id}\nevent: session.idle\ndata: {"seq":${id}}\n\n`

const streaming =
  (text: string, end: (response: ServerResponse) => void = () => undefined): Answer => (_, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" })
    response.write(text, () => end(response))
  }

const ids = (got: Chunk.Chunk<EventStream.Streamed>) => Chunk.toReadonlyArray(got).map(({ id }) => id)

it.live("continues after the last event when the connection breaks, and after it was ended", () =>
  Effect.gen(function*() {
    const asked: Array<unknown> = []
    const noting = (answer: Answer): Answer => (request, response) => {
      asked.push([request.url, request.headers["last-event-id"], request.headers.authorization])
      answer(request, response)
    }
    const server = yield* answering(
      noting(streaming(`retry: 1000\n\n${message(4)}id: 5\nevent: session.i`, (response) => response.destroy())),
      noting((_, response) => response.writeHead(503).end()),
      noting(streaming(`event: heartbeat\ndata: {}\n\n${message(5)}`, (response) => response.end())),
      noting(streaming("id: 9\nevent: reset\ndata: {\"reason\":\"too_slow\"}\n\n"))
    )
    const got = yield* Stream.runCollect(
      Stream.take(EventStream.events({ ...server, session: "ses_a", from: "3" }), 3)
    )
    expect(ids(got)).toEqual(["4", "5", "9"])
    expect(Chunk.unsafeLast(got)).toEqual({ _tag: "Reset", id: "9", reason: "too_slow" })
    expect(asked).toEqual(
      ["3", "4", "4", "5"].map((last) => ["/v1/sessions/ses_a/events", last, "Bearer secret"])
    )
  }).pipe(Effect.scoped, Effect.provide(FetchHttpClient.layer)))

it.live("ends with what the server says if it refuses", () =>
  Effect.gen(function*() {
    const server = yield* answering((_, response) => response.writeHead(404).end("{\"detail\":\"none\"}"))
    const refused = yield* Effect.flip(Stream.runDrain(EventStream.events(server)))
    expect(refused).toMatchObject({ _tag: "StreamRefused", status: 404, message: "{\"detail\":\"none\"}" })
  }).pipe(Effect.scoped, Effect.provide(FetchHttpClient.layer)))

it.live("ends at a redirect, and sends the token nowhere else", () =>
  Effect.gen(function*() {
    let others = 0
    const elsewhere = yield* answering((_, response) => {
      others++
      response.writeHead(200).end()
    })
    const server = yield* answering((request, response) =>
      response.writeHead(307, { location: `${elsewhere.url}${request.url}` }).end()
    )
    const refused = yield* Effect.flip(Stream.runDrain(EventStream.events(server)))
    expect(refused).toMatchObject({ _tag: "StreamRefused", status: 307 })
    expect(refused.message).toContain(`a redirect (307) to "${elsewhere.url}/v1/events", which Skein does not follow`)
    expect(others).toBe(0)
  }).pipe(Effect.scoped, Effect.provide(FetchHttpClient.layer)))

it.live("tells at each heartbeat whether the storage of the server is away", () =>
  Effect.gen(function*() {
    const beat = (data: string) => `event: heartbeat\ndata: ${data}\n\n`
    const server = yield* answering(
      streaming(`${beat("{}")}${beat("{\"storage\":\"away\",\"since\":1}")}${beat("{}")}${message(1)}`)
    )
    const heard: Array<boolean> = []
    yield* EventStream.events({ ...server, onHeartbeat: (isAway) => Effect.sync(() => heard.push(isAway)) }).pipe(
      Stream.take(1),
      Stream.runDrain
    )
    expect(heard).toEqual([false, true, false])
  }).pipe(Effect.scoped, Effect.provide(FetchHttpClient.layer)))
