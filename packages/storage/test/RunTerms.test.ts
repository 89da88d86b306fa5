/** What bounds a run is stored with it, and found by the process that continues it. */
import { describe, expect, it } from "@effect/vitest"
import { Bus } from "@skein/core/Bus"
import { Journal } from "@skein/core/Journal"
import { Owner } from "@skein/core/Owner"
import { Session } from "@skein/core/Session"
import { exportTree, importTree } from "@skein/core/SessionArchive"
import { SessionStorage, type Write } from "@skein/core/SessionStorage"
import type { Places } from "@skein/core/StorageFilter"
import { Ids, RunID, SessionID } from "@skein/domain/Id"
import type { TaskRun } from "@skein/domain/Outcome"
import type { PermissionConfig, Ruleset } from "@skein/domain/Rule"
import * as Sqlite from "@skein/storage/Sqlite"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { join } from "node:path"
import { sessionOf } from "./support/rows.ts"
import { sql } from "./support/sql.ts"
import { temporary } from "./support/startProcess.ts"

type Storage = Context.Tag.Service<SessionStorage>

const bytesOf = (text: string) => Stream.encodeText(Stream.make(text))

const inFile = Effect.map(temporary, (directory) => join(directory, "skein.db"))
const opened = (layer: Layer.Layer<SessionStorage, unknown>) =>
  Effect.map(Layer.build(layer), (context) => Context.get(context, SessionStorage))
const backends = {
  memory: opened(SessionStorage.layerMemory),
  SQLite: Effect.flatMap(inFile, (filename) => opened(Sqlite.layer({ filename })))
}

const touch = SkeinTest.tool("touch", ({ path }) => Effect.succeed(`touched ${String(path)}`), {
  permission: "edit",
  authorise: ({ path }) =>
    Effect.succeed([{ permission: "edit", patterns: [String(path)], always: ["*"], metadata: {} }])
})
const touching = Scripted.call("touch", { path: "x" }, { path: "y" })
const touched = [expect.stringContaining("a rule forbids"), "touched y"]

/** A process on this storage: nothing that it does after its death is stored. */
const process = <A, E>(
  name: string,
  storage: Storage,
  rules: PermissionConfig,
  scripts: Parameters<typeof SkeinTest.layer>[0],
  program: Effect.Effect<A, E, Layer.Layer.Success<ReturnType<typeof SkeinTest.layer>>>
) =>
  Effect.provide(
    program,
    SkeinTest.layer(scripts, {
      rules,
      tools: [touch],
      storage: Layer.succeed(SessionStorage, storage),
      owner: Layer.succeed(Owner, {
        id: name,
        isGone: () => Effect.succeed(true),
        evict: () => Effect.succeed(true)
      })
    })
  )

/** A storage that stores nothing any more once its process is dead. Its scope can still close. */
const mortal = (storage: Storage) => {
  const { mail } = storage
  let isDead = false
  return {
    storage: {
      ...storage,
      commit: (writes: ReadonlyArray<Write>, onStored?: (places: Places) => void) =>
        Effect.suspend(() => isDead ? Effect.interrupt : storage.commit(writes, onStored)),
      ...(mail === undefined ? {} : { mail: Effect.suspend(() => isDead ? Effect.never : mail) })
    },
    die: Effect.sync(() => {
      isDead = true
    })
  }
}

const strict = { edit: { "*": "allow", x: "deny" } } as const
const lax = { edit: "allow" } as const

const begin = Effect.gen(function*() {
  const { id } = yield* Session.create({ directory: "/work", agent: "build", title: "Test" })
  yield* Session.prompt(id, "Go")
  return id
})

/** The results of the calls of the only task of a tree. */
const resultsOf = Effect.fnUntraced(function*(root: SessionID) {
  const session = yield* Session
  const [child] = yield* session.children(root)
  const messages = yield* session.messages(child!.id)
  return messages.flatMap(({ parts }) =>
    parts.flatMap((part) =>
      part.type !== "tool" ? [] : part.state.status === "completed"
        ? [part.state.output]
        : part.state.status === "error"
        ? [part.state.error.message]
        : [part.state.status]
    )
  )
})

const archives = (storage: Storage) =>
  Layer.fresh(
    Journal.layer.pipe(
      Layer.provideMerge(Layer.mergeAll(Layer.succeed(SessionStorage, storage), Bus.layer, Ids.layer))
    )
  )

