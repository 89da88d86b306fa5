/** Proves the way of a prompt through the server: created, prompted, asked, answered, read. */
import { describe, expect, it } from "@effect/vitest"
import { Session } from "@skein/core/Session"
import { SessionStorage } from "@skein/core/SessionStorage"
import { PermissionID, SessionID } from "@skein/domain/Id"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { follow } from "./support/events.ts"
import { client, post, send, serving } from "./support/server.ts"

const directory = process.cwd()

const asking = SkeinTest.tool("change", () => Effect.succeed("changed"), {
  authorise: () => Effect.succeed([{ permission: "change", patterns: ["it"], always: ["it"], metadata: {} }])
})

describe("a session over HTTP", () => {
  it.live("is created, prompted, asks a person at depth 2, and answers", () =>
    Effect.gen(function*() {
      const api = yield* client
      const session = yield* api.sessions.create({ headers: {}, payload: { directory, title: "T" } })
      expect(session).toMatchObject({ directory, projectID: directory, title: "T", agent: "build" })
      const events = yield* follow(session.id)
      const accepted = yield* api.sessions.prompt({
        path: { id: session.id },
        urlParams: {},
        headers: {},
        payload: { text: "Go" }
      })
      expect(accepted).toMatchObject({ messageID: expect.stringMatching(/^msg_/) })
      const asked = yield* events.first("permission.asked")
      expect(asked.properties).toMatchObject({ path: ["build", "lead", "worker"], patterns: ["it"] })
      const { items } = yield* api.asks.list({ urlParams: {} })
      expect(items).toMatchObject([{ type: "permission", id: asked.properties.id }])
      const tree = yield* api.sessions.tree({ path: { id: asked.sessionID }, urlParams: {} })
      expect(tree.sessions.map(({ agent, depth }) => [agent, depth])).toEqual([
        ["build", 0],
        ["lead", 1],
        ["worker", 2]
      ])
      expect(tree).toMatchObject({ rootID: session.id, asks: [{ id: asked.properties.id }] })
      yield* api.asks.reply({ path: { id: asked.properties.id }, payload: { answer: "once" } })
      yield* events.first("session.idle", (event) => event.sessionID === session.id)
      const messages = yield* api.sessions.messages({ path: { id: session.id }, urlParams: {} })
      expect(messages.items.at(-1)?.parts).toContainEqual(expect.objectContaining({ type: "text", text: "all done" }))
      const [task] = (yield* api.tasks.list({ urlParams: { session: session.id } })).items
      expect(task).toMatchObject({ agent: "lead", state: "settled" })
      expect(yield* api.tasks.get({ path: { id: task?.taskID ?? "" } })).toMatchObject({ parentID: session.id })
      expect((yield* api.sessions.children({ path: { id: session.id }, urlParams: {} })).items).toHaveLength(1)
    }).pipe(
      Effect.scoped,
      Effect.provide(serving({
        build: [Scripted.tasks({ lead: "Lead" }), "all done"],
        lead: [Scripted.tasks({ worker: "Work" }), "led"],
        worker: [Scripted.call("change", {}), "worked"]
      }, {
        tools: [asking],
        agents: [SkeinTest.agent("lead", { permission: { task: "allow" } }), SkeinTest.agent("worker")]
      }))
    ))

  it.live("answers a prompt with its turn to who waits", () =>
    Effect.gen(function*() {
      const api = yield* client
      const { id } = yield* api.sessions.create({ headers: {}, payload: { directory } })
      const turn = yield* api.sessions.prompt({
        path: { id },
        urlParams: { wait: "true" },
        headers: {},
        payload: { parts: [{ type: "text", text: "Go" }] }
      })
      expect(turn).toMatchObject({ sessionID: id, text: "ok", end: "completed", usage: { steps: 1 } })
    }).pipe(Effect.provide(serving({ "*": ["ok"] }))))

  it.live("goes on when the client that waits goes away, and stops when it is interrupted", () =>
    Effect.gen(function*() {
      const began = yield* Deferred.make<void>()
      yield* Effect.gen(function*() {
        const api = yield* client
        const { id } = yield* api.sessions.create({ headers: {}, payload: { directory } })
        const waiting = yield* Effect.fork(post(`/v1/sessions/${id}/prompt?wait=true`, { text: "Go" }))
        yield* Deferred.await(began)
        yield* Fiber.interrupt(waiting)
        expect((yield* api.sessions.get({ path: { id } })).status.type).toBe("busy")
        yield* api.sessions.interrupt({ path: { id }, urlParams: {} })
        const session = yield* api.sessions.get({ path: { id } })
        expect(session).toMatchObject({ status: { type: "idle" }, turn: { ended: { how: "stopped" } } })
      }).pipe(Effect.provide(serving({
        "*": () => Effect.as(Deferred.succeed(began, undefined), { hangs: true })
      })))
    }))

  it.live("is listed in parts, newest change first", () =>
    Effect.gen(function*() {
      const api = yield* client
      const made: Array<string> = []
      for (const title of ["a", "b", "c"]) {
        made.push((yield* api.sessions.create({ headers: {}, payload: { directory, title } })).id)
      }
      const first = yield* api.sessions.list({ urlParams: { limit: 2 } })
      expect(first.items.map(({ title }) => title)).toEqual(["c", "b"])
      const rest = yield* api.sessions.list({ urlParams: { limit: 2, cursor: first.next ?? "" } })
      expect(rest).toMatchObject({ items: [{ title: "a" }] })
      expect(rest.next).toBeUndefined()
      expect((yield* send("/v1/sessions?cursor=nonsense")).status).toBe(400)
      expect((yield* send("/v1/sessions?limit=0")).status).toBe(400)
      expect((yield* api.sessions.list({ urlParams: { projectID: "/elsewhere" } })).items).toEqual([])
    }).pipe(Effect.provide(serving({ "*": ["ok"] }))))

  it.live("is renamed, copied and deleted", () =>
    Effect.gen(function*() {
      const api = yield* client
      const { id } = yield* api.sessions.create({ headers: {}, payload: { directory } })
      yield* Session.prompt(SessionID.make(id), "Go")
      expect((yield* api.sessions.change({ path: { id }, payload: { title: "New" } })).title).toBe("New")
      const copy = yield* api.sessions.fork({ path: { id }, headers: {}, payload: {} })
      expect(copy.id).not.toBe(id)
      yield* api.sessions.remove({ path: { id } })
      expect((yield* send(`/v1/sessions/${id}`)).status).toBe(404)
      expect((yield* api.sessions.messages({ path: { id: copy.id }, urlParams: {} })).items).toHaveLength(2)
    }).pipe(Effect.provide(serving({ "*": ["ok"] }))))
})

