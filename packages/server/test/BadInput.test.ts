/** Proves for every route of the document that what makes no sense gets a problem with a fitting status: no stack, no hang. */
import { expect, it } from "@effect/vitest"
import { document } from "@skein/api/Api"
import { Session } from "@skein/core/Session"
import { Server } from "@skein/server/Server"
import * as Effect from "effect/Effect"
import { connect } from "node:net"
import { post, send, serving, token } from "./support/server.ts"

const provide = Effect.provide(serving({ "*": ["ok"] }))

interface Operation {
  readonly method: string
  readonly path: string
  readonly hasBody: boolean
  readonly isPublic: boolean
  /** What the document says that the route may answer. */
  readonly statuses: ReadonlySet<number>
  readonly query: ReadonlyArray<string>
}

const operations: ReadonlyArray<Operation> = Object.entries(document().paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, { parameters, requestBody, responses, security }]) => ({
    method: method.toUpperCase(),
    path,
    hasBody: requestBody !== undefined,
    isPublic: security.length === 0,
    statuses: new Set(Object.keys(responses).map(Number)),
    query: parameters.flatMap((each) => each.in === "query" ? [each.name] : [])
  }))
)

interface Sent {
  readonly path: string
  readonly headers?: ReadonlyArray<string>
  readonly body?: string
  readonly version?: "1.0" | "1.1"
  readonly authorization?: string
}

const bearer = `Bearer ${token}`

/** Sends a request as bytes; gives status, head and body. A stream of events counts as answered once it begins. */
const ask = (method: string, { authorization = bearer, body, headers = [], path, version = "1.1" }: Sent) =>
  Effect.flatMap(
    Server,
    ({ url }) =>
      Effect.async<{ readonly status: number; readonly head: string; readonly body: string }>((resume) => {
        const { host, port } = new URL(url)
        const socket = connect(Number(port), "127.0.0.1")
        let text = ""
        const done = () => {
          socket.destroy()
          const [head = "", ...rest] = text.split("\r\n\r\n")
          resume(Effect.succeed({ status: Number(text.split(" ", 2)[1]), head, body: rest.join("\r\n\r\n") }))
        }
        socket.setEncoding("utf8").on("data", (piece: string) => {
          text += piece
          if (
            text.includes("content-type: text/event-stream") || text.includes("Content-Type: text/event-stream")
          ) done()
        })
        socket.on("error", () => undefined).on("close", done)
        const length = body === undefined ? [] : [`Content-Length: ${Buffer.byteLength(body)}`]
        const lines = [
          `${method} ${path} HTTP/${version}`,
          `Host: ${host}`,
          ...(authorization === "" ? [] : [`Authorization: ${authorization}`]),
          "Connection: close",
          ...length,
          ...headers
        ]
        socket.write(`${lines.join("\r\n")}\r\n\r\n${body ?? ""}`)
        return Effect.sync(() => socket.destroy())
      })
  )

const json = "Content-Type: application/json"

const at = (path: string, id: string) => path.replaceAll(/\{\w+\}/g, id)

