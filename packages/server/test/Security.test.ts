/** Proves what the server refuses: foreign hosts and origins, strangers, what is no JSON, and what never ends. */
import { describe, expect, it } from "@effect/vitest"
import { document } from "@skein/api/Api"
import { Server } from "@skein/server/Server"
import type { ClusterPort } from "@skein/server/ServerOptions"
import * as Effect from "effect/Effect"
import * as Tracer from "effect/Tracer"
import { createHmac } from "node:crypto"
import { connect } from "node:net"
import { client, post, raw, send, serving, token } from "./support/server.ts"

const provide = Effect.provide(serving({ "*": ["ok"] }))
const bearer = `Authorization: Bearer ${token}\r\n`

const portOf = Effect.map(Server, ({ url }) => new URL(url).port)

/** A request as bytes, to which the server is asked to close the connection. */
const request = (line: string, headers: string, body = "") => `${line}\r\n${headers}Connection: close\r\n\r\n${body}`

const statusOf = (answer: string) => Number(answer.split(" ", 2)[1])

const problemOf = (answer: string) => {
  expect(answer).toMatch(/content-type: application\/problem\+json/i)
  expect(answer).not.toMatch(/\bat .*\.ts:/)
  return JSON.parse(answer.slice(answer.indexOf("\r\n\r\n") + 4)) as { readonly status: number; readonly type: string }
}

