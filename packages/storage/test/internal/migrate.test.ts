import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { type Migration, migrations } from "../../src/internal/migrations.ts"
import { connect, execute } from "../../src/internal/sqliteConnection.ts"
import { migrate, schemaOf } from "../../src/internal/sqliteMigrate.ts"

const file = ":memory:"
const adds = (...statements: ReadonlyArray<string>) => (): Promise<Migration> => Promise.resolve({ statements })
const never = (): Promise<Migration> => Promise.reject(new Error("this migration was applied before"))

const tables = (connection: Effect.Effect.Success<ReturnType<typeof connect>>) =>
  Effect.map(
    execute(connection, file, "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name"),
    (rows) => rows.map((row) => row["name"])
  )

describe("migrate", () => {
  it.scoped("applies in order what a file lacks, and only that", () =>
    Effect.gen(function*() {
      const connection = yield* connect(file)
      yield* migrate(connection, file, [adds("CREATE TABLE a (x)")])
      expect(yield* schemaOf(connection, file)).toBe(1)
      yield* migrate(connection, file, [
        never,
        adds("CREATE TABLE b (x)", "CREATE TABLE d (x)"),
        adds("ALTER TABLE d RENAME TO c")
      ])
      expect(yield* schemaOf(connection, file)).toBe(3)
      expect(yield* tables(connection)).toEqual(["a", "b", "c"])
      yield* migrate(connection, file, [never, never, never])
    }))

  it.scoped("leaves a file as it was when a migration fails", () =>
    Effect.gen(function*() {
      const connection = yield* connect(file)
      yield* migrate(connection, file, [adds("CREATE TABLE a (x)")])
      const failed = migrate(connection, file, [never, adds("CREATE TABLE b (x)"), adds("CREATE TABLE a (x)")])
      expect((yield* Effect.flip(failed)).message).toContain("already exists")
      expect(yield* schemaOf(connection, file)).toBe(1)
      expect(yield* tables(connection)).toEqual(["a"])
      yield* migrate(connection, file, [never, adds("CREATE TABLE b (x)")])
    }))

  it.scoped("refuses a schema that it does not know", () =>
    Effect.gen(function*() {
      const connection = yield* connect(file)
      yield* migrate(connection, file, [adds("CREATE TABLE a (x)"), adds("CREATE TABLE b (x)")])
      expect((yield* Effect.flip(migrate(connection, file, [never]))).reason).toBe("newer")
    }))

  it.scoped("has every migration in a file of its own", () =>
    Effect.gen(function*() {
      const connection = yield* connect(file)
      yield* migrate(connection, file)
      expect(yield* schemaOf(connection, file)).toBe(migrations.length)
    }))
})