describe("a prompt that is sent twice with one Idempotency-Key", () => {
  it.live("prompts once, and gets the same id each time, also when both come at once", () =>
    Effect.gen(function*() {
      const api = yield* client
      const { id } = yield* api.sessions.create({ headers: {}, payload: { directory } })
      const path = `/v1/sessions/${id}/prompt`
      const once = (body: unknown) => post(path, body, { "idempotency-key": "k1" })
      const both = yield* Effect.all([once({ text: "Go" }), once({ text: "Go" })], { concurrency: 2 })
      expect(both.map(({ status }) => status)).toEqual([202, 202])
      const [first, second] = both.map(({ json }) => json()["messageID"])
      expect(second).toBe(first)
      const waited = yield* post(`${path}?wait=true`, { text: "Go" }, { "idempotency-key": "k1" })
      expect(waited.json()).toMatchObject({ messageID: first, text: "ok" })
      const other = yield* once({ text: "Go on" })
      expect(other.status).toBe(409)
      expect(other.json()).toMatchObject({ type: "urn:skein:IdempotencyKeyReused", status: 409 })
      const messages = yield* api.sessions.messages({ path: { id }, urlParams: {} })
      expect(messages.items.filter(({ info }) => info.role === "user").map(({ info }) => info.id)).toEqual([first])
    }).pipe(Effect.provide(serving({ "*": ["ok"] }))))
})