describe("a request", () => {
  it.live("for another host is refused, whatever token it has", () =>
    Effect.gen(function*() {
      const port = yield* portOf
      const hosts = [
        "evil.test",
        `evil.test:${port}`,
        `127.0.0.1.evil.test:${port}`,
        `localhost.:${port}`,
        "127.0.0.1:1",
        "127.0.0.1"
      ]
      for (const host of hosts) {
        const answer = yield* raw(request("GET /v1/sessions HTTP/1.1", `Host: ${host}\r\n${bearer}`))
        expect(problemOf(answer), host).toMatchObject({ status: 403, type: "urn:skein:ForeignHost" })
      }
      expect(statusOf(yield* raw(request("GET /healthz HTTP/1.1", "")))).toBe(403)
      for (const host of [`127.0.0.1:${port}`, `localhost:${port}`, `LOCALHOST:${port}`, `[::1]:${port}`]) {
        expect(statusOf(yield* raw(request("GET /v1/sessions HTTP/1.1", `Host: ${host}\r\n${bearer}`))), host).toBe(200)
      }
    }).pipe(provide))

  it.live("of a page of another origin is refused, and told of no other origin", () =>
    Effect.gen(function*() {
      const port = yield* portOf
      const host = `Host: 127.0.0.1:${port}\r\n`
      const foreign = [
        "https://evil.test",
        "http://localhost:3000",
        `http://localhost:${port}.evil.test`,
        `http://localhost:${port}`,
        `https://127.0.0.1:${port}`,
        "null"
      ]
      for (const origin of foreign) {
        const answer = yield* raw(request("GET /v1/sessions HTTP/1.1", `${host}${bearer}Origin: ${origin}\r\n`))
        expect(problemOf(answer), origin).toMatchObject({ status: 403, type: "urn:skein:ForeignOrigin" })
        expect(answer).not.toMatch(/access-control-allow/i)
      }
      const image = yield* raw(request("GET /healthz HTTP/1.1", `${host}Sec-Fetch-Site: cross-site\r\n`))
      expect(statusOf(image)).toBe(403)
      const own = `${host}${bearer}Origin: http://127.0.0.1:${port}\r\nSec-Fetch-Site: same-origin\r\n`
      expect(statusOf(yield* raw(request("GET /v1/sessions HTTP/1.1", own)))).toBe(200)
    }).pipe(provide))

  it.live("without the token is refused on every route that the document does not call public", () =>
    Effect.gen(function*() {
      const wrong = ["", "Bearer", `Bearer ${token}0`, `Bearer ${token.slice(1)}`, `Basic ${token}`, token]
      for (const authorization of wrong) {
        const { headers, json, status } = yield* send("/v1/sessions", { headers: { authorization } })
        expect(status, authorization).toBe(401)
        expect(headers.get("www-authenticate")).toBe("Bearer")
        expect(json()).toMatchObject({ status: 401, type: "urn:skein:Unauthenticated" })
      }
      const paths = Object.entries(document().paths)
      for (const [path, operations] of paths) {
        for (const [method, { security }] of Object.entries(operations)) {
          if (security.length === 0) continue
          const answer = yield* send(path.replaceAll(/\{\w+\}/g, "x"), {
            method: method.toUpperCase(),
            headers: { authorization: "" }
          })
          expect(answer.status, `${method} ${path}`).toBe(401)
        }
      }
      for (const path of ["/openapi.json", "/", "/nothing", "/v1/events", "/v1/sessions/x/events"]) {
        expect((yield* send(path, { headers: { authorization: "" } })).status, path).toBe(401)
      }
      const health = yield* send("/healthz", { headers: { authorization: "" } })
      expect([health.status, health.text]).toEqual([200, `{"status":"ok"}`])
    }).pipe(provide))

  it.live("that is not JSON is refused: a browser can send such a request without asking first", () =>
    Effect.gen(function*() {
      const api = yield* client
      const { id } = yield* api.sessions.create({ headers: {}, payload: { directory: process.cwd() } })
      const body = JSON.stringify({ text: "Go" })
      const types = [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/json; charset=utf-16",
        "text/json",
        "application/jsonp"
      ]
      for (const type of types) {
        const answer = yield* post(`/v1/sessions/${id}/prompt`, body, { "content-type": type })
        expect(answer.status, type).toBe(415)
      }
      const packed = yield* post(`/v1/sessions/${id}/prompt`, body, { "content-encoding": "gzip" })
      expect(packed.status).toBe(415)
      for (const type of ["application/json", "Application/JSON; charset=UTF-8"]) {
        expect((yield* post(`/v1/sessions/${id}/prompt`, body, { "content-type": type })).status, type).toBe(202)
      }
    }).pipe(provide))

  it.live("with a method that a route does not have changes nothing", () =>
    Effect.gen(function*() {
      const api = yield* client
      const { id } = yield* api.sessions.create({ headers: {}, payload: { directory: process.cwd() } })
      for (
        const path of [
          `/v1/sessions/${id}/prompt`,
          `/v1/sessions/${id}/interrupt`,
          "/v1/shutdown",
          "/v1/asks/per_x/reply"
        ]
      ) {
        const { json, status } = yield* send(path)
        expect([status, json()["status"]], path).toEqual([405, 405])
      }
      expect((yield* send("/v1/sessions", { method: "DELETE" })).status).toBe(405)
      expect((yield* send("/v1/nothing")).json()).toMatchObject({ status: 404, type: "urn:skein:RouteNotFound" })
    }).pipe(provide))

  it.live("for what is not there, or is none of ours, is not found", () =>
    Effect.gen(function*() {
      const ids = ["ses_missing", "msg_01", "%2e%2e%2fx", "..%5cx", "x%00", "ses_" + "a".repeat(2_000), "%F0%9F%90%A6"]
      for (const id of ids) {
        expect((yield* send(`/v1/sessions/${id}`)).status, id).toBe(404)
        expect((yield* send(`/v1/sessions/${id}/events`)).status, id).toBe(404)
        expect((yield* send(`/v1/tasks/${id}`)).status, id).toBe(404)
        expect((yield* post(`/v1/sessions/${id}/prompt`, { text: "Go" })).status, id).toBe(404)
        expect((yield* post(`/v1/tasks/${id}/stop`, {})).status, id).toBe(404)
        expect((yield* send(`/v1/permissions/${id}?projectID=x`, { method: "DELETE" })).status, id).toBe(404)
      }
      const api = yield* client
      const { id } = yield* api.sessions.create({ headers: {}, payload: { directory: process.cwd() } })
      // A session at the root is no task.
      for (const action of ["stop", "promote"]) expect((yield* post(`/v1/tasks/${id}/${action}`, {})).status).toBe(404)
      for (const path of ["/v1/%", "/v1/sessions/%E0%A4%A", "//v1/sessions", "/v1/sessions/../asks/", "/v1/./x"]) {
        const port = yield* portOf
        const answer = yield* raw(request(`GET ${path} HTTP/1.1`, `Host: 127.0.0.1:${port}\r\n${bearer}`))
        expect([400, 404], path).toContain(problemOf(answer).status)
      }
    }).pipe(provide))
})