for (const [name, backend] of Object.entries(backends)) {
  describe(`on ${name}`, () => {
    it.scopedLive("a task keeps its denials after a restart with a laxer config", () =>
      Effect.gen(function*() {
        const storage = yield* backend
        const first = mortal(storage)
        const working = yield* Deferred.make<void>()
        const scripts = {
          build: [Scripted.tasks({ general: "p" })],
          general: () => Effect.zipRight(Deferred.succeed(working, undefined), Effect.never)
        }
        yield* Effect.forkScoped(process("first", first.storage, strict, scripts, begin))
        yield* Deferred.await(working)
        yield* first.die
        const [root] = (yield* storage.sessions({ roots: true })).rows
        const results = yield* process(
          "second",
          storage,
          lax,
          { build: ["Done"], general: [touching, "Done"] },
          Effect.gen(function*() {
            const session = yield* Session
            yield* session.resume(root!.id)
            yield* session.untilIdle(root!.id)
            return yield* resultsOf(root!.id)
          })
        )
        expect(results).toEqual(touched)
      }))

    it.scopedLive("an imported task keeps them, too", () =>
      Effect.gen(function*() {
        const from = yield* backend
        const root = yield* process(
          "first",
          from,
          strict,
          { build: [Scripted.tasks({ general: "p" }), "Done"], general: ["Done"] },
          begin
        )
        const pieces: Array<string> = []
        yield* Effect.provide(
          exportTree(root, (piece) => Effect.sync(() => void pieces.push(piece))),
          archives(from)
        )
        const to = yield* backend
        const copy = yield* Effect.provide(importTree(bytesOf(pieces.join("")), { copy: true }), archives(to))
        const results = yield* process(
          "second",
          to,
          lax,
          { general: [touching, "Done"] },
          Effect.gen(function*() {
            const session = yield* Session
            const [child] = yield* session.children(copy.id)
            yield* session.prompt(child!.id, "Once more")
            return yield* resultsOf(copy.id)
          })
        )
        expect(results).toEqual(touched)
      }))
  })
}

it.scopedLive("a task whose run cannot be read may do nothing until it is resumed", () =>
  Effect.gen(function*() {
    const filename = yield* inFile
    const scripts = { build: [Scripted.tasks({ general: "p" }), "Done"], general: ["Done"] }
    const root = yield* Effect.flatMap(
      opened(Sqlite.layer({ filename })),
      (storage) => process("first", storage, lax, scripts, begin)
    ).pipe(Effect.scoped)
    yield* sql(filename, "UPDATE run SET data = '{'")
    const storage = yield* opened(Sqlite.layer({ filename }))
    const results = yield* process(
      "second",
      storage,
      lax,
      { general: [touching, "Done"] },
      Effect.gen(function*() {
        const session = yield* Session
        const [child] = yield* session.children(root)
        yield* session.prompt(child!.id, "Once more")
        return yield* resultsOf(root)
      })
    )
    expect(results).toEqual([expect.stringContaining("no tool"), expect.stringContaining("no tool")])
  }))

const ses = SessionID.make("ses_a")
const rules: Ruleset = Array.from({ length: 50 }, (_, at) => ({
  permission: "edit",
  pattern: `directory/${at}/*`,
  action: "deny" as const
}))
const run = (at: number): TaskRun => ({
  id: RunID.make(`run_${at}`),
  taskID: ses,
  parentID: ses,
  rootID: ses,
  agent: "general",
  description: "d",
  prompt: "p",
  background: false,
  terms: { ceilings: [rules], rules: [rules], shared: [rules.slice(1)] },
  state: "running",
  time: { created: 1 }
})

describe("sets of rules", () => {
  it.scoped("are stored once, however many runs they bound", () =>
    Effect.gen(function*() {
      const filename = yield* inFile
      yield* Effect.gen(function*() {
        const storage = yield* SessionStorage
        yield* storage.commit([{ _tag: "Session", info: sessionOf(ses, "a") }])
        for (let at = 0; at < 100; at++) yield* storage.commit([{ _tag: "Run", run: run(at) }])
        const { rows } = yield* storage.runs({})
        expect(rows.map(({ terms }) => terms)).toEqual(rows.map(() => run(0).terms))
      }).pipe(Effect.provide(Sqlite.layer({ filename })))
      expect(yield* sql(filename, "SELECT count(*) AS count FROM ruleset")).toEqual([{ count: 2 }])
      const [size] = yield* sql<{ readonly bytes: number }>(
        filename,
        "SELECT max(length(data) + length(terms)) AS bytes FROM run"
      )
      expect(size?.bytes).toBeLessThan(450)
    }))

  it.scoped("deny everything if they are missing or cannot be read", () =>
    Effect.gen(function*() {
      const filename = yield* inFile
      const everything = [{ permission: "*", pattern: "*", action: "deny" }]
      const termsOf = Effect.flatMap(SessionStorage, (storage) => storage.runs({})).pipe(
        Effect.map(({ rows }) => rows.map(({ terms }) => terms)),
        Effect.provide(Sqlite.layer({ filename }))
      )
      yield* Effect.flatMap(
        SessionStorage,
        (storage) => storage.commit([{ _tag: "Session", info: sessionOf(ses, "a") }, { _tag: "Run", run: run(1) }])
      ).pipe(Effect.provide(Sqlite.layer({ filename })))
      yield* sql(filename, `UPDATE ruleset SET data = '{' WHERE data LIKE '%directory/0/%'`)
      expect(yield* termsOf).toEqual([{ ...run(1).terms, ceilings: [everything], rules: [everything] }])
      yield* sql(filename, "DELETE FROM ruleset")
      expect(yield* termsOf).toEqual([{ ceilings: [everything], rules: [everything], shared: [everything] }])
      yield* sql(filename, "UPDATE run SET terms = '{'")
      expect(yield* termsOf).toEqual([{ ceilings: [everything], rules: [], shared: [] }])
    }))
})