/** What is wrong with an answer; nothing if it is well-formed and fits. */
const faultOf = (
  { statuses }: Operation,
  { body, head, status }: { readonly status: number; readonly head: string; readonly body: string },
  expected?: ReadonlyArray<number>
): string | undefined => {
  if (!statuses.has(status)) return `${status} is not in the document: ${body.slice(0, 200)}`
  if (expected !== undefined && !expected.includes(status)) return `${status}: ${body.slice(0, 200)}`
  if (/\bat .*\.[jt]s:\d|node_modules|internal\//.test(body)) return `a stack: ${body.slice(0, 200)}`
  if (status < 400) return undefined
  if (!/content-type: application\/problem\+json/i.test(head)) return `no problem details: ${head}`
  const problem = JSON.parse(body) as Readonly<Record<string, unknown>>
  const isWhole = problem["status"] === status && String(problem["type"]).startsWith("urn:skein:")
    && typeof problem["title"] === "string" && String(problem["detail"]).length > 0
  return isWhole ? undefined : `half a problem: ${body.slice(0, 200)}`
}

/** Asks every route, and gives what was wrong with the answers. */
const faults = (
  which: (operation: Operation) => boolean,
  of: (operation: Operation) => ReadonlyArray<readonly [name: string, sent: Sent, expected?: ReadonlyArray<number>]>
) =>
  Effect.map(
    Effect.forEach(operations.filter(which), (operation) =>
      Effect.forEach(of(operation), ([name, sent, expected]) =>
        Effect.map(ask(operation.method, sent), (answer) => {
          const fault = faultOf(operation, answer, expected)
          return fault === undefined ? [] : [`${operation.method} ${operation.path}, ${name}: ${fault}`]
        })), { concurrency: 4 }),
    (found) =>
      found.flat(2)
  )

const withID = ({ path }: Pick<Operation, "path">) => path.includes("{")
const any = () => true

it("the document has the routes that the cases are made from", () => {
  expect(operations.length).toBeGreaterThan(40)
  expect(operations.filter(({ hasBody }) => hasBody).length).toBeGreaterThan(12)
})

it.live("ids that are unknown, of another kind, or badly written are not found", () =>
  Effect.gen(function*() {
    const { id } = yield* Effect.flatMap(Session, (session) => session.create({ directory: "/" }))
    const ids = [
      "ses_missing",
      "msg_01",
      "per_01",
      "evt_01",
      "%2e%2e%2fx",
      "..%5cx",
      "x%00",
      "%F0%9F%90%A6",
      "a".repeat(3_000)
    ]
    expect(
      yield* faults(withID, (operation) => [
        ...ids.map((each) => {
          const body = operation.hasBody ? { body: "{}", headers: [json] } : {}
          const query = operation.query.map((name) => `${name}=x`).join("&")
          return [each.slice(0, 20), { path: `${at(operation.path, each)}?${query}`, ...body }, [
            400,
            404,
            422
          ]] as const
        }),
        ["half an escape", { path: at(operation.path, "%E0%A4%A"), headers: [json], body: "{}" }, [400, 404]]
      ])
    ).toEqual([])
    // A session at the root is neither a task nor an ask nor an approval.
    const others = (operation: Operation) => withID(operation) && !operation.path.startsWith("/v1/sessions/")
    expect(
      yield* faults(others, (operation) => [
        ["a session", { path: at(operation.path, id), headers: [json], body: "{}" }, [400, 404]]
      ])
    ).toEqual([])
  }).pipe(provide))

it.live("bodies of wrong types, wrong media types and too many bytes are refused", () =>
  Effect.gen(function*() {
    const { id } = yield* Effect.flatMap(Session, (session) => session.create({ directory: "/" }))
    const bodies = [
      "[]",
      "5",
      "\"x\"",
      "null",
      "{",
      "{\"unknown\":1}",
      "[[[[]]]]",
      `${"[".repeat(200)}${"]".repeat(200)}`
    ]
    expect(
      yield* faults(({ hasBody }) => hasBody, ({ path }) => [
        ...bodies.map((body) =>
          [body.slice(0, 20), { path: at(path, id), headers: [json], body }, [400, 404, 422]] as const
        ),
        ["plain text", { path: at(path, id), headers: ["Content-Type: text/plain"], body: "{}" }, [415]],
        ["a form", { path: at(path, id), headers: ["Content-Type: application/x-www-form-urlencoded"], body: "a=b" }, [
          415
        ]],
        ["no type", { path: at(path, id), body: "{}" }, [415]],
        ["two types", { path: at(path, id), headers: [json, "Content-Type: text/plain"], body: "{}" }, [400]],
        ["packed", { path: at(path, id), headers: [json, "Content-Encoding: br"], body: "{}" }, [415]],
        // An archive may have any size: it is read as it comes.
        ...(path.endsWith("/import")
          ? []
          : [["huge", { path: at(path, id), headers: [json, `Content-Length: ${100 * 1024 * 1024}`] }, [413]] as const])
      ])
    ).toEqual([])
  }).pipe(provide))

it.live("requests without the token, or with another one, learn nothing", () =>
  Effect.gen(function*() {
    const wrong = ["", "Bearer", `Bearer ${token}0`, `Basic ${token}`, `${bearer}, ${bearer}`]
    expect(
      yield* faults(({ isPublic }) => !isPublic, ({ path }) =>
        wrong.map((authorization) => [authorization.slice(0, 8), { path: at(path, "ses_x"), authorization }, [401]]))
    ).toEqual([])
  }).pipe(provide))

it.live("old versions, ranges, doubled headers and queries of any kind are answered and closed", () =>
  Effect.gen(function*() {
    const queries = ["unknown=1", "limit=1&limit=2", "%FF=%00", `x=${"y".repeat(4_000)}`]
    const fine = [200, 201, 202, 204, 400, 401, 404, 415, 422]
    expect(
      yield* faults(any, ({ hasBody, path }) => {
        const where = at(path, "ses_x")
        const body = hasBody ? { body: "{}" } : {}
        const typed = hasBody ? [json] : []
        return [
          ["HTTP/1.0", { path: where, version: "1.0", headers: typed, ...body }, fine],
          ["a range", { path: where, headers: [...typed, "Range: bytes=0-1"], ...body }, fine],
          ["two tokens", { path: where, headers: [...typed, "Authorization: Bearer other"], ...body }, [400]],
          ["two keys", { path: where, headers: [...typed, "Idempotency-Key: a", "Idempotency-Key: b"], ...body }, [
            400
          ]],
          ...queries.map((query) =>
            [`?${query.slice(0, 12)}`, { path: `${where}?${query}`, headers: typed, ...body }, fine] as const
          )
        ]
      })
    ).toEqual([])
  }).pipe(provide))

it.live("requests that do not wait for answers get them in order, each with its own problem", () =>
  Effect.gen(function*() {
    const { host, port } = new URL((yield* Server).url)
    const routes = operations.filter(({ hasBody, method, path }) => method === "GET" && !hasBody && withID({ path }))
    const answers = yield* Effect.async<string>((resume) => {
      const socket = connect(Number(port), "127.0.0.1")
      let text = ""
      socket.setEncoding("utf8").on("data", (piece: string) => text += piece)
      socket.on("error", () => undefined).on("close", () => resume(Effect.succeed(text)))
      const requests = routes.filter(({ path }) => !path.endsWith("/events")).map(({ path }, index, all) =>
        `GET ${at(path, `ses_${index}`)} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: ${bearer}\r\n`
        + (index === all.length - 1 ? "Connection: close\r\n\r\n" : "\r\n")
      )
      socket.write(requests.join(""))
      return Effect.sync(() => socket.destroy())
    })
    const named = [...answers.matchAll(/ses_(\d+)/g)].map(([, index]) => Number(index))
    expect(named.length).toBeGreaterThan(5)
    expect(named).toEqual(named.toSorted((a, b) => a - b))
  }).pipe(provide))

it.live("a prompt with too many parts is refused, and the limit is named", () =>
  Effect.gen(function*() {
    const { id } = yield* Effect.flatMap(Session, (session) => session.create({ directory: "/" }))
    const parts = Array.from({ length: 1_001 }, () => ({ type: "text", text: "x" }))
    for (const body of [{ parts }, { words: "x", parts }, { command: { name: "x" }, parts }]) {
      const answer = yield* ask("POST", {
        path: `/v1/sessions/${id}/prompt`,
        headers: [json],
        body: JSON.stringify(body)
      })
      expect(answer).toMatchObject({ status: 400, body: expect.stringContaining("at most 1000 parts") })
    }
  }).pipe(provide))

it.live("names have a length that lists can show", () =>
  Effect.gen(function*() {
    const at = (most: number) => "x".repeat(most)
    const bodies: ReadonlyArray<readonly [most: number, body: (text: string) => object]> = [
      [500, (title) => ({ directory: "/", title })],
      [200, (agent) => ({ directory: "/", agent })],
      [500, (modelID) => ({ directory: "/", model: { providerID: "p", modelID } })],
      [4_096, (directory) => ({ directory })]
    ]
    for (const [most, body] of bodies) {
      const long = yield* post("/v1/sessions", body(at(most + 1)))
      expect([long.status, long.text]).toEqual([400, expect.stringContaining(`at most ${most} characters`)])
      expect((yield* post("/v1/sessions", body(at(most)))).text).not.toContain("characters")
    }
    const { id } = yield* Effect.flatMap(Session, (session) => session.create({ directory: "/" }))
    const rename = (title: string) =>
      send(`/v1/sessions/${id}`, {
        method: "PATCH",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ title })
      })
    expect((yield* rename(at(501))).status).toBe(400)
    expect((yield* rename(at(500))).status).toBe(200)
  }).pipe(provide))