describe("a body", () => {
  it.live("of the wrong form gets a problem that says where, and never a stack", () =>
    Effect.gen(function*() {
      const api = yield* client
      const { id } = yield* api.sessions.create({ headers: {}, payload: { directory: process.cwd() } })
      const bodies: ReadonlyArray<readonly [path: string, body: unknown, status: number]> = [
        ["/v1/sessions", "", 400],
        ["/v1/sessions", "{", 400],
        ["/v1/sessions", "null", 400],
        ["/v1/sessions", [], 400],
        ["/v1/sessions", { directory: 5 }, 400],
        ["/v1/sessions", { directory: "/", titel: "T" }, 400],
        ["/v1/sessions", { directory: "relative" }, 422],
        ["/v1/sessions", { directory: "/no/such/place" }, 422],
        ["/v1/sessions", { directory: "/\u0000" }, 422],
        ["/v1/sessions", { directory: process.cwd(), agent: "nobody" }, 422],
        [`/v1/sessions/${id}/prompt`, {}, 400],
        [`/v1/sessions/${id}/prompt`, { text: " " }, 400],
        [`/v1/sessions/${id}/prompt`, { text: 5 }, 400],
        [`/v1/sessions/${id}/prompt`, { parts: [] }, 400],
        [`/v1/sessions/${id}/prompt`, { parts: [{ type: "tool" }] }, 400],
        [`/v1/sessions/${id}/prompt`, { text: "Go", agent: "nobody" }, 422],
        [`/v1/sessions/${id}/prompt?wait=maybe`, { text: "Go" }, 400],
        [`/v1/sessions/${id}/fork`, { messageID: "nonsense" }, 400],
        [`/v1/sessions/${id}/fork`, { messageID: "msg_missing" }, 404],
        ["/v1/asks/per_x/reply", { answer: "maybe" }, 400],
        ["/v1/handshake", { nonce: "short" }, 400],
        ["/v1/login", { code: 5 }, 400],
        ["/v1/login", { code: "guess" }, 401]
      ]
      for (const [path, body, status] of bodies) {
        const answer = yield* post(path, body)
        const name = `${path} ${JSON.stringify(body)}`
        expect(answer.status, name).toBe(status)
        expect(answer.headers.get("content-type"), name).toBe("application/problem+json")
        expect(answer.json(), name).toMatchObject({ status, detail: expect.stringMatching(/./) })
        expect(answer.text, name).not.toMatch(/\.ts\b|node_modules/)
      }
      expect((yield* post("/v1/sessions", { directory: 5 })).json()["detail"]).toMatch(/directory/)
      const keys = ["a b", "k".repeat(256)]
      for (const key of keys) {
        const answer = yield* post(`/v1/sessions/${id}/prompt`, { text: "Go" }, { "idempotency-key": key })
        expect(answer.status, key).toBe(400)
      }
    }).pipe(provide))

  it.live("that is too large, too deep or not UTF-8 is refused", () =>
    Effect.gen(function*() {
      const port = yield* portOf
      const host = `Host: 127.0.0.1:${port}\r\n${bearer}Content-Type: application/json\r\n`
      const line = "POST /v1/sessions HTTP/1.1"
      const announced = yield* raw(request(line, `${host}Content-Length: 104857600\r\n`))
      expect(problemOf(announced)).toMatchObject({ status: 413 })
      const piece = `${(1024 * 1024).toString(16)}\r\n${"x".repeat(1024 * 1024)}\r\n`
      const chunked = yield* raw(request(line, `${host}Transfer-Encoding: chunked\r\n`), ...Array(10).fill(piece))
      expect(problemOf(chunked)).toMatchObject({ status: 413 })
      expect((yield* post("/v1/sessions", "[".repeat(100_000))).status).toBe(400)
      const bytes = Buffer.from([0x22, 0xff, 0x22])
      const broken = yield* raw(request(line, `${host}Content-Length: 3\r\n`), bytes)
      expect(problemOf(broken)).toMatchObject({ status: 400 })
    }).pipe(provide))
})

