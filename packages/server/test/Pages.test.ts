/** Proves that lists have pages, which together are the whole list. */
import { describe, expect, it } from "@effect/vitest"
import { Session } from "@skein/core/Session"
import { SessionID } from "@skein/domain/Id"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { follow } from "./support/events.ts"
import { client, post, send, serving } from "./support/server.ts"

interface Operation {
  readonly parameters?: ReadonlyArray<{ readonly name: string }>
  readonly responses: Readonly<Record<string, unknown>>
}

const script = {
  build: [Scripted.tasks({ worker: "a" }, { worker: "b" }, { worker: "c" }), "done"],
  worker: ["worked"]
}
const note = SkeinTest.tool("note", () => Effect.succeed("noted"))

const change = SkeinTest.tool("change", () => Effect.succeed("changed"), {
  authorise: () => Effect.succeed([{ permission: "change", patterns: ["it"], always: ["it"], metadata: {} }])
})

const stack = serving(script, { agents: [SkeinTest.agent("worker")] })

describe("lists", () => {
  it.live("all have pages", () =>
    Effect.gen(function*() {
      const paths = (yield* send("/openapi.json")).json()["paths"] as Readonly<
        Record<string, { readonly get?: Operation }>
      >
      const lists = Object.entries(paths).flatMap(([path, { get }]) =>
        get !== undefined && JSON.stringify(get.responses["200"] ?? {}).includes("\"items\":{\"type\":\"array\"")
          ? [{ path, names: (get.parameters ?? []).map(({ name }) => name) }]
          : []
      )
      expect(lists.length).toBeGreaterThan(12)
      const unpaged = lists.filter(({ names, path }) =>
        path !== "/v1/ids" && !(names.includes("limit") && names.includes("cursor"))
      )
      expect(unpaged).toEqual([])
    }).pipe(Effect.provide(stack)))

  it.live("are the same in pages as at once", () =>
    Effect.gen(function*() {
      const api = yield* client
      const { id } = yield* api.sessions.create({ headers: {}, payload: { directory: process.cwd() } })
      yield* Session.prompt(SessionID.make(id), "Go")
      const about = `directory=${encodeURIComponent(process.cwd())}&`
      for (
        const list of [
          `/v1/sessions/${id}/children?`,
          `/v1/tasks?session=${id}&`,
          "/v1/tasks?",
          `/v1/sessions/${id}/messages?`,
          `/v1/agents?hidden=true&${about}`
        ]
      ) {
        const all = (yield* send(`${list}limit=500`)).json()["items"] as ReadonlyArray<unknown>
        expect(all.length, list).toBeGreaterThan(2)
        const read: Array<unknown> = []
        let cursor = ""
        do {
          const { items, next = "" } = (yield* send(`${list}limit=2${cursor}`)).json() as {
            readonly items: ReadonlyArray<unknown>
            readonly next?: string
          }
          expect(items.length, list).toBeLessThanOrEqual(2)
          read.push(...items)
          cursor = next === "" ? "" : `&cursor=${next}`
        } while (cursor !== "")
        expect(read, list).toEqual(all)
        expect((yield* send(`${list}cursor=nonsense`)).status, list).toBe(400)
      }
    }).pipe(Effect.provide(stack)))

  it.live("go on where they were when an item of the last page is gone", () =>
    Effect.gen(function*() {
      const api = yield* client
      const { id } = yield* api.sessions.create({ headers: {}, payload: { directory: process.cwd() } })
      const events = yield* follow(id)
      yield* post(`/v1/sessions/${id}/prompt`, { text: "Go" })
      const asking = Stream.filterMap(events.stored, ({ event }) =>
        event.type === "permission.asked" ? Option.some(event.properties.id) : Option.none())
      const asked = Array.from(yield* Stream.runCollect(Stream.take(asking, 3))).toSorted()
      const first = yield* api.asks.list({ urlParams: { limit: 1 } })
      const [shown] = first.items
      yield* api.asks.reply({ path: { id: shown?.id ?? "" }, payload: { answer: "once" } })
      const rest = yield* api.asks.list({ urlParams: { limit: 2, cursor: first.next } })
      expect(rest).toEqual({
        items: asked.filter((each) =>
          each !== shown?.id
        ).map((each) => expect.objectContaining({ id: each }))
      })
    }).pipe(
      Effect.scoped,
      Effect.provide(serving({
        build: [Scripted.tasks({ worker: "a" }, { worker: "b" }, { worker: "c" }), "done"],
        worker: [Scripted.call("change", {}), "worked"]
      }, { agents: [SkeinTest.agent("worker")], tools: [change] }))
    ))
})

describe("a tree", () => {
  it.live("in pages is the whole tree, with its timeline", () =>
    Effect.gen(function*() {
      const api = yield* client
      const { id } = yield* api.sessions.create({ headers: {}, payload: { directory: process.cwd() } })
      yield* Session.prompt(SessionID.make(id), "Go")
      const path = { id }
      const tree = yield* api.sessions.tree({ path, urlParams: {} })
      expect([tree.sessions.length, tree.tasks.length, tree.next]).toEqual([4, 3, undefined])
      const first = yield* api.sessions.tree({ path, urlParams: { limit: 3 } })
      const second = yield* api.sessions.tree({ path, urlParams: { limit: 3, cursor: first.next } })
      expect([...first.sessions, ...second.sessions]).toEqual(tree.sessions)
      expect(new Set([...first.tasks, ...second.tasks])).toEqual(new Set(tree.tasks))
      expect([second.sessions.length, second.tasks.length, second.next]).toEqual([1, 1, undefined])
      const timeline = yield* api.sessions.timeline({ path, urlParams: {} })
      expect(timeline.sessions.map(({ sessionID }) => sessionID)).toEqual(tree.sessions.map((each) => each.id))
      const found: Array<unknown> = []
      let cursor: string | undefined
      do {
        const page = yield* api.sessions.timeline({ path, urlParams: { limit: 1, cursor } })
        expect(page.sessions).toHaveLength(1)
        found.push(...page.sessions)
        cursor = page.next
      } while (cursor !== undefined)
      expect(found).toEqual(timeline.sessions)
      for (const  of of["tree", "timeline"]) {
        expect((yield* send(`/v1/sessions/${id}/${of}?cursor=nonsense`)).status).toBe(400)
        expect((yield* send(`/v1/sessions/${id}/${of}?limit=501`)).status).toBe(400)
      }
    }).pipe(Effect.provide(stack)))

  it.live("with a long session has the spans of it in parts", () =>
    Effect.gen(function*() {
      const api = yield* client
      const { id } = yield* api.sessions.create({ headers: {}, payload: { directory: process.cwd() } })
      yield* Session.prompt(SessionID.make(id), "Go")
      const { sessions } = yield* api.sessions.timeline({ path: { id }, urlParams: {} })
      expect(sessions.map(({ sessionID, spans }) => [sessionID, spans.length])).toEqual([[id, 500], [
        id,
        expect.any(Number)
      ]])
      const ids = sessions.flatMap(({ spans }) => spans.map((span) => span.id))
      expect(new Set(ids).size).toBe(ids.length)
      expect(ids.length).toBeGreaterThanOrEqual(602)
    }).pipe(Effect.provide(serving({
      build: [
        ...Array.from({ length: 6 }, (_, step) =>
          Scripted.call("note", ...Array.from({ length: 100 }, (__, at) => ({ note: `${step} ${at}` })))),
        "done"
      ]
    }, { tools: [note] }))))
})
