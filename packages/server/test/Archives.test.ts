/** Proves that a tree can be taken out of one server and into another, whole or not at all. */
import { describe, expect, it } from "@effect/vitest"
import { Session } from "@skein/core/Session"
import { SessionStorage } from "@skein/core/SessionStorage"
import { StorageError } from "@skein/core/StorageError"
import type { Following, Newest } from "@skein/core/StorageFilter"
import { SessionID } from "@skein/domain/Id"
import { Server } from "@skein/server/Server"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { client, post, raw, send, serving, token } from "./support/server.ts"

const directory = process.cwd()

const stack = (storage = SessionStorage.layerMemory) =>
  serving({ build: [Scripted.tasks({ worker: "Work" }), "done"], worker: ["worked"] }, {
    agents: [SkeinTest.agent("worker")],
    storage
  })

/** A tree with a task in it. */
const tree = Effect.gen(function*() {
  const api = yield* client
  const { id } = yield* api.sessions.create({ headers: {}, payload: { directory, title: "T" } })
  yield* Session.prompt(SessionID.make(id), "Go")
  return id
})

describe("an archive", () => {
  it.live("is refused on a path that is written otherwise, and blocks no other", () =>
    Effect.gen(function*() {
      const id = yield* tree
      const { text } = yield* send(`/v1/sessions/${id}/export`)
      expect((yield* post("/v1/sessions/import/?copy=true", text)).status).toBe(404)
      expect((yield* post("/v1//sessions/import?copy=true", text)).status).toBe(404)
      // So a session might be called, which is not imported into.
      expect((yield* post("/v1/sessions/IMPORT?copy=true", text)).status).toBe(405)
      expect((yield* post("/v1/sessions/%69mport?copy=true", text)).json()).toMatchObject({ type: "urn:skein:BadBody" })
      expect((yield* send("/v1/EVENTS")).status).toBe(404)
      expect((yield* post("/v1/sessions/import?copy=true", text)).status).toBe(201)
    }).pipe(Effect.provide(stack())))

  it.live("that one server sends is taken in by another, with all that is in it", () =>
    Effect.gen(function*() {
      const { id, text } = yield* Effect.gen(function*() {
        const id = yield* tree
        const [child] = (yield* Effect.flatMap(client, (api) =>
          api.sessions.children({ path: { id }, urlParams: {} }))).items
        const sent = yield* send(`/v1/sessions/${child?.id}/export`)
        expect([sent.status, sent.headers.get("content-type")]).toEqual([200, "application/json"])
        return { id, text: sent.text }
      }).pipe(Effect.provide(stack()))
      yield* Effect.gen(function*() {
        const api = yield* client
        const taken = yield* post(`/v1/sessions/import?directory=${encodeURIComponent("/")}`, text)
        expect([taken.status, taken.json()]).toEqual([
          201,
          expect.objectContaining({ id, title: "T", directory: "/", projectID: "/" })
        ])
        expect((yield* api.sessions.tree({ path: { id }, urlParams: {} })).sessions.map(({ agent }) => agent)).toEqual([
          "build",
          "worker"
        ])
        expect((yield* post("/v1/sessions/import", text)).json()).toMatchObject({
          status: 409,
          type: "urn:skein:ArchiveInvalid"
        })
        const copy = yield* post("/v1/sessions/import?copy=true", text)
        expect(copy.status).toBe(201)
        expect(copy.json()["id"]).not.toBe(id)
        expect((yield* send(`/v1/sessions/${id}/export`)).text).toContain("worked")
      }).pipe(Effect.provide(stack()))
    }))

  it.live("that is none, or goes where nothing is, changes nothing", () =>
    Effect.gen(function*() {
      const bodies = ["", "{", "null", "{}", "[1]", `{"format":"skein-archive","version":99}`]
      for (const body of bodies) {
        const { json, status } = yield* post("/v1/sessions/import", body)
        expect([status, json()["type"]], body).toEqual([422, "urn:skein:ArchiveInvalid"])
      }
      expect((yield* post("/v1/sessions/import?directory=nowhere", "{}")).status).toBe(422)
      expect((yield* post("/v1/sessions/import?copy=perhaps", "{}")).status).toBe(400)
      const plain = yield* post("/v1/sessions/import", "{}", { "content-type": "text/plain" })
      expect(plain.status).toBe(415)
      const api = yield* client
      expect((yield* api.sessions.list({ urlParams: {} })).items).toEqual([])
      expect((yield* send("/v1/sessions/ses_missing/export")).status).toBe(404)
    }).pipe(Effect.provide(stack())))

  it.live("may have any size, and leaves nothing if it is cut off or has a fault at its end", () =>
    Effect.gen(function*() {
      const text = yield* Effect.gen(function*() {
        const id = yield* tree
        return (yield* send(`/v1/sessions/${id}/export`)).text
      }).pipe(Effect.provide(stack()))
      yield* Effect.gen(function*() {
        const api = yield* client
        const sessions = Effect.map(api.sessions.list({ urlParams: {} }), ({ items }) => items.length)
        const blank = " ".repeat(70 * 1024 * 1024)
        const faulty = yield* post("/v1/sessions/import", text + blank + "x")
        expect(faulty.json()).toMatchObject({ status: 422, detail: expect.stringContaining("Nothing was stored") })
        const { host } = new URL((yield* Server).url)
        const cut = yield* raw(
          `POST /v1/sessions/import HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${token}\r\nConnection: close\r\n`
            + `Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n${
              text.length.toString(16)
            }\r\n${text}\r\nno size`
        )
        expect(cut).toMatch(/^HTTP\/1\.1 400 /)
        expect(yield* sessions).toBe(0)
        expect((yield* post("/v1/sessions/import", text + blank)).status).toBe(201)
        expect(yield* sessions).toBe(1)
      }).pipe(Effect.provide(stack()))
    }))

  it.live("that would lack rows is refused, and sent without them on demand; one that breaks off is no whole answer", () => {
    let reads = 0
    let breaks = false
    const unreadable = Layer.map(SessionStorage.layerMemory, (context) => {
      const inner = Context.get(context, SessionStorage)
      const lost = new StorageError({ operation: "messages", reason: "gone", message: "The disk is gone." })
      return Context.make(SessionStorage, {
        ...inner,
        messagePage: (id: SessionID, page: Following | Newest) =>
          breaks && ++reads > 1
            ? lost
            : Effect.map(inner.messagePage(id, page), (found) => ({
              ...found,
              unreadable: [{ id: "msg_broken", reason: "it is no JSON" }]
            }))
      })
    })
    return Effect.gen(function*() {
      const id = yield* tree
      const refused = yield* send(`/v1/sessions/${id}/export`)
      expect(refused.json()).toMatchObject({ status: 409, detail: expect.stringContaining("msg_broken") })
      const partial = yield* send(`/v1/sessions/${id}/export?partial=true`)
      expect(JSON.parse(partial.text)).toMatchObject({ root: id })
      breaks = true
      const cut = yield* Effect.exit(Effect.sandbox(send(`/v1/sessions/${id}/export?partial=true`)))
      expect(cut._tag).toBe("Failure")
    }).pipe(Effect.provide(stack(unreadable)))
  })
})