describe("a request that is sent twice with one Idempotency-Key", () => {
  const key = (name: string) => ({ "idempotency-key": name })

  it.live("creates one session, also where both come at once, and after a restart", () =>
    Effect.gen(function*() {
      const storage = Layer.succeed(
        SessionStorage,
        Context.get(yield* Layer.build(SessionStorage.layerMemory), SessionStorage)
      )
      const server = serving({ "*": ["ok"] }, { storage })
      const create = (body: unknown) => post("/v1/sessions", body, key("c"))
      const id = yield* Effect.gen(function*() {
        const both = yield* Effect.all([create({ directory }), create({ directory })], { concurrency: 2 })
        expect(both.map(({ status }) => status)).toEqual([201, 201])
        const [first, second] = both.map(({ json }) => json()["id"])
        expect(second).toBe(first)
        // What was refused leaves nothing behind.
        expect((yield* post("/v1/sessions", { directory: "relative" }, key("d"))).status).toBe(422)
        expect((yield* post("/v1/sessions", { directory }, key("d"))).status).toBe(201)
        return String(first)
      }).pipe(Effect.provide(server))
      yield* Effect.gen(function*() {
        expect((yield* create({ directory })).json()).toMatchObject({ id })
        for (const other of [{ directory, title: "T" }, { directory: "/" }]) {
          expect((yield* create(other)).json()).toMatchObject({ status: 409, type: "urn:skein:IdempotencyKeyReused" })
        }
        // A key stands for one request, whatever its route.
        expect((yield* post(`/v1/sessions/${id}/prompt`, { text: "Go" }, key("c"))).status).toBe(409)
        const api = yield* client
        expect((yield* api.sessions.list({ urlParams: {} })).items).toHaveLength(2)
      }).pipe(Effect.provide(server))
    }).pipe(Effect.scoped))

  it.live("forks, compacts and summarises once, also after a restart", () =>
    Effect.gen(function*() {
      const storage = Layer.succeed(
        SessionStorage,
        Context.get(yield* Layer.build(SessionStorage.layerMemory), SessionStorage)
      )
      const answers = ["long ".repeat(2_000), "long ".repeat(2_000), "long", "in short"]
      const server = serving({ "*": answers, summary: ["what it came to"] }, { storage })
      const repeat = (id: string) =>
        Effect.gen(function*() {
          const fork = yield* post(`/v1/sessions/${id}/fork`, {}, key("f"))
          const compact = yield* send(`/v1/sessions/${id}/compact`, { method: "POST", headers: key("s") })
          const summary = yield* send(`/v1/sessions/${id}/summarize`, { method: "POST", headers: key("y") })
          expect([fork.status, compact.status, summary.status], summary.text).toEqual([201, 200, 200])
          return { fork: fork.json()["id"], compact: compact.json(), summary: summary.json() }
        })
      const { before, id } = yield* Effect.gen(function*() {
        const api = yield* client
        const { id } = yield* api.sessions.create({ headers: {}, payload: { directory } })
        for (const text of ["One", "Two", "Three"]) yield* post(`/v1/sessions/${id}/prompt?wait=true`, { text })
        return { id, before: yield* repeat(id) }
      }).pipe(Effect.provide(server))
      yield* Effect.gen(function*() {
        expect(yield* repeat(id)).toEqual(before)
        expect(before.summary).toMatchObject({ text: "what it came to" })
        const api = yield* client
        expect((yield* api.sessions.list({ urlParams: {} })).items).toHaveLength(2)
        expect((yield* post(`/v1/sessions/${id}/fork`, {}, key("s"))).status).toBe(409)
      }).pipe(Effect.provide(server))
    }).pipe(Effect.scoped))

  it.live("tells a task once: while it works, and when the message begins a run, also after a restart", () =>
    Effect.gen(function*() {
      const storage = Layer.succeed(
        SessionStorage,
        Context.get(yield* Layer.build(SessionStorage.layerMemory), SessionStorage)
      )
      const mayEnd = yield* Deferred.make<void>()
      const server = serving({
        build: [Scripted.tasks({ worker: "Work" }), "done"],
        worker: () => Effect.as(Deferred.await(mayEnd), "worked")
      }, { storage, agents: [SkeinTest.agent("worker")] })
      const tell = (task: string, name: string, message: string) =>
        post(`/v1/tasks/${task}/message`, { message }, key(name))
      const { accepted, id, steered, task } = yield* Effect.gen(function*() {
        const api = yield* client
        const { id } = yield* api.sessions.create({ headers: {}, payload: { directory } })
        const events = yield* follow(id)
        yield* api.sessions.prompt({ path: { id }, urlParams: {}, headers: {}, payload: { text: "Go" } })
        const { sessionID: task } = yield* events.first("subagent.created")
        const steered = yield* tell(task, "s", "Look left")
        expect(steered.json()).toMatchObject({ status: "steered", messageID: expect.stringMatching(/^msg_/) })
        expect((yield* tell(task, "s", "Look left")).json()).toEqual(steered.json())
        yield* Deferred.succeed(mayEnd, undefined)
        yield* events.first("session.idle", ({ sessionID }) => sessionID === id)
        const both = yield* Effect.all([tell(task, "a", "More"), tell(task, "a", "More")], { concurrency: 2 })
        const [accepted] = both
        expect(both[1]?.json()).toEqual(accepted?.json())
        expect(accepted?.json()).toMatchObject({ status: "accepted", runID: expect.stringMatching(/^run_/) })
        yield* api.tasks.wait({ payload: { tasks: [task] } })
        return { id, task, steered, accepted }
      }).pipe(Effect.scoped, Effect.provide(server))
      yield* Effect.gen(function*() {
        expect((yield* tell(task, "s", "Look left")).json()).toEqual(steered.json())
        expect((yield* tell(task, "a", "More")).json()).toEqual(accepted?.json())
        expect((yield* tell(task, "a", "Less")).status).toBe(409)
        const api = yield* client
        expect((yield* api.tasks.get({ path: { id: task } })).runs).toHaveLength(2)
        const { items } = yield* api.sessions.messages({ path: { id: task }, urlParams: {} })
        const said = items.flatMap(({ parts }) => parts.flatMap((part) => part.type === "text" ? [part.text] : []))
        for (const text of ["Look left", "More"]) expect(said.filter((each) => each === text), text).toHaveLength(1)
        expect((yield* api.sessions.get({ path: { id } })).status.type).toBe("idle")
      }).pipe(Effect.provide(server))
    }).pipe(Effect.scoped))
})

