/** Proves what clients learn and do about tasks, approvals and costs beside prompts. */
import { describe, expect, it } from "@effect/vitest"
import { Session } from "@skein/core/Session"
import { SessionID } from "@skein/domain/Id"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { follow } from "./support/events.ts"
import { client, post, send, serving } from "./support/server.ts"

const directory = process.cwd()

describe("waiting for tasks", () => {
  it.live("ends when all have settled, with their outcomes, or when the time is over", () =>
    Effect.gen(function*() {
      const mayEnd = yield* Deferred.make<void>()
      yield* Effect.gen(function*() {
        const api = yield* client
        const { id } = yield* api.sessions.create({ headers: {}, payload: { directory } })
        const events = yield* follow(id)
        yield* api.sessions.prompt({ path: { id }, urlParams: {}, headers: {}, payload: { text: "Go" } })
        const { sessionID: task } = yield* events.first("subagent.created")
        const late = yield* post("/v1/tasks/wait", { tasks: [task], timeout: "1ms" })
        expect(late.json()).toEqual({ settled: [], pending: [task] })
        const waiting = yield* Effect.fork(api.tasks.wait({ payload: { tasks: [task, task] } }))
        yield* Deferred.succeed(mayEnd, undefined)
        expect(yield* Fiber.join(waiting)).toMatchObject({
          settled: [{ taskID: task, status: "completed", text: "worked" }],
          pending: []
        })
        for (const [status, tasks] of [[400, []], [404, ["ses_missing"]], [404, [id]], [400, ["x".repeat(3_000)]]]) {
          expect((yield* post("/v1/tasks/wait", { tasks })).status, JSON.stringify(tasks)).toBe(status)
        }
        expect((yield* post("/v1/tasks/wait", { tasks: [task], timeout: -1 })).status).toBe(400)
      }).pipe(
        Effect.scoped,
        Effect.provide(serving({
          build: [Scripted.tasks({ worker: "Work" }), "done"],
          worker: () => Effect.as(Deferred.await(mayEnd), "worked")
        }, { agents: [SkeinTest.agent("worker")] }))
      )
    }))
})

describe("what a tree has used", () => {
  it.live("is told in all, and by agent", () =>
    Effect.gen(function*() {
      const api = yield* client
      const { id } = yield* api.sessions.create({ headers: {}, payload: { directory } })
      yield* Session.prompt(SessionID.make(id), "Go")
      const cost = yield* api.sessions.cost({ path: { id } })
      expect(cost).toMatchObject({ own: { steps: 2 }, subtree: { steps: 4 } })
      expect(cost.agents.toSorted((a, b) => a.agent < b.agent ? -1 : 1)).toMatchObject([
        { agent: "build", sessions: 1, usage: { steps: 2 } },
        { agent: "worker", sessions: 2, usage: { steps: 2 } }
      ])
      const [child] = (yield* api.sessions.children({ path: { id }, urlParams: {} })).items
      const below = yield* api.sessions.cost({ path: { id: child?.id ?? "" } })
      expect(below.agents).toMatchObject([{ agent: "worker", sessions: 1, usage: { steps: 1 } }])
      expect((yield* send("/v1/sessions/ses_missing/cost")).status).toBe(404)
    }).pipe(Effect.provide(
      serving({
        build: [{ calls: [...["a", "b"].flatMap((prompt) => Scripted.tasks({ worker: prompt }).calls ?? [])] }, "done"],
        worker: ["worked", "worked"]
      }, { agents: [SkeinTest.agent("worker")] })
    )))
})

describe("what was allowed by hand three times", () => {
  const asking = SkeinTest.tool("change", () => Effect.succeed("changed"), {
    authorise: () => Effect.succeed([{ permission: "change", patterns: ["it"], always: ["it *"], metadata: {} }])
  })

  it.live("is proposed as a rule", () =>
    Effect.gen(function*() {
      const api = yield* client
      const { id } = yield* api.sessions.create({ headers: {}, payload: { directory } })
      const events = yield* follow(id)
      const suggestions = Effect.map(
        api.permissions.suggestions({ urlParams: { projectID: directory } }),
        ({ items }) => items
      )
      yield* api.sessions.prompt({ path: { id }, urlParams: {}, headers: {}, payload: { text: "Go" } })
      for (const times of [1, 2, 3]) {
        expect(yield* suggestions, String(times)).toEqual([])
        const { properties } = yield* events.first("permission.asked")
        yield* api.asks.reply({ path: { id: properties.id }, payload: { answer: "once" } })
      }
      yield* events.first("session.idle")
      expect(yield* suggestions).toEqual([{ permission: "change", pattern: "it *", times: 3 }])
    }).pipe(
      Effect.scoped,
      Effect.provide(serving({
        build: [...[1, 2, 3].map((step) => Scripted.call("change", { step })), "done"]
      }, { tools: [asking] }))
    ))
})
