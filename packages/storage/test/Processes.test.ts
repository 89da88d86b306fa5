import { describe, expect, layer } from "@effect/vitest"
import { SessionStorage } from "@skein/core/SessionStorage"
import { SessionID } from "@skein/domain/Id"
import * as Sqlite from "@skein/storage/Sqlite"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { integrity } from "./support/sql.ts"
import { program, type Started, temporary } from "./support/startProcess.ts"

class Program extends Context.Tag("test/Program")<Program, Effect.Effect.Success<typeof program>>() {}

const stored = (filename: string) =>
  Effect.gen(function*() {
    const storage = yield* SessionStorage
    const { rows } = yield* storage.sessions({})
    const found = yield* Effect.forEach(rows, (info) => storage.messages(info.id))
    return new Set(found.flatMap((messages) => messages.rows.map(({ info }): string => info.id)))
  }).pipe(Effect.provide(Sqlite.layer({ filename })))

const linesOf = (out: string): ReadonlyArray<string> => out.split("\n").slice(0, -1)

describe("SQLite, used by several processes", () => {
  layer(Layer.scoped(Program, program), { timeout: "30 seconds", excludeTestServices: true })((it) => {
    it.scoped(
      "creates one database for eight concurrent processes, and stores what each of them writes",
      () =>
        Effect.gen(function*() {
          const start = yield* Program
          const filename = join(yield* temporary, "new", "skein.db")
          const names = ["a", "b", "c", "d", "e", "f", "g", "h"]
          const started = yield* Effect.forEach(names, (name) => start(["write", filename, name, "50"]))
          const ended = yield* Effect.forEach(started, (each: Started) => each.ended)
          expect(ended.map(({ code, err }) => ({ code, err }))).toEqual(names.map(() => ({ code: 0, err: "" })))
          expect((yield* stored(filename)).size).toBe(400)
          expect(yield* integrity(filename)).toBe("ok")
        }),
      60_000
    )

    it.scoped(
      "numbers the events of each tree without a gap when two processes log them concurrently",
      () =>
        Effect.gen(function*() {
          const start = yield* Program
          const filename = join(yield* temporary, "skein.db")
          const started = yield* Effect.forEach(["a", "b"], (name) => start(["log", filename, name, "200"]))
          // Both have opened the database before either logs anything.
          yield* Effect.forEach(started, ({ lines }) => lines(1))
          for (const { child } of started) child.stdin.end()
          const ended = yield* Effect.forEach(started, (each: Started) => each.ended)
          expect(ended.map(({ code, err }) => ({ code, err }))).toEqual(ended.map(() => ({ code: 0, err: "" })))
          const found = yield* Effect.gen(function*() {
            const storage = yield* SessionStorage
            return yield* Effect.forEach(
              ["shared", "a", "b"],
              (root) => storage.events({ after: 0, rootID: SessionID.make(`ses_${root}`) })
            )
          }).pipe(Effect.provide(Sqlite.layer({ filename })))
          expect(found.map((events) => events.map(({ seq }) => seq))).toEqual(
            [600, 100, 100].map((count) => Array.from({ length: count }, (_, index) => index + 1))
          )
          expect(ended.flatMap(({ out }) => linesOf(out).slice(1)).toSorted()).toEqual(
            found.flat().map(({ event, seq }) => `${event.id} ${seq}`).toSorted()
          )
        }),
      60_000
    )

    it.scoped("contains every acknowledged commit of a killed process", () =>
      Effect.gen(function*() {
        const start = yield* Program
        const filename = join(yield* temporary, "skein.db")
        const { child, ended, lines } = yield* start(["stream", filename])
        yield* lines(500)
        child.kill("SIGKILL")
        const acknowledged = linesOf((yield* ended).out)
        const found = yield* stored(filename)
        expect(acknowledged.length).toBeGreaterThanOrEqual(500)
        expect(acknowledged.filter((id) => !found.has(id))).toEqual([])
        expect(yield* integrity(filename)).toBe("ok")
      }), 60_000)

    it.scoped("waits for the lock of another process, while reads continue", () =>
      Effect.gen(function*() {
        const start = yield* Program
        const filename = join(yield* temporary, "skein.db")
        const storage = Context.get(yield* Layer.build(Sqlite.layer({ filename })), SessionStorage)
        const { child, ended, lines } = yield* start(["hold", filename])
        yield* lines(1)
        const waiting = yield* Effect.fork(storage.commit([{ _tag: "RemoveApproval", id: "none" }]))
        yield* Effect.yieldNow()
        for (let read = 0; read < 20; read++) yield* storage.session(SessionID.make("ses_none"))
        const before = yield* Fiber.poll(waiting)
        child.stdin.end()
        yield* Fiber.join(waiting)
        yield* ended
        expect(before._tag).toBe("None")
      }), 60_000)

    it.scoped("keeps its locks on a file that the same process opens twice", () =>
      Effect.gen(function*() {
        const start = yield* Program
        const filename = join(yield* temporary, "skein.db")
        yield* Effect.gen(function*() {
          const storage = yield* SessionStorage
          yield* storage.approvals("project").pipe(Effect.provide(Sqlite.layer({ filename })))
          const { ended } = yield* start(["write", filename, "a", "1"])
          expect((yield* ended).err).toBe("")
          // A process that takes itself for the last one to close a database removes its log.
          expect(existsSync(`${filename}-wal`)).toBe(true)
          yield* storage.commit([{
            _tag: "Approval",
            approval: { id: "a", projectID: "project", permission: "bash", pattern: "*", created: 1 }
          }])
        }).pipe(Effect.provide(Sqlite.layer({ filename })))
        const approvals = yield* Effect.flatMap(SessionStorage, (storage) => storage.approvals("project")).pipe(
          Effect.provide(Sqlite.layer({ filename }))
        )
        expect(approvals.map(({ id }) => id)).toEqual(["a"])
        expect((yield* stored(filename)).size).toBe(1)
      }), 60_000)
  })
})
