import type { ResolvedMigration } from "@effect/sql/Migrator"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { migrations } from "../../src/internal/migrations.ts"
import { migration } from "../../src/internal/schema.ts"
import { connect, execute } from "../../src/internal/sqliteConnection.ts"
import { migrate, schemaOf } from "../../src/internal/sqliteMigrate.ts"

const file = ":memory:"
const adds = (id: number, ...statements: ReadonlyArray<string>): ResolvedMigration => [
  id,
  `m${id}`,
  Effect.succeed(migration(() => statements))
]
const applied = (
  id: number
): ResolvedMigration => [id, `m${id}`, Effect.dieMessage("this migration was applied before")]

const tables = (connection: Effect.Effect.Success<ReturnType<typeof connect>>) =>
  Effect.map(
    execute(connection, file, "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name"),
    (rows) => rows.map((row) => row["name"])
  )

describe("migrate", () => {
  it.scoped("applies missing migrations in order, and nothing else", () =>
    Effect.gen(function*() {
      const connection = yield* connect(file)
      yield* migrate(connection, file, [adds(1, "CREATE TABLE a (x)")])
      expect(yield* schemaOf(connection, file)).toBe(1)
      yield* migrate(connection, file, [
        applied(1),
        adds(2, "CREATE TABLE b (x)", "CREATE TABLE d (x)"),
        adds(3, "ALTER TABLE d RENAME TO c")
      ])
      expect(yield* schemaOf(connection, file)).toBe(3)
      expect(yield* tables(connection)).toEqual(["a", "b", "c", "skein_migration"])
      yield* migrate(connection, file, [applied(1), applied(2), applied(3)])
    }))

  it.scoped("leaves a file unchanged when a migration fails", () =>
    Effect.gen(function*() {
      const connection = yield* connect(file)
      yield* migrate(connection, file, [adds(1, "CREATE TABLE a (x)")])
      const failed = migrate(connection, file, [
        applied(1),
        adds(2, "CREATE TABLE b (x)"),
        adds(3, "CREATE TABLE a (x)")
      ])
      expect((yield* Effect.flip(failed)).message).toContain("already exists")
      expect(yield* schemaOf(connection, file)).toBe(1)
      expect(yield* tables(connection)).toEqual(["a", "skein_migration"])
      yield* migrate(connection, file, [applied(1), adds(2, "CREATE TABLE b (x)")])
    }))

  it.scoped("reports that the disk is full, and leaves the file unchanged", () =>
    Effect.gen(function*() {
      const connection = yield* connect(file)
      yield* migrate(connection, file, [adds(1, "CREATE TABLE a (x)")])
      yield* execute(connection, file, "PRAGMA max_page_count = 20")
      const big = adds(2, "CREATE TABLE b (x)", "INSERT INTO b VALUES (zeroblob(1000000))")
      const error = yield* Effect.flip(migrate(connection, file, [applied(1), big]))
      expect(error.reason).toBe("full")
      expect(yield* schemaOf(connection, file)).toBe(1)
      expect(yield* tables(connection)).toEqual(["a", "skein_migration"])
      yield* migrate(connection, file, [applied(1), adds(2, "CREATE TABLE b (x)")])
      expect(yield* schemaOf(connection, file)).toBe(2)
    }))

  it.scoped("trusts the schema version of a file, whatever was recorded", () =>
    Effect.gen(function*() {
      const connection = yield* connect(file)
      yield* migrate(connection, file, [adds(1, "CREATE TABLE a (x)"), adds(2, "CREATE TABLE b (x)")])
      yield* execute(connection, file, "DROP TABLE b")
      yield* execute(connection, file, "PRAGMA user_version = 1")
      yield* migrate(connection, file, [applied(1), adds(2, "CREATE TABLE b (x)")])
      expect(yield* tables(connection)).toEqual(["a", "b", "skein_migration"])
    }))

  it.scoped("refuses an unknown schema", () =>
    Effect.gen(function*() {
      const connection = yield* connect(file)
      yield* migrate(connection, file, [adds(1, "CREATE TABLE a (x)"), adds(2, "CREATE TABLE b (x)")])
      expect((yield* Effect.flip(migrate(connection, file, [applied(1)]))).reason).toBe("newer")
    }))

  it.scoped("has a separate file for every migration", () =>
    Effect.gen(function*() {
      const connection = yield* connect(file)
      yield* migrate(connection, file)
      expect(yield* schemaOf(connection, file)).toBe(migrations.length)
    }))
})
