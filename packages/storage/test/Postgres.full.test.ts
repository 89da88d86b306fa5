import { describe, expect, it } from "@effect/vitest"
import type { SessionStorage, Write } from "@skein/core/SessionStorage"
import type { ControlRow } from "@skein/domain/Control"
import { ControlID, EventID, MessageID, SessionID } from "@skein/domain/Id"
import type { InboxRow } from "@skein/domain/InboxRow"
import * as Postgres from "@skein/storage/Postgres"
import { share } from "@skein/testing/Seeds"
import { sessionStorageSuite } from "@skein/testing/SessionStorageSuite"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import { agreesWithMemory } from "./support/agreement.ts"
import { newSchema, open, withServer } from "./support/postgres.ts"
import { sessionOf } from "./support/rows.ts"

const ses = (name: string) => SessionID.make(`ses_${name}`)
const root = ses("root")

const event = (id: string, sessionID = root): Write => ({
  _tag: "Event",
  event: {
    id: EventID.make(`evt_${id}`),
    type: "session.idle",
    timestamp: 1,
    sessionID,
    rootID: sessionID,
    depth: 0,
    properties: {}
  }
})

const row = (name: string, more: Partial<InboxRow> = {}): InboxRow => ({
  id: MessageID.make(`msg_${name}`),
  sessionID: root,
  kind: "steer",
  parts: [{ type: "text", text: name }],
  time: { created: 1 },
  ...more
})

const put = (title: string): Write => ({ _tag: "Session", info: sessionOf(root, title) })

