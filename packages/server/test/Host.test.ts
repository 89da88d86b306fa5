/** Proves who may ask a server for what lies in files, and that pruning over HTTP removes what rests and nothing else. */
import { describe, expect, it } from "@effect/vitest"
import { Session } from "@skein/core/Session"
import { SessionID } from "@skein/domain/Id"
import { HostRefused, type ServerHost } from "@skein/server/ServerOptions"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import { client, post, send, serving } from "./support/server.ts"

const directory = process.cwd()

const day = 86_400_000

/** A program that answers, and notes what it was asked to forget. */
const makeHost = (removed: Array<ReadonlySet<string>> = []): ServerHost => ({
  config: () => Effect.succeed({ config: {}, origins: {}, files: [], instructions: [], warnings: [], broken: [] }),
  configSchema: Effect.succeed({ title: "Skein config" }),
  trust: () => new HostRefused({ reason: "invalid", message: "skein.json has a mistake." }),
  allowTrust: () => Effect.succeed([]),
  revokeTrust: () => Effect.succeed([]),
  worktrees: new HostRefused({ reason: "failed", message: "git is missing." }),
  cleanWorktrees: () => Effect.succeed([]),
  forget: (options) => {
    removed.push(options.removed)
    return Effect.succeed({ events: 3, texts: { files: 2, bytes: 10 } })
  }
})

const login = Effect.gen(function*() {
  const api = yield* client
  const { code } = yield* api.server.code()
  const answer = yield* post("/v1/login", { code }, { authorization: "" })
  const cookie = (answer.headers.get("set-cookie") ?? "").split(";")[0] ?? ""
  return { authorization: "", cookie, "skein-key": String(answer.json()["key"]) }
})

describe("the program of a server", () => {
  it.live("is asked for its files, and its refusals are problems", () =>
    Effect.gen(function*() {
      const place = `directory=${encodeURIComponent(directory)}`
      expect((yield* send(`/v1/config?${place}`)).json()).toMatchObject({ config: {} })
      expect((yield* send("/v1/config/schema")).json()).toEqual({ title: "Skein config" })
      expect((yield* send(`/v1/trust?${place}`)).json()).toMatchObject({ status: 422, detail: expect.any(String) })
      expect((yield* send("/v1/worktrees")).json()).toMatchObject({ status: 503, detail: "git is missing." })
      for (const path of ["/v1/config", "/v1/trust"]) {
        expect((yield* send(path)).status, path).toBe(400)
        expect((yield* send(`${path}?directory=relative`)).status, path).toBe(422)
      }
    }).pipe(Effect.provide(serving({ "*": ["ok"] }, { server: { host: makeHost() } }))))

  it.live("gives trust to the token alone: a page's login may list and revoke it", () =>
    Effect.gen(function*() {
      const page = yield* login
      const ids = ["0123456789ab"]
      expect((yield* post("/v1/trust/allow", { directory, ids }, page)).json()).toMatchObject({
        status: 403,
        type: "urn:skein:TokenNeeded"
      })
      expect((yield* post("/v1/trust/revoke", { ids }, page)).status).toBe(200)
      expect((yield* post("/v1/trust/allow", { directory, ids })).status).toBe(200)
      for (const wrong of [[], ["short"], ["../../../../etc"], [5]]) {
        expect((yield* post("/v1/trust/allow", { directory, ids: wrong })).status, String(wrong)).toBe(400)
      }
    }).pipe(Effect.provide(serving({ "*": ["ok"] }, { server: { host: makeHost() } }))))

  it.live("may be none: then there are no such routes", () =>
    Effect.gen(function*() {
      for (const path of [`/v1/config?directory=${directory}`, "/v1/config/schema", "/v1/worktrees"]) {
        expect((yield* send(path)).json(), path).toMatchObject({ status: 404, type: "urn:skein:NotOffered" })
      }
      expect((yield* post("/v1/prune", {})).status).toBe(404)
    }).pipe(Effect.provide(serving({ "*": ["ok"] }))))
})