describe("a request without a token", () => {
  it.live.each(["/v1/handshake", "/v1/login", "/healthz", "/readyz?x=1"])(
    "to %s may bring a few KB, and no more of it is read",
    (path) =>
      Effect.gen(function*() {
        const host = `Host: 127.0.0.1:${yield* portOf}\r\nContent-Type: application/json\r\n`
        const line = `POST ${path} HTTP/1.1`
        const small = yield* raw(request(line, `${host}Content-Length: 4096\r\n`, " ".repeat(4096)))
        expect(statusOf(small)).not.toBe(413)
        const announced = yield* raw(request(line, `${host}Content-Length: 4097\r\n`))
        expect(problemOf(announced)).toMatchObject({ status: 413, detail: expect.stringContaining("4 KB") })
        // Its end never comes.
        const chunked = yield* raw(
          request(line, `${host}Transfer-Encoding: chunked\r\n`),
          `${(1024 * 1024).toString(16)}\r\n${"x".repeat(8 * 1024)}`
        )
        expect(problemOf(chunked)).toMatchObject({ status: 413 })
      }).pipe(provide)
  )
})

describe("a connection", () => {
  it.live("with headers that are too large, or with no HTTP at all, gets a problem and is closed", () =>
    Effect.gen(function*() {
      const port = yield* portOf
      const many = Array.from({ length: 100_000 }, (_, index) => `X-${index}: y\r\n`).join("")
      expect(problemOf(yield* raw(request("GET / HTTP/1.1", `Host: 127.0.0.1:${port}\r\n${many}`)))).toMatchObject({
        status: 431
      })
      expect(problemOf(yield* raw("nonsense\r\n\r\n"))).toMatchObject({ status: 400 })
    }).pipe(provide))

  it.live("of HTTP/1.0 is answered and closed, and requests that do not wait for answers get them in order", () =>
    Effect.gen(function*() {
      const port = yield* portOf
      const host = `Host: 127.0.0.1:${port}\r\n`
      const old = yield* raw(`GET /healthz HTTP/1.0\r\n${host}\r\n`)
      expect(old).toMatch(/^HTTP\/1\.1 200[^]*\{"status":"ok"\}$/)
      const line = (path: string) => `GET ${path} HTTP/1.1\r\n${host}${bearer}\r\n`
      const answers = yield* raw(line("/healthz"), line("/v1/nothing"), request("GET /v1/asks HTTP/1.1", host + bearer))
      expect([...answers.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)).toEqual(["200", "404", "200"])
    }).pipe(provide))

  it.live("that asks for a part of an answer gets all of it", () =>
    Effect.gen(function*() {
      const answer = yield* send("/healthz", { headers: { range: "bytes=0-1" } })
      expect([answer.status, answer.text]).toEqual([200, `{"status":"ok"}`])
    }).pipe(provide))

  it.live("may ask whether a body is welcome before it sends it", () =>
    Effect.gen(function*() {
      const port = yield* portOf
      const host = `Host: 127.0.0.1:${port}\r\nContent-Type: application/json\r\nExpect: 100-continue\r\n`
      const line = "POST /v1/handshake HTTP/1.1"
      const refused = yield* raw(request(line, `${host}Content-Length: 104857600\r\n`))
      expect(refused).toMatch(/^HTTP\/1\.1 413/)
      const body = JSON.stringify({ nonce: "0".repeat(32), host: `127.0.0.1:${port}` })
      const welcome = yield* raw(request(line, `${host}Content-Length: ${body.length}\r\n`, body))
      expect(welcome).toMatch(/^HTTP\/1\.1 100[^]*HTTP\/1\.1 200/)
    }).pipe(provide))
})