await withServer((server) => {
  const schemas = new Map<string, string>()
  sessionStorageSuite({
    name: "PostgreSQL",
    layer: (directory) => {
      const schema = schemas.get(directory) ?? newSchema()
      schemas.set(directory, schema)
      return Postgres.layer({ url: server.url(), schema })
    },
    lasts: true
  })

  describe("PostgreSQL", () => {
    it.effect(
      "agrees with memory after any sequence of commits",
      () => agreesWithMemory(() => Postgres.layer({ url: server.url(), schema: newSchema() }), share(10)),
      60_000
    )

    it.scoped("preserves what PostgreSQL rejects: U+0000, lone surrogates, and their escapes", () =>
      Effect.gen(function*() {
        const storage = yield* open(server.url(), newSchema())
        const odd = ["\0", "\u001a0000", "\u001a", "a\0b\ud800", "\udc00\ud800", "\ud83e\uddf5"]
        for (const [index, text] of odd.entries()) {
          const info = sessionOf(ses(`${index}`), text, { projectID: text, directory: `/${text}`, agent: text })
          const approval = { id: `${index}`, projectID: text, permission: text, pattern: `${text}*`, created: 1 }
          yield* storage.commit([{ _tag: "Session", info }, { _tag: "Approval", approval }])
          expect((yield* storage.sessions({ projectID: text })).rows).toEqual([info])
          expect(yield* storage.approvals(text)).toEqual([approval])
        }
      }))

    it.scoped("sorts names by their bytes, and keeps times with fractions", () =>
      Effect.gen(function*() {
        const storage = yield* open(server.url(), newSchema())
        const names = ["a", "B", "b", "A", "_"]
        const info = sessionOf(root, "t", { time: { created: 0.1, updated: 1e15 + 0.5 } })
        const approvals = names.map((id) => ({
          id,
          projectID: "project",
          permission: "bash",
          pattern: "*",
          created: 1.5
        }))
        yield* storage.commit([
          { _tag: "Session", info },
          ...approvals.map((approval): Write => ({ _tag: "Approval", approval }))
        ])
        expect((yield* storage.approvals("project")).map(({ id }) => id)).toEqual(["A", "B", "_", "a", "b"])
        expect(yield* storage.approvals("project")).toEqual(expect.arrayContaining(approvals))
        expect(yield* storage.session(root)).toEqual(Option.some(info))
      }))

    it.scoped("shows the requests of another process until one of them is answered", () =>
      Effect.gen(function*() {
        const schema = newSchema()
        const ours = yield* open(server.url(), schema)
        const look = ours.mail ?? Effect.dieMessage("A database has mail")
        yield* ours.commit([put("t")])
        expect(yield* look).toEqual([])
        yield* ours.commit([put("u")])
        expect(yield* look).toBeUndefined()
        const asked: ControlRow = {
          id: ControlID.make("ctl_1"),
          sessionID: root,
          rootID: root,
          request: { type: "stop", by: "the user" },
          time: { created: 1 }
        }
        // A process that has already ended counts as another process.
        yield* Effect.scoped(Effect.gen(function*() {
          const theirs = yield* open(server.url(), schema)
          yield* theirs.commit([{ _tag: "Control", row: asked }])
        }))
        expect(yield* look).toEqual([asked])
        expect(yield* look).toBeUndefined()
        const answered: ControlRow = { ...asked, answer: { ok: true } }
        yield* ours.commit([{ _tag: "Control", row: answered }])
        const theirs = yield* open(server.url(), schema)
        expect(yield* theirs.control(asked.id)).toEqual(Option.some(answered))
      }))

    it.scopedLive(
      "shows the log to followers without a gap, while several processes write it",
      () =>
        Effect.gen(function*() {
          const schema = newSchema()
          const writers = yield* Effect.all([0, 1, 2, 3].map(() => open(server.url(), schema)))
          const reader = yield* open(server.url(), schema)
          const names = writers.flatMap((_, writer) => Array.from({ length: 20 }, (__, index) => `${writer}x${index}`))
          yield* reader.commit([put("t")])
          const follow = (after: number, found: ReadonlyArray<string>): Effect.Effect<ReadonlyArray<string>, unknown> =>
            Effect.flatMap(reader.events({ after }), (events) => {
              const all = [...found, ...events.map((logged): string => logged.event.id)]
              return all.some((id) => id === "evt_end")
                ? Effect.succeed(all)
                : follow(events.at(-1)?.position ?? after, all)
            })
          const following = yield* Effect.fork(follow(0, []))
          yield* Effect.forEach(writers, (storage, writer) =>
            Effect.forEach(
              names.filter((name) => name.startsWith(`${writer}x`)),
              (name) => storage.commit([event(name)])
            ), { concurrency: "unbounded" })
          yield* reader.commit([event("end")])
          expect((yield* Fiber.join(following)).toSorted()).toEqual(
            [...names, "end"].map((id) => `evt_${id}`).toSorted()
          )
        }),
      20_000
    )

    it.scopedLive("takes an inbox row once, when several processes take it concurrently", () =>
      Effect.gen(function*() {
        const schema = newSchema()
        const storages = yield* Effect.all([0, 1, 2, 3, 4].map(() => open(server.url(), schema)))
        const names = Array.from({ length: 20 }, (_, index) => `${index}`)
        const take = (storage: typeof SessionStorage.Service, name: string) =>
          Effect.isSuccess(storage.commit([{ _tag: "InboxTaken", id: row(name).id, sessionID: root, at: 1 }]))
        yield* Effect.forEach(storages.slice(0, 1), (storage) =>
          storage.commit([put("t"), ...names.map((name): Write => ({ _tag: "Inbox", row: row(name) }))]))
        const taken = yield* Effect.forEach(
          storages,
          (storage) =>
            Effect.forEach(names, (name) => take(storage, name), { concurrency: "unbounded" }),
          { concurrency: "unbounded" }
        )
        expect(names.map((_, index) => taken.filter((each) => each[index]).length)).toEqual(names.map(() => 1))
      }))

    it.scopedLive(
      "reads a session as one commit left it, while another process writes it",
      () =>
        Effect.gen(function*() {
          const schema = newSchema()
          const [ours, theirs] = yield* Effect.all([open(server.url(), schema), open(server.url(), schema)])
          const names = Array.from({ length: 1_200 }, (_, index) => `${index}`)
          const version = (agent: string): ReadonlyArray<Write> =>
            names.map((name) => ({
              _tag: "Message",
              info: { id: MessageID.make(`msg_${name}`), sessionID: root, role: "user", agent, time: { created: 1 } }
            }))
          yield* theirs.commit([put("t"), ...version("first")])
          const writing = yield* Effect.fork(
            Effect.forEach(names.slice(0, 15), (agent) => theirs.commit(version(agent)), { discard: true })
          )
          while ((yield* Fiber.poll(writing))._tag === "None") {
            const { rows } = yield* ours.messages(root)
            expect([rows.length, new Set(rows.map(({ info }) => info.agent)).size]).toEqual([names.length, 1])
          }
        }),
      20_000
    )

    it.scopedLive("gets its connections back after interrupted reads", () =>
      Effect.gen(function*() {
        const storage = yield* open(server.url(), newSchema())
        yield* storage.commit([put("t")])
        const reads = yield* Effect.forEach(
          Array.from({ length: 40 }, (_, index) => index),
          (index) =>
            Effect.fork(index % 2 === 0 ? Effect.asVoid(storage.messages(root)) : Effect.asVoid(storage.runs({})))
        )
        yield* Effect.yieldNow()
        yield* Fiber.interruptAll(reads)
        yield* storage.commit([put("u")])
        expect(Option.map(yield* storage.session(root), ({ title }) => title)).toEqual(Option.some("u"))
      }))

    it.scoped("acknowledges only commits on disk, even if the server is set not to wait for it", () =>
      Effect.gen(function*() {
        yield* server.sql(`CREATE DATABASE hasty`)
        yield* server.sql(`ALTER DATABASE hasty SET synchronous_commit = off`)
        const storage = yield* open(server.url("hasty"), "hasty")
        yield* server.sql(
          `CREATE FUNCTION hasty.note() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN NEW.pattern := current_setting('synchronous_commit'); RETURN NEW; END $$;
          CREATE TRIGGER note BEFORE INSERT ON hasty.approval FOR EACH ROW EXECUTE FUNCTION hasty.note()`,
          "hasty"
        )
        const approval = { id: "a", projectID: "project", permission: "bash", pattern: "*", created: 1 }
        yield* storage.commit([{ _tag: "Approval", approval }])
        expect((yield* storage.approvals("project")).map(({ pattern }) => pattern)).toEqual(["on"])
      }))
  })
})