/** A session that has not changed for so many days. */
const aged = Effect.fnUntraced(function*(days: number, at = directory) {
  const api = yield* client
  const { id } = yield* api.sessions.create({ headers: {}, payload: { directory } })
  const archive = JSON.parse((yield* send(`/v1/sessions/${id}/export`)).text)
  archive.sessions[0].info.time.updated -= days * day
  yield* api.sessions.remove({ path: { id } })
  const { json } = yield* post(`/v1/sessions/import?copy=true&directory=${encodeURIComponent(at)}`, archive)
  return String(json()["id"])
})

describe("pruning", () => {
  it.live("removes the sessions that rest, of the project that is named or of all", () => {
    const removed: Array<ReadonlySet<string>> = []
    return Effect.gen(function*() {
      const api = yield* client
      const old = yield* aged(3)
      const elsewhere = yield* aged(3, "/")
      const young = yield* aged(1)
      const ids = Effect.map(api.sessions.list({ urlParams: {} }), ({ items }) => items.map(({ id }) => id).toSorted())
      const dry = yield* post("/v1/prune", { olderThan: 2 * day, projectID: directory, dryRun: true })
      expect(dry.json()).toEqual({ dryRun: true, sessions: [old], events: 3, texts: { files: 2, bytes: 10 } })
      expect(yield* ids).toEqual([old, elsewhere, young].toSorted())
      const one = yield* post("/v1/prune", { olderThan: 2 * day, projectID: directory })
      expect(one.json()).toMatchObject({ dryRun: false, sessions: [old] })
      expect(yield* ids).toEqual([elsewhere, young].toSorted())
      expect((yield* post("/v1/prune", { olderThan: "48h", all: true })).json()).toMatchObject({
        sessions: [elsewhere]
      })
      expect((yield* post("/v1/prune", {})).json()).toMatchObject({ sessions: [] })
      expect(removed.map((each) => [...each])).toEqual([[old], [old], [elsewhere], []])
      const wrong = [{ olderThan: day }, { all: true }, { olderThan: 5, all: true }, {
        olderThan: day,
        all: true,
        projectID: "x"
      }]
      for (const body of wrong) expect((yield* post("/v1/prune", body)).status, JSON.stringify(body)).toBe(400)
    }).pipe(Effect.provide(serving({ "*": ["ok"] }, { server: { host: makeHost(removed) } })))
  })

  it.live("removes once what is asked for twice under one key, also while the first is under way", () => {
    const removed: Array<ReadonlySet<string>> = []
    return Effect.gen(function*() {
      const old = yield* aged(3)
      const prune = (body: unknown) => post("/v1/prune", body, { "idempotency-key": "p" })
      const asked = { olderThan: 2 * day, all: true }
      const both = yield* Effect.all([prune(asked), prune(asked)], { concurrency: 2 })
      const [first] = both.map(({ json }) => json())
      expect(first).toMatchObject({ dryRun: false, sessions: [old] })
      expect(both.map(({ json }) => json())).toEqual([first, first])
      expect((yield* prune(asked)).json()).toEqual(first)
      expect(removed).toHaveLength(1)
      expect((yield* prune({})).json()).toMatchObject({ status: 409, type: "urn:skein:IdempotencyKeyReused" })
    }).pipe(Effect.provide(serving({ "*": ["ok"] }, { server: { host: makeHost(removed) } })))
  })

  it.live("leaves a session alone that is at work, however old it is", () =>
    Effect.gen(function*() {
      const began = yield* Deferred.make<void>()
      yield* Effect.gen(function*() {
        const id = yield* aged(3)
        yield* Effect.fork(Session.prompt(SessionID.make(id), "Go"))
        yield* Deferred.await(began)
        expect((yield* post("/v1/prune", { olderThan: 2 * day, all: true })).json()).toMatchObject({ sessions: [] })
        expect((yield* send(`/v1/sessions/${id}`)).json()).toMatchObject({ status: { type: "busy" } })
      }).pipe(Effect.provide(
        serving({ "*": () => Effect.as(Deferred.succeed(began, undefined), { hangs: true }) }, {
          server: { host: makeHost() }
        })
      ))
    }))
})