describe("a login", () => {
  const login = Effect.gen(function*() {
    const api = yield* client
    const { code } = yield* api.server.code()
    const answer = yield* post("/v1/login", { code }, { authorization: "" })
    const cookie = answer.headers.get("set-cookie") ?? ""
    return { code, answer, cookie, pair: cookie.split(";")[0] ?? "", key: String(answer.json()["key"]) }
  })

  const as = (cookie: string, key: string) =>
    Effect.map(
      send("/v1/sessions", { headers: { authorization: "", cookie, ...(key === "" ? {} : { "skein-key": key }) } }),
      ({ status }) => status
    )

  it.live("needs a code that works once, and each half of it alone opens nothing", () =>
    Effect.gen(function*() {
      const { answer, code, cookie, key, pair } = yield* login
      expect(answer.status).toBe(200)
      expect(cookie).toMatch(/^skein-\d+=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=\d+$/)
      expect(answer.text).not.toContain(pair.split("=")[1])
      expect(yield* as(pair, key)).toBe(200)
      expect(yield* as(`other=1; ${pair}`, key)).toBe(200)
      expect(yield* as(pair, "")).toBe(401)
      expect(yield* as("", key)).toBe(401)
      expect(yield* as(pair, `${key}x`)).toBe(401)
      const other = yield* login
      expect(yield* as(pair, other.key)).toBe(401)
      expect((yield* post("/v1/login", { code })).status).toBe(401)
      const out = yield* send("/v1/logout", {
        method: "POST",
        headers: { authorization: "", cookie: pair, "skein-key": key }
      })
      expect(out.status).toBe(204)
      expect(yield* as(pair, key)).toBe(401)
      expect(yield* as(other.pair, other.key)).toBe(200)
    }).pipe(provide))
})

it.live("writes neither token nor login into the traces of requests", () => {
  const seen: Array<string> = []
  const tracer = Tracer.make({
    context: (f) => f(),
    span: (name, parent, context, links, startTime, kind) => ({
      _tag: "Span",
      name,
      parent,
      context,
      links,
      kind,
      spanId: "span",
      traceId: "trace",
      sampled: true,
      status: { _tag: "Started", startTime },
      attributes: new Map(),
      attribute: (key, value) => void seen.push(`${key}=${String(value)}`),
      event: () => undefined,
      addLinks: () => undefined,
      end: () => undefined
    })
  })
  return Effect.gen(function*() {
    yield* send("/v1/asks", { headers: { cookie: "skein-1=half-one", "skein-key": "half-two" } })
    expect(seen).toContain("http.request.method=GET")
    for (const secret of [token, "half-one", "half-two"]) expect(seen.join("\n")).not.toContain(secret)
  }).pipe(provide, Effect.withTracer(tracer))
})

it.live("proves that it has the token without being sent it", () =>
  Effect.gen(function*() {
    const nonce = "ab".repeat(32)
    const { port } = new URL((yield* Server).url)
    const version = "0.0.0-test"
    const host = `127.0.0.1:${port}`
    const answer = yield* post("/v1/handshake", { nonce, host }, { authorization: "" })
    const text = `skein handshake\n${nonce}\n${host}\n${version}`
    expect(answer.json()).toEqual({ answer: createHmac("sha256", token).update(text).digest("hex"), version })
  }).pipe(provide))

it.live("proves nothing for the address of another server, or without an address", () =>
  Effect.gen(function*() {
    const nonce = "ab".repeat(32)
    const { port } = new URL((yield* Server).url)
    for (
      const host of [
        "127.0.0.1:1",
        `example.org:${port}`,
        "127.0.0.1",
        `[::1]:${port}`,
        // A name of two addresses.
        `localhost:${port}`,
        `LocalHost:${port}`
      ]
    ) {
      const answer = yield* post("/v1/handshake", { nonce, host }, { authorization: "" })
      expect(answer.status, host).toBe(403)
      expect(answer.json()).not.toHaveProperty("answer")
    }
    expect((yield* post("/v1/handshake", { nonce }, { authorization: "" })).status).toBe(400)
  }).pipe(provide))

