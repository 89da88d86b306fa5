/** Proves that a client chooses how much a tree may do without a question, and that the choice is shown and kept. */
import { describe, expect, it } from "@effect/vitest"
import { Confinement, ModeRefused } from "@skein/core/Isolation"
import { SessionStorage } from "@skein/core/SessionStorage"
import { Mode } from "@skein/domain/Mode"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { follow } from "./support/events.ts"
import { client, post, send, serving } from "./support/server.ts"

const directory = process.cwd()

const provide = Effect.provide(serving({ "*": ["ok"] }))

const patch = (id: string, body: unknown) =>
  send(`/v1/sessions/${id}`, {
    method: "PATCH",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body)
  })

describe("the mode of a session", () => {
  it.live("is one of four, chosen at its creation, and shown wherever the session is", () =>
    Effect.gen(function*() {
      const api = yield* client
      for (const mode of Mode.literals) {
        const { id } = yield* api.sessions.create({ headers: {}, payload: { directory, mode } })
        const wanted = { mode, agent: mode === "plan" ? "plan" : "build" }
        expect(yield* api.sessions.get({ path: { id } })).toMatchObject(wanted)
        expect(yield* api.sessions.tree({ path: { id }, urlParams: {} })).toMatchObject({ sessions: [wanted] })
        const { items } = yield* api.sessions.list({ urlParams: {} })
        expect(items.find((each) => each.id === id)).toMatchObject(wanted)
      }
      const usual = yield* api.sessions.create({ headers: {}, payload: { directory } })
      expect((yield* api.sessions.get({ path: { id: usual.id } })).mode).toBe("ask")
      const planning = yield* api.sessions.create({ headers: {}, payload: { directory, agent: "plan" } })
      expect((yield* api.sessions.get({ path: { id: planning.id } })).mode).toBe("plan")
      expect((yield* post("/v1/sessions", { directory, mode: "yolo" })).status).toBe(400)
    }).pipe(provide))

  it.live("changes at any time, which an event tells; `plan` brings its agent, and leaving it the agent before", () =>
    Effect.gen(function*() {
      const api = yield* client
      const { id } = yield* api.sessions.create({ headers: {}, payload: { directory, agent: "coordinator" } })
      const events = yield* follow(id)
      const told = (mode: Mode) => events.first("session.updated", ({ properties }) => properties.info.mode === mode)
      const path = { id }
      expect(yield* api.sessions.change({ path, payload: { mode: "plan" } })).toMatchObject({ agent: "plan" })
      expect((yield* told("plan")).properties.info).toMatchObject({ agent: "plan" })
      const left = yield* api.sessions.change({ path, payload: { mode: "auto", title: "Named" } })
      expect(left).toMatchObject({ mode: "auto", agent: "coordinator", title: "Named" })
      expect((yield* told("auto")).properties.info).toMatchObject({ agent: "coordinator" })
      for (const body of [{}, { mode: "all" }, { mode: null }]) expect((yield* patch(id, body)).status).toBe(400)
    }).pipe(Effect.scoped, provide))

  it.live("is not `auto` where nothing confines commands: the answer says why, and nothing changes", () =>
    Effect.gen(function*() {
      const refused = { status: 422, text: expect.stringContaining("Install a sandbox.") }
      expect(yield* post("/v1/sessions", { directory, mode: "auto" })).toMatchObject(refused)
      const api = yield* client
      const { id } = yield* api.sessions.create({ headers: {}, payload: { directory } })
      expect(yield* patch(id, { mode: "auto", title: "Named" })).toMatchObject(refused)
      expect(yield* api.sessions.get({ path: { id } })).toMatchObject({ mode: "ask" })
    }).pipe(Effect.provide(serving({}, {
      confinement: Layer.succeed(Confinement, { auto: new ModeRefused({ message: "Install a sandbox." }) })
    }))))

  it.live("holds for the next server on the same storage: `auto` goes on without a question", () => {
    const asking = SkeinTest.tool("change", () => Effect.succeed("changed"), {
      authorise: () => Effect.succeed([{ permission: "change", patterns: ["it"], always: [], metadata: {} }])
    })
    return Effect.gen(function*() {
      const storage = Layer.succeed(
        SessionStorage,
        Context.get(yield* Layer.build(SessionStorage.layerMemory), SessionStorage)
      )
      const server = serving({ build: [Scripted.call("change", {}), "done"] }, { tools: [asking], storage })
      const { id } = yield* Effect.provide(
        Effect.flatMap(client, (api) => api.sessions.create({ headers: {}, payload: { directory, mode: "auto" } })),
        server
      )
      yield* Effect.gen(function*() {
        const api = yield* client
        expect((yield* api.sessions.get({ path: { id } })).mode).toBe("auto")
        const turn = yield* post(`/v1/sessions/${id}/prompt?wait=true`, { text: "Go" })
        expect(turn.json()).toMatchObject({ text: "done", end: "completed" })
        expect((yield* api.asks.list({ urlParams: {} })).items).toEqual([])
      }).pipe(Effect.provide(server))
    }).pipe(Effect.scoped)
  })
})
