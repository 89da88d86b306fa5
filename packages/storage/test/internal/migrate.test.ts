import { describe, expect, it } from "@effect/vitest"
import { SessionStorage } from "@skein/core/SessionStorage"
import * as Sqlite from "@skein/storage/Sqlite"
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import { join } from "node:path"
import { firstSchema, latest, type Migration, migrations } from "../../src/internal/migrations.ts"
import { connect, execute } from "../../src/internal/sqliteConnection.ts"
import { migrate, schemaOf } from "../../src/internal/sqliteMigrate.ts"
import { sql, statements } from "../support/sql.ts"
import { program, temporary } from "../support/startProcess.ts"

const memory = ":memory:"
const adds = (...statements: ReadonlyArray<string>): Migration => Effect.succeed(() => statements)
const applied: Migration = Effect.dieMessage("this migration was applied before")
const first = adds("CREATE TABLE a (x)")

const tables = (connection: Effect.Effect.Success<ReturnType<typeof connect>>) =>
  Effect.map(
    execute(connection, memory, "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name"),
    (rows) => rows.map((row) => row["name"])
  )

describe("migrate", () => {
  it.scoped("applies missing migrations in order, and nothing else", () =>
    Effect.gen(function*() {
      const connection = yield* connect(memory)
      yield* migrate(connection, memory, [first])
      expect(yield* schemaOf(connection, memory)).toBe(firstSchema)
      yield* migrate(connection, memory, [
        applied,
        adds("CREATE TABLE b (x)", "CREATE TABLE d (x)"),
        adds("ALTER TABLE d RENAME TO c")
      ])
      expect(yield* schemaOf(connection, memory)).toBe(firstSchema + 2)
      expect(yield* tables(connection)).toEqual(["a", "b", "c"])
      yield* migrate(connection, memory, [applied, applied, applied])
    }))

  it.scoped("leaves a file unchanged when a migration fails", () =>
    Effect.gen(function*() {
      const connection = yield* connect(memory)
      yield* migrate(connection, memory, [first])
      const failed = migrate(connection, memory, [applied, adds("CREATE TABLE b (x)"), first])
      expect((yield* Effect.flip(failed)).message).toContain("already exists")
      expect(yield* schemaOf(connection, memory)).toBe(firstSchema)
      expect(yield* tables(connection)).toEqual(["a"])
      yield* migrate(connection, memory, [applied, adds("CREATE TABLE b (x)")])
    }))

  it.scoped("reports that the disk is full, and leaves the file unchanged", () =>
    Effect.gen(function*() {
      const connection = yield* connect(memory)
      yield* migrate(connection, memory, [first])
      yield* execute(connection, memory, "PRAGMA max_page_count = 20")
      const big = adds("CREATE TABLE b (x)", "INSERT INTO b VALUES (zeroblob(1000000))")
      expect((yield* Effect.flip(migrate(connection, memory, [applied, big]))).reason).toBe("full")
      expect(yield* schemaOf(connection, memory)).toBe(firstSchema)
      expect(yield* tables(connection)).toEqual(["a"])
    }))

  it.scoped("refuses a newer schema, and one from before the first release", () =>
    Effect.gen(function*() {
      const connection = yield* connect(memory)
      yield* migrate(connection, memory, [first, adds("CREATE TABLE b (x)")])
      expect((yield* Effect.flip(migrate(connection, memory, [applied]))).reason).toBe("newer")
      yield* execute(connection, memory, `PRAGMA user_version = ${firstSchema - 1}`)
      expect((yield* Effect.flip(migrate(connection, memory, [applied]))).reason).toBe("older")
    }))
})

describe("a file that a migration changes", () => {
  const next = [...migrations, adds("CREATE TABLE b (x)")]
  const versionOf = (file: string) =>
    Effect.map(sql<{ readonly user_version: number }>(file, "PRAGMA user_version"), ([row]) => row?.user_version)
  const create = (filename: string) => Effect.provide(Effect.asVoid(SessionStorage), Sqlite.layer({ filename }))
  const made = Effect.fnUntraced(function*(name = "skein.db") {
    const directory = yield* temporary
    const file = join(directory, name)
    yield* create(file)
    const change = Effect.scoped(Effect.flatMap(connect(file), (connection) => migrate(connection, file, next)))
    return { directory, file, change }
  })

  it.scoped("is copied first", () =>
    Effect.gen(function*() {
      const { change, directory, file } = yield* made()
      yield* change
      const backup = `${file}.schema-${latest}.bak`
      expect(fs.readdirSync(directory).toSorted()).toEqual(["skein.db", `skein.db.schema-${latest}.bak`])
      expect(fs.statSync(backup).mode & 0o777).toBe(0o600)
      expect([yield* versionOf(file), yield* versionOf(backup)]).toEqual([latest + 1, latest])
      // The copy is a database like any other.
      yield* create(backup)
    }))

  it.scoped("overwrites no older copy", () =>
    Effect.gen(function*() {
      const { change, file } = yield* made()
      const backup = `${file}.schema-${latest}`
      fs.writeFileSync(`${backup}.bak`, "one")
      fs.writeFileSync(`${backup}-2.bak`, "two")
      yield* change
      expect(fs.readFileSync(`${backup}.bak`, "utf8")).toBe("one")
      expect(fs.readFileSync(`${backup}-2.bak`, "utf8")).toBe("two")
      expect(yield* versionOf(`${backup}-3.bak`)).toBe(latest)
    }))

  it.scoped("stays as it is if the copy cannot be made, which is said", () =>
    Effect.gen(function*() {
      // The name of the copy exceeds the limit, that of the file does not.
      const { change, directory, file } = yield* made(`${"x".repeat(240)}.db`)
      const error = yield* Effect.flip(change)
      expect(error.message).toMatch(/newer schema, and no copy.*left as it is/)
      expect(error.message).toContain(`.schema-${latest}.bak`)
      expect(fs.readdirSync(directory)).toHaveLength(1)
      expect(yield* versionOf(file)).toBe(latest)
    }))

  it.scoped("is refused and unchanged if it is from before the first release, and says how to keep its sessions", () =>
    Effect.gen(function*() {
      const { directory, file } = yield* made()
      yield* statements(file, ["PRAGMA user_version = 8", "PRAGMA wal_checkpoint(TRUNCATE)"])
      const before = fs.readFileSync(file)
      const error = yield* Effect.flip(create(file))
      expect(error).toMatchObject({
        reason: "older",
        message: expect.stringMatching(/schema 8.*skein sessions export/)
      })
      expect(fs.readFileSync(file).equals(before)).toBe(true)
      expect(fs.readdirSync(directory)).toEqual(["skein.db"])
    }))

  it.scoped("is made once by several processes, without a copy", () =>
    Effect.gen(function*() {
      const start = yield* program
      const directory = yield* temporary
      const file = join(directory, "skein.db")
      const started = yield* Effect.forEach([1, 2, 3, 4], () => start(["open", file]))
      const ended = yield* Effect.forEach(started, (each) => each.ended)
      expect(ended.map(({ code, err }) => ({ code, err }))).toEqual(started.map(() => ({ code: 0, err: "" })))
      expect(fs.readdirSync(directory).filter((name) => !/-(?:wal|shm)$/.test(name))).toEqual(["skein.db"])
      expect(yield* versionOf(file)).toBe(latest)
    }), 60_000)
})
