/** Proves that connections which send slowly, or nothing, are closed. */
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import type * as FileSystem from "@effect/platform/FileSystem"
import { describe, expect, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Logger from "effect/Logger"
import * as Runtime from "effect/Runtime"
import * as Stream from "effect/Stream"
import { connect } from "node:net"
import { listen } from "../../src/internal/http/listen.ts"
import { readBody, receive } from "../../src/internal/readBody.ts"

/** Sends this and no more, and gives what comes back until the connection is closed. */
const sending = (port: number, text: string) =>
  Effect.async<string>((resume) => {
    const socket = connect(port, "127.0.0.1")
    let answer = ""
    socket.setEncoding("utf8").on("data", (piece: string) => answer += piece)
    socket.on("error", () => undefined)
    socket.on("close", () => resume(Effect.succeed(answer)))
    socket.write(text)
    return Effect.sync(() => socket.destroy())
  })

const slow = Effect.gen(function*() {
  const listening = yield* listen("127.0.0.1", 0, { headers: 50, request: 100 })
  const context = yield* Effect.runtime<never>()
  listening.answer(() => undefined, (request) => {
    // What the body says does not matter: it never ends.
    void Effect.runPromiseExit(Effect.provide(readBody(request), context.context))
  }, (_, socket) => void socket.destroy())
  return listening.port
})

describe("a connection that sends slowly", () => {
  it.live("is closed when it does not come to the end of its headers, or of its body", () =>
    Effect.gen(function*() {
      const port = yield* slow
      const answers = yield* Effect.all([
        sending(port, "GET / HTTP/1.1\r\nHost: x\r\nX-A"),
        sending(port, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{")
      ], { concurrency: "unbounded" })
      for (const answer of answers) {
        expect(answer).toMatch(/^HTTP\/1\.1 408 [^]*application\/problem\+json[^]*"status":408/)
      }
    }).pipe(Effect.scoped))
})

it.live("an archive may come slower than other bodies", () =>
  Effect.gen(function*() {
    const listening = yield* listen("127.0.0.1", 0, { headers: 50, request: 100 })
    const runtime = yield* Effect.runtime<FileSystem.FileSystem>()
    listening.answer(
      () => undefined,
      (request, response) => {
        const size = Effect.scoped(
          Effect.flatMap(receive(request), Stream.runFold(0, (sum: number, bytes: Uint8Array) => sum + bytes.length))
        )
        const answered = Effect.map(size, (read) => void response.end(`read ${read}`))
        void Runtime.runPromiseExit(runtime)(answered)
      },
      (_, socket) => void socket.destroy()
    )
    const { port } = listening
    const archive = connect(port, "127.0.0.1").setEncoding("utf8")
    const answer = Effect.async<string>((resume) =>
      void archive.once("data", (piece: string) => resume(Effect.succeed(piece)))
    )
    const head = "HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{"
    archive.write(`POST /v1/sessions/import ${head}`)
    const answered = yield* Effect.fork(answer)
    // By the time this one is refused, the archive is late, too.
    expect(yield* sending(port, `POST / ${head}`)).toMatch(/^HTTP\/1\.1 408/)
    archive.write("12345678")
    expect(yield* Fiber.join(answered)).toMatch(/^HTTP\/1\.1 200 [^]*read 9$/)
    archive.destroy()
  }).pipe(Effect.scoped, Effect.provide(NodeFileSystem.layer)))

it.live("says how to fix an address that cannot be listened on", () =>
  Effect.gen(function*() {
    const { port } = yield* listen("127.0.0.1", 0)
    expect(yield* Effect.flip(listen("127.0.0.1", port))).toMatchObject({
      _tag: "ListenFailed",
      code: "EADDRINUSE",
      message: expect.stringContaining("--port")
    })
    expect((yield* Effect.flip(listen("192.0.2.1", 0))).message).toContain("--hostname")
  }).pipe(Effect.scoped))

it.live("tells who waits for an answer to ask again when the server stops", () =>
  Effect.gen(function*() {
    const listening = yield* listen("127.0.0.1", 0)
    const arrived = yield* Deferred.make<void>()
    listening.answer(
      () => undefined,
      () => Deferred.unsafeDone(arrived, Exit.void),
      (_, socket) => void socket.destroy()
    )
    const request = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"
    const waiting = yield* Effect.fork(sending(listening.port, request))
    yield* Deferred.await(arrived)
    yield* listening.leave
    const answer = yield* Fiber.join(waiting)
    expect(answer).toMatch(/^HTTP\/1\.1 503 [^]*Retry-After: 1\r\n[^]*urn:skein:ServerLeaving[^]*"reason":"cut"/)
  }).pipe(Effect.scoped))

it.live("answers with 500 what its handler throws at, logs why, and lives", () => {
  const logged: Array<string> = []
  return Effect.gen(function*() {
    const listening = yield* listen("127.0.0.1", 0)
    let count = 0
    listening.answer(
      () => undefined,
      (_, response) => {
        if (++count === 1) throw new Error("a fault")
        response.writeHead(200).end("well")
      },
      () => {
        throw new Error("a fault of an upgrade")
      }
    )
    const headers = "Host: x\r\nConnection: close\r\n"
    const answer = yield* sending(listening.port, `GET / HTTP/1.1\r\n${headers}\r\n`)
    expect(answer).toMatch(/^HTTP\/1\.1 500 [^]*urn:skein:InternalError/)
    expect(answer).not.toContain("a fault")
    const upgraded = "GET / HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n"
    expect(yield* sending(listening.port, upgraded)).toMatch(/^HTTP\/1\.1 500 /)
    expect(yield* sending(listening.port, `GET / HTTP/1.1\r\n${headers}\r\n`)).toMatch(/^HTTP\/1\.1 200 [^]*well/)
    expect(logged).toEqual([
      expect.stringMatching(/A request failed.*Error: a fault\n/),
      expect.stringMatching(/A request failed.*Error: a fault of an upgrade\n/)
    ])
  }).pipe(
    Effect.scoped,
    Effect.provide(Logger.replace(
      Logger.defaultLogger,
      Logger.map(Logger.logfmtLogger, (line) => void logged.push(line.replaceAll("\\n", "\n")))
    ))
  )
})
