/** Proves that a stop ends a tree permanently, also what of it cannot be read, and fails where it cannot be stored. */
import { describe, expect, it } from "@effect/vitest"
import { Session } from "@skein/core/Session"
import { SessionStorage } from "@skein/core/SessionStorage"
import type { SessionID } from "@skein/domain/Id"
import * as Sqlite from "@skein/storage/Sqlite"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { join } from "node:path"
import { sql } from "./support/sql.ts"
import { temporary } from "./support/startProcess.ts"

const stack = (filename: string, scripts: SkeinTest.Scripts) =>
  SkeinTest.layer(scripts, {
    storage: Layer.orDie(Sqlite.layer({ filename })),
    agents: [SkeinTest.agent("worker")]
  })

/** A database with a tree: a subagent works in it whose process has died, or nothing does. */
const databases = {
  "an interrupted tree": Effect.fnUntraced(function*(filename: string) {
    const works = yield* Deferred.make<void>()
    const worker = () => Effect.as(Deferred.succeed(works, undefined), { hangs: true } as const)
    return yield* Effect.gen(function*() {
      const session = yield* Session
      const { id } = yield* session.create({ directory: "/work" })
      yield* Effect.fork(session.prompt(id, "Go"))
      yield* Deferred.await(works)
      yield* session.leave(id)
      return id
    }).pipe(Effect.provide(stack(filename, { build: [Scripted.tasks({ worker: "Work" }), "done"], worker })))
  }),
  "an idle tree": (filename: string) =>
    Effect.gen(function*() {
      const session = yield* Session
      const { id } = yield* session.create({ directory: "/work" })
      yield* session.prompt(id, "Go")
      return id
    }).pipe(Effect.provide(stack(filename, { "*": ["done"] })))
}

const waiting = (data: string) => (id: SessionID) =>
  `INSERT INTO inbox (id, session_id, kind, data, version) VALUES ('msg_01m84zzzzz0000aaaaaaaa', '${id}', 'prompt', '${data}', 1)`

const damages: Readonly<Record<string, (id: SessionID) => string>> = {
  "a prompt that cannot be read": waiting("{broken"),
  "a prompt that nobody has read": (id) =>
    waiting(JSON.stringify({
      id: "msg_01m84zzzzz0000aaaaaaaa",
      sessionID: id,
      kind: "prompt",
      parts: [{ type: "text", text: "later" }],
      time: { created: 1 }
    }))(id),
  "a run of an unknown state": (id) =>
    `INSERT INTO run (id, task_id, parent_id, root_id, state, data, version)
      VALUES ('run_01m84zzzzz0000aaaaaaaa', '${id}', '${id}', '${id}', 'weird', '{"state":"weird"}', 1)`,
  "unreadable runs": () => `UPDATE run SET data = '{"state":"weird"}'`,
  "an unreadable subagent": () => `UPDATE session SET data = json_remove(data, '$.title') WHERE parent_id IS NOT NULL`,
  "unreadable messages to subagents": () =>
    `INSERT INTO inbox (id, session_id, kind, data, version)
      SELECT 'msg_01m84zzzzz0000aaaaaaaa', id, 'steer', '{broken', 1 FROM session WHERE parent_id IS NOT NULL`,
  "unreadable calls": () => "UPDATE part SET data = '{' WHERE type = 'tool'",
  "unreadable answers": () => "UPDATE message SET data = '{' WHERE role = 'assistant'",
  "unreadable events": () => "UPDATE event SET data = '{', ref = NULL",
  "events of an unknown kind": () => "UPDATE event SET type = 'thread.spun'"
}

describe("a stop", () => {
  for (const [tree, make] of Object.entries(databases)) {
    for (const [damage, statement] of Object.entries(damages)) {
      it.scopedLive(`ends ${tree} with ${damage}`, () =>
        Effect.gen(function*() {
          const filename = join(yield* temporary, "skein.db")
          const id = yield* make(filename)
          yield* sql(filename, statement(id))
          yield* Effect.gen(function*() {
            const session = yield* Session
            const { unfinished } = yield* SessionStorage
            yield* session.stop(id)
            expect(yield* unfinished).toEqual([])
            // Nothing of it wakes again by itself.
            yield* session.resume(id)
            expect([yield* session.status(id), yield* unfinished]).toEqual([{ type: "idle" }, []])
          }).pipe(Effect.provide(stack(filename, { "*": ["woken"] })))
        }))
    }
  }

  it.scopedLive("finds what another program has stored in a tree that is in memory", () =>
    Effect.gen(function*() {
      const filename = join(yield* temporary, "skein.db")
      yield* Effect.gen(function*() {
        const session = yield* Session
        const { unfinished } = yield* SessionStorage
        const { id } = yield* session.create({ directory: "/work" })
        yield* session.prompt(id, "Go")
        yield* sql(filename, waiting("{broken")(id))
        expect(yield* unfinished).toEqual([id])
        yield* session.stop(id)
        expect(yield* unfinished).toEqual([])
      }).pipe(Effect.provide(stack(filename, { "*": ["done"] })))
    }))

  it.scopedLive("of one subagent leaves the unreadable rows of others as they are", () =>
    Effect.gen(function*() {
      const filename = join(yield* temporary, "skein.db")
      const id = yield* databases["an interrupted tree"](filename)
      yield* sql(filename, damages["a run of an unknown state"]?.(id) ?? "")
      yield* Effect.gen(function*() {
        const session = yield* Session
        const storage = yield* SessionStorage
        const [child] = (yield* storage.sessions({ parentID: id })).rows
        yield* session.stop(child?.id ?? id)
        expect((yield* storage.runs({ rootID: id, unsettled: true })).unreadable).toHaveLength(1)
      }).pipe(Effect.provide(stack(filename, { "*": ["woken"] })))
    }))

  it.scopedLive("keeps the rows that it could not read, for a version that can", () =>
    Effect.gen(function*() {
      const filename = join(yield* temporary, "skein.db")
      const id = yield* databases["an interrupted tree"](filename)
      yield* sql(filename, `UPDATE run SET data = json_set(data, '$.agent', 7)`)
      const rows = () => sql<{ readonly data: string }>(filename, "SELECT data FROM run")
      const before = yield* rows()
      yield* Effect.flatMap(Session, (session) => session.stop(id)).pipe(
        Effect.provide(stack(filename, { "*": ["woken"] }))
      )
      expect(yield* rows()).toEqual(before)
      yield* sql(filename, `UPDATE run SET data = json_set(data, '$.agent', 'worker')`)
      yield* Effect.gen(function*() {
        const session = yield* Session
        const storage = yield* SessionStorage
        yield* session.prompt(id, "What is it?")
        expect((yield* storage.runs({ rootID: id })).rows).toMatchObject([
          { state: "settled", outcome: { status: "stopped" } }
        ])
      }).pipe(Effect.provide(stack(filename, { "*": ["woken"] })))
    }))

  it.scopedLive("that cannot be stored says why, and the program ends all the same", () =>
    Effect.gen(function*() {
      const filename = join(yield* temporary, "skein.db")
      const id = yield* databases["an interrupted tree"](filename)
      yield* sql(filename, "UPDATE event_counter SET last = last - 1")
      const error = yield* Effect.flatMap(Session, (session) => Effect.flip(session.stop(id))).pipe(
        Effect.provide(stack(filename, { "*": ["woken"] }))
      )
      expect(error).toMatchObject({ _tag: "StorageError", reason: "constraint" })
    }))
})
