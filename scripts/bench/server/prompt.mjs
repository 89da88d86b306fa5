// @ts-check
// How much later a client of the server gets the first event of its prompt than a program with the services in-process.
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import { Provider } from "@skein/core/Provider"
import { Session } from "@skein/core/Session"
import * as Skein from "@skein/core/Skein"
import { survey } from "@skein/offline/Survey"
import { Server } from "@skein/server/Server"
import * as Sqlite from "@skein/storage/Sqlite"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { mkdtempSync, rmSync } from "node:fs"
import { Agent, request } from "node:http"
import { connect } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { firstEvent } from "../firstEvent.mjs"
import { median } from "../median.mjs"

const token = "0".repeat(64)

/** @param {string} url @param {string} id */
const overHttp = (url, id) => {
  const { host, port } = new URL(url)
  const agent = new Agent({ keepAlive: true })
  /** @type {(piece: Buffer) => void} */
  let heard = () => undefined
  const socket = connect(Number(port), "127.0.0.1")
  socket.write(`GET /v1/sessions/${id}/events HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${token}\r\n\r\n`)
  const opened = new Promise((resolve) => socket.once("data", resolve))
  socket.on("data", (piece) => heard(piece))
  const body = JSON.stringify({ text: "Go" })
  const once = Effect.promise(async () => {
    await opened
    let first = 0
    const ended = new Promise((resolve) =>
      heard = (piece) => {
        first ||= performance.now()
        if (piece.includes("event: session.idle")) resolve(undefined)
      }
    )
    const began = performance.now()
    request({
      host: "127.0.0.1",
      port,
      agent,
      method: "POST",
      path: `/v1/sessions/${id}/prompt`,
      headers: {
        authorization: `Bearer ${token}`,
        "content-type": "application/json",
        "content-length": Buffer.byteLength(body)
      }
    }, (response) => response.resume()).end(body)
    await ended
    return first - began
  })
  return { once, close: () => (socket.destroy(), agent.destroy()) }
}

/** @param {number} rounds */
export const measurePrompt = (rounds) => {
  const directory = mkdtempSync(join(tmpdir(), "skein-bench-prompt-"))
  const services = Skein.layer({
    provider: Provider.layerModels([survey]),
    storage: Sqlite.layer({ filename: join(directory, "skein.db") })
  })
  const serving = Server.layer({
    hostname: "127.0.0.1",
    port: 0,
    token: Redacted.make(token),
    version: "0",
    resume: false,
    projectOf: Effect.succeed
  }).pipe(Layer.provideMerge(Layer.merge(services, NodeFileSystem.layer)))
  const measuring = Effect.gen(function*() {
    const session = yield* Session
    const { url } = yield* Server
    const create = session.create({ directory })
    const near = yield* create
    const far = yield* create
    const http = overHttp(url, far.id)
    /** @type {{ near: Array<number>, far: Array<number> }} */
    const took = { near: [], far: [] }
    for (let round = 0; round < rounds; round++) {
      took.near.push(yield* firstEvent(near.id))
      took.far.push(yield* http.once)
    }
    http.close()
    const within = median(took.near)
    const more = median(took.far) - within
    return [{
      name: "prompt to first event, more than in-process",
      value: `${more.toFixed(2)} ms`,
      target: `at most 5 ms more than ${within.toFixed(2)} ms`,
      met: more <= 5
    }]
  })
  return Effect.runPromise(Effect.ensuring(
    Effect.scoped(Effect.provide(measuring, serving)),
    Effect.sync(() => rmSync(directory, { recursive: true, force: true }))
  ))
}
