/** Proves that each client gets every event once and in order, wherever it begins, and that no client costs much. */
import { describe, expect, it } from "@effect/vitest"
import { Session } from "@skein/core/Session"
import { SessionStorage } from "@skein/core/SessionStorage"
import type { Event } from "@skein/domain/Event"
import { EventID } from "@skein/domain/Id"
import { Server } from "@skein/server/Server"
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import { connect } from "node:net"
import { follow } from "./support/events.ts"
import { send, serving, token } from "./support/server.ts"

const provide = Effect.provide(serving({ "*": ["ok"] }))

const create = Session.create({ directory: process.cwd() })

/** Makes an event, each with a title that takes so many characters. */
const change = (id: Effect.Effect.Success<typeof create>["id"], title: string) =>
  Effect.flatMap(Session, (session) => session.rename(id, title))

/** The ids of what a client gets, until it got the event with this number. */
const idsUntil = (session: string, from: string | undefined, last: number) =>
  Effect.scoped(Effect.gen(function*() {
    const { stored } = yield* follow(session, from)
    const got = yield* Stream.runCollect(Stream.takeUntil(stored, ({ id }) => Number(id) >= last))
    return Chunk.toReadonlyArray(got).map(({ id }) => Number(id))
  }))

const upTo = (first: number, last: number) => Array.from({ length: last - first + 1 }, (_, index) => first + index)

/** The first message of a stream, as text. */
const firstMessage = (path: string, headers: Record<string, string> = {}) =>
  Effect.flatMap(Server, ({ url }) =>
    Effect.promise(async (signal) => {
      const response = await fetch(`${url}${path}`, {
        signal,
        headers: { authorization: `Bearer ${token}`, ...headers }
      })
      let text = ""
      for await (const piece of (response.body ?? []) as AsyncIterable<Uint8Array>) {
        text += Buffer.from(piece).toString("utf8")
        if (text.split("\n\n").length > 2) break
      }
      return text
    }))