describe("an answer to a question", () => {
  it.live("that nobody asked is not found, and one of the wrong kind is refused", () =>
    Effect.gen(function*() {
      const missing = PermissionID.make("per_missing")
      expect((yield* post(`/v1/asks/${missing}/reply`, { answer: "once" })).status).toBe(404)
      expect((yield* post(`/v1/asks/${missing}/reply`, { answers: ["a"] })).status).toBe(422)
      expect((yield* post("/v1/asks/prt_missing/reply", { dismiss: true })).status).toBe(404)
      expect((yield* post("/v1/asks/ses_other/reply", { answer: "once" })).status).toBe(404)
    }).pipe(Effect.provide(serving({ "*": ["ok"] }))))
})

describe("the events of all trees", () => {
  it.live("come in the order of the log, with cursors from which they continue", () =>
    Effect.gen(function*() {
      const api = yield* client
      const events = yield* follow()
      const a = yield* api.sessions.create({ headers: {}, payload: { directory } })
      const b = yield* api.sessions.create({ headers: {}, payload: { directory } })
      const created = yield* Stream.runCollect(Stream.take(events.stored, 2))
      const [first, second] = [...created]
      expect([first?.event.sessionID, second?.event.sessionID]).toEqual([a.id, b.id])
      const again = yield* follow(undefined, first?.id)
      const [next] = [...yield* Stream.runCollect(Stream.take(again.stored, 1))]
      expect(next?.event).toEqual(second?.event)
      expect(next?.id).toBe(second?.id)
    }).pipe(Effect.scoped, Effect.provide(serving({ "*": ["ok"] }))))
})