describe("behind a proxy", () => {
  const open = Effect.provide(serving({ "*": ["ok"] }, { server: { publicUrl: "https://skein.example" } }))
  const line = "GET /v1/sessions HTTP/1.1"

  it.live("answers for its public host and for pages of its public origin, and for no others", () =>
    Effect.gen(function*() {
      const port = yield* portOf
      const status = (host: string, origin: string) =>
        Effect.map(raw(request(line, `Host: ${host}\r\n${bearer}Origin: ${origin}\r\n`)), statusOf)
      for (const host of ["skein.example", "Skein.Example", "skein.example:443", `127.0.0.1:${port}`]) {
        expect(yield* status(host, "https://skein.example"), host).toBe(200)
      }
      expect(yield* status(`127.0.0.1:${port}`, `http://127.0.0.1:${port}`)).toBe(200)
      for (const host of ["skein.example:80", `skein.example:${port}`, "skein.example.evil.test", "evil.test"]) {
        expect(yield* status(host, "https://skein.example"), host).toBe(403)
      }
      for (const origin of ["http://skein.example", "https://skein.example:8443", "https://evil.test"]) {
        expect(yield* status("skein.example", origin), origin).toBe(403)
      }
    }).pipe(open))

  it.live("proves its public host with its port, and that of no other scheme", () =>
    Effect.gen(function*() {
      const nonce = "ab".repeat(32)
      for (const [host, status] of [["skein.example:443", 200], ["skein.example:80", 403], ["skein.example", 403]]) {
        expect((yield* post("/v1/handshake", { nonce, host })).status, String(host)).toBe(status)
      }
    }).pipe(open))

  it.live("gives cookies that need TLS to those who come by it alone", () =>
    Effect.gen(function*() {
      const api = yield* client
      const { port } = new URL((yield* Server).url)
      for (const [origin, pattern] of [["https://skein.example", /; Secure$/], [`http://127.0.0.1:${port}`, /=\d+$/]]) {
        const { code } = yield* api.server.code()
        const { headers } = yield* post("/v1/login", { code }, { authorization: "", origin: String(origin) })
        expect(headers.get("set-cookie")).toMatch(pattern ?? "")
      }
    }).pipe(open))

  it.live("without its address says how to mend it, and still lets the page say so", () =>
    Effect.gen(function*() {
      const host = yield* raw(request("GET /readyz HTTP/1.1", "Host: skein.example\r\n"))
      const login = yield* post("/v1/login", { code: "x" }, { origin: "https://skein.example" })
      for (const text of [host, login.text]) expect(text).toContain("skein serve --public-url")
      expect(login.json()).toMatchObject({ status: 403, type: "urn:skein:ForeignOrigin" })
      const file = yield* send("/app.js", { headers: { origin: "https://skein.example" } })
      expect([file.status, file.text]).toEqual([200, "page"])
    }).pipe(
      Effect.provide(
        serving({ "*": ["ok"] }, {
          server: {
            page: new Map([[
              "/app.js",
              { type: "text/javascript", body: Buffer.from("page"), encoded: {}, immutable: true }
            ]])
          }
        })
      )
    ))
})

it.live("says on every answer that browsers may not keep, frame or guess it", () =>
  Effect.gen(function*() {
    for (const path of ["/healthz", "/v1/nothing", "/v1/sessions"]) {
      const { headers } = yield* send(path)
      expect(headers.get("cache-control"), path).toBe("no-store")
      expect(headers.get("x-content-type-options")).toBe("nosniff")
      expect(headers.get("content-security-policy")).toMatch(/default-src 'none'/)
    }
  }).pipe(provide))

it.live("listens on no other address than it was told", () =>
  Effect.gen(function*() {
    const port = Number(yield* portOf)
    const reached = yield* Effect.async<boolean>((resume) => {
      const socket = connect(port, "127.0.0.2")
      socket.once("connect", () => resume(Effect.succeed(true)))
      socket.once("error", () => resume(Effect.succeed(false)))
      return Effect.sync(() => socket.destroy())
    })
    expect(reached).toBe(false)
  }).pipe(provide))

it.live("what another server of the cluster answers has the policies of this one", () => {
  const cluster: ClusterPort = {
    isTrusted: () => false,
    route: (_, response) => void response.writeHead(200, { "content-type": "application/json" }).end("{}"),
    status: Effect.die("not asked"),
    leave: Effect.void
  }
  return Effect.gen(function*() {
    const { headers } = yield* send("/v1/sessions/ses_1")
    expect(headers.get("content-security-policy")).toBe("default-src 'none'; frame-ancestors 'none'")
    expect(headers.get("x-content-type-options")).toBe("nosniff")
    expect(headers.get("cache-control")).toBe("no-store")
  }).pipe(Effect.provide(serving({}, { server: { cluster } })))
})