describe("a client of a tree's events", () => {
  it.live("gets each event once and in order, whenever and wherever it begins", () =>
    Effect.gen(function*() {
      const { id } = yield* create
      const last = 151
      const changes = yield* Effect.fork(
        Effect.forEach(upTo(2, last), (seq) => change(id, `title ${seq}`), { concurrency: 7, discard: true })
      )
      const clients = upTo(0, 9).map((index) =>
        Effect.zipRight(
          Effect.repeatN(Effect.yieldNow(), index * 20),
          Effect.map(idsUntil(id, String(index * 3), last), (ids) => expect(ids).toEqual(upTo(index * 3 + 1, last)))
        )
      )
      yield* Effect.all(clients, { concurrency: "unbounded", discard: true })
      yield* Fiber.join(changes)
    }).pipe(provide))

  it.live("learns what sessions do by now, also if that was told after its snapshot", () =>
    Effect.gen(function*() {
      const sessions = yield* Session
      const { id } = yield* create
      const { json } = yield* send(`/v1/sessions/${id}/tree`)
      const { first } = yield* follow(id)
      yield* Effect.forkScoped(sessions.prompt(id, "Go"))
      yield* first("session.updated", ({ properties: { info } }) => info.turn !== undefined)
      const ofTree = yield* follow(id, String(json()["seq"]))
      const status = yield* ofTree.first("session.status")
      expect([status.sessionID, status.properties.status.type]).toEqual([id, "busy"])
      const ofAll = yield* follow()
      expect((yield* ofAll.first("session.status")).sessionID).toBe(id)
    }).pipe(Effect.scoped, Effect.provide(serving({ "*": [{ hangs: true }] }))))

  it.live("gets what another process stored, in its place", () =>
    Effect.gen(function*() {
      const storage = yield* SessionStorage
      const { id } = yield* create
      const client = yield* Effect.fork(idsUntil(id, undefined, 4))
      const { first } = yield* follow(id)
      yield* change(id, "two")
      yield* first("session.updated")
      // Not told on the bus of this process.
      const event = {
        id: EventID.make("evt_foreign"),
        type: "session.idle",
        timestamp: 1,
        sessionID: id,
        rootID: id,
        depth: 0,
        properties: {}
      }
      yield* storage.commit([{ _tag: "Event", event: event as Event }])
      yield* change(id, "four")
      const ids = yield* Fiber.join(client)
      expect(ids).toEqual(upTo(5 - ids.length, 4))
      expect(ids).toContain(3)
    }).pipe(Effect.scoped, provide))

  it.live("is told where it cannot continue, and goes on from the present", () =>
    Effect.gen(function*() {
      const storage = yield* SessionStorage
      const { id } = yield* create
      yield* change(id, "two")
      yield* change(id, "three")
      const path = `/v1/sessions/${id}/events`
      expect(yield* firstMessage(`${path}?from=99`)).toContain(`id: 3\nevent: reset\ndata: {"reason":"unknown"}`)
      expect(yield* firstMessage(path, { "last-event-id": "nonsense" })).toContain(`"reason":"unknown"`)
      expect(yield* firstMessage(`${path}?from=99`, { "last-event-id": "2" })).toContain(
        "id: 3\nevent: session.updated"
      )
      expect((yield* send(`${path}?from=nonsense`)).status).toBe(400)
      expect((yield* send(`${path}?from=-1`)).status).toBe(400)
      expect((yield* send("/v1/events?from=1")).status).toBe(400)
      yield* storage.prune({ before: Number.MAX_SAFE_INTEGER, restingSince: Number.MAX_SAFE_INTEGER, limit: 2 })
      expect(yield* firstMessage(`${path}?from=1`)).toContain(`id: 3\nevent: reset\ndata: {"reason":"too_old"}`)
      expect(yield* firstMessage(`${path}?from=2`)).toContain("id: 3\nevent: session.updated")
    }).pipe(provide))

  it.live("that does not read is reset and closed, at the place up to which it got everything", () =>
    Effect.gen(function*() {
      const { id } = yield* create
      const { url } = yield* Server
      const socket = yield* Effect.acquireRelease(
        Effect.sync(() => connect(Number(new URL(url).port), "127.0.0.1")),
        (open) => Effect.sync(() => open.destroy())
      )
      const host = new URL(url).host
      socket.write(`GET /v1/sessions/${id}/events HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${token}\r\n\r\n`)
      yield* Effect.async<void>((resume) => void socket.once("readable", () => resume(Effect.void)))
      const reader = yield* follow(id)
      // More than any system keeps for a connection, and one client is allowed besides.
      const last = 401
      for (const seq of upTo(2, last)) yield* change(id, `${seq} ${"x".repeat(50_000)}`)
      yield* reader.first("session.updated", (event) => event.seq === last)
      const text = yield* Effect.async<string>((resume) => {
        const pieces: Array<Buffer> = []
        socket.on("data", (piece: Buffer) => pieces.push(piece))
        socket.on("end", () => resume(Effect.succeed(Buffer.concat(pieces).toString("utf8"))))
      })
      const ids = [...text.matchAll(/^id: (\d+)\nevent: session/gm)].map(([, each]) => Number(each))
      expect(ids).toEqual(upTo(2, ids.at(-1) ?? 0))
      expect(ids.length).toBeLessThan(last - 1)
      expect(text).toMatch(new RegExp(`id: ${ids.at(-1)}\nevent: reset\ndata: {"reason":"too_slow"}\n\n`))
      expect((yield* idsUntil(id, String(ids.at(-1)), last))[0]).toBe((ids.at(-1) ?? 0) + 1)
    }).pipe(Effect.scoped, provide))
})

describe("a snapshot", () => {
  it.live("with the events after its seq is the present", () =>
    Effect.gen(function*() {
      const { id } = yield* create
      yield* change(id, "two")
      const tree = (yield* send(`/v1/sessions/${id}/tree`)).json()
      expect(tree).toMatchObject({ seq: 2, rootID: id, sessions: [{ id, title: "two", status: { type: "idle" } }] })
      yield* change(id, "three")
      expect(yield* idsUntil(id, String(tree["seq"]), 3)).toEqual([3])
    }).pipe(provide))
})
