/** Proves that lists have pages, which together are the whole list. */
import { describe, expect, it } from "@effect/vitest"
import { Session } from "@skein/core/Session"
import { SessionID } from "@skein/domain/Id"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import { client, send, serving } from "./support/server.ts"

/** What has no pages: questions that wait, what the files of a project declare, and the worktrees of this host. */
const whole = [
  "/v1/agents",
  "/v1/asks",
  "/v1/commands",
  "/v1/models",
  "/v1/permissions/suggestions",
  "/v1/skills",
  "/v1/trust",
  "/v1/worktrees"
]

interface Operation {
  readonly parameters?: ReadonlyArray<{ readonly name: string }>
  readonly responses: Readonly<Record<string, unknown>>
}

const script = {
  build: [Scripted.tasks({ worker: "a" }, { worker: "b" }, { worker: "c" }), "done"],
  worker: ["worked"]
}
const stack = serving(script, { agents: [SkeinTest.agent("worker")] })

describe("lists", () => {
  it.live("that grow with use have pages", () =>
    Effect.gen(function*() {
      const paths = (yield* send("/openapi.json")).json()["paths"] as Readonly<
        Record<string, { readonly get?: Operation }>
      >
      const lists = Object.entries(paths).flatMap(([path, { get }]) =>
        get !== undefined && JSON.stringify(get.responses["200"] ?? {}).includes("\"items\":{\"type\":\"array\"")
          ? [{ path, names: (get.parameters ?? []).map(({ name }) => name) }]
          : []
      )
      expect(lists.length).toBeGreaterThan(whole.length + 4)
      const unpaged = lists.filter(({ names }) => !names.includes("limit")).map(({ path }) => path)
      expect(unpaged.toSorted()).toEqual(whole)
    }).pipe(Effect.provide(stack)))

  it.live("are the same in pages as at once", () =>
    Effect.gen(function*() {
      const api = yield* client
      const { id } = yield* api.sessions.create({ headers: {}, payload: { directory: process.cwd() } })
      yield* Session.prompt(SessionID.make(id), "Go")
      for (const list of [`/v1/sessions/${id}/children?`, `/v1/tasks?session=${id}&`, `/v1/sessions/${id}/messages?`]) {
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
})
