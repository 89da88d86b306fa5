import { describe, expect, it } from "@effect/vitest"
import { SessionStorage } from "@skein/core/SessionStorage"
import { SessionID } from "@skein/domain/Id"
import * as Postgres from "@skein/storage/Postgres"
import { place } from "@skein/storage/PostgresUrl"
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/TestClock"
import { latest, migrations } from "../src/internal/migrations.ts"
import { connect } from "../src/internal/pgConnection.ts"
import { migrate } from "../src/internal/pgMigrate.ts"
import { newSchema, open, passTime, realTime, withServer } from "./support/postgres.ts"
import { sessionOf } from "./support/rows.ts"

const id = SessionID.make("ses_a")
const info = sessionOf(id, "it's old")
await withServer((server) => {
  const refusal = (options: Postgres.Options) =>
    Effect.map(
      Effect.flip(Effect.scoped(Effect.provide(SessionStorage, Postgres.layer(options)))),
      ({ message, reason }) => {
        // Neither user nor password, in any encoding.
        expect(message).not.toMatch(/w0rd|p%40ss|secret|skein:/)
        return { reason, message }
      }
    )
  const refused = (url: string, schema = newSchema()) => refusal({ url, schema })

  const schemaOf = (schema: string) =>
    Effect.map(
      server.sql<{ readonly schema: number }>(`SELECT schema FROM ${schema}.skein_storage`),
      (found) => found.map((each) => each.schema)
    )

  const tablesOf = (schema: string) =>
    server.sql(
      `SELECT relname, relkind FROM pg_class WHERE relnamespace = to_regnamespace('${schema}') ORDER BY relname`
    )

  describe("PostgreSQL, given a database of another schema", () => {
    it.scoped("stays unchanged when a migration fails", () =>
      Effect.gen(function*() {
        const name = newSchema()
        const database = yield* connect(server.url(), name)
        yield* migrate(database)
        const before = yield* tablesOf(name)
        const failing = Effect.succeed(() => ["CREATE TABLE another (x INTEGER)", "CREATE TABLE run (x INTEGER)"])
        const failed = yield* Effect.flip(migrate(database, [...migrations, failing]))
        expect(failed.message).toContain("already exists")
        expect(yield* tablesOf(name)).toEqual(before)
        expect(yield* schemaOf(name)).toEqual([latest])
      }))

    it.scoped("refuses one from before the first release, and says how to keep its sessions", () =>
      Effect.gen(function*() {
        const name = newSchema()
        yield* Effect.scoped(open(server.url(), name))
        yield* server.sql(`UPDATE ${name}.skein_storage SET schema = 8`)
        const { message, reason } = yield* refused(server.url(), name)
        expect(reason).toBe("older")
        expect(message).toMatch(/schema 8.*skein sessions export/)
        expect(yield* schemaOf(name)).toEqual([8])
      }))
  })

  describe("PostgreSQL, given a missing or foreign database", () => {
    it.scoped("creates the tables once for eight concurrent processes", () =>
      Effect.gen(function*() {
        const name = newSchema()
        yield* Effect.all(Array.from({ length: 8 }, () => open(server.url(), name)), { concurrency: "unbounded" })
        expect(yield* schemaOf(name)).toEqual([latest])
      }))

    it.scoped("refuses the schema of a newer version, and leaves it unchanged", () =>
      Effect.gen(function*() {
        const name = newSchema()
        yield* Effect.scoped(open(server.url(), name))
        yield* server.sql(`UPDATE ${name}.skein_storage SET schema = 99`)
        const { message, reason } = yield* refused(server.url(), name)
        expect(reason).toBe("newer")
        expect(message).toMatch(/schema 99, this version knows \d+.*Use that version/)
        expect(yield* schemaOf(name)).toEqual([99])
      }))

    it.scoped("refuses the schema of another program, and leaves it unchanged", () =>
      Effect.gen(function*() {
        const name = newSchema()
        yield* server.sql(`CREATE SCHEMA ${name}; CREATE TABLE ${name}.session (id TEXT)`)
        const before = yield* tablesOf(name)
        const { message, reason } = yield* refused(server.url(), name)
        expect(reason).toBe("foreign")
        expect(message).toContain(`a schema "${name}" that is not Skein's`)
        expect(yield* tablesOf(name)).toEqual(before)
      }))

    it.scoped("uses an empty schema that was created for it, next to tables of others", () =>
      Effect.gen(function*() {
        const name = newSchema()
        yield* server.sql(`CREATE SCHEMA ${name}; CREATE TABLE IF NOT EXISTS public.session (id TEXT)`)
        const storage = yield* open(server.url(), name)
        yield* storage.commit([{ _tag: "Session", info }])
        expect(yield* server.sql("SELECT * FROM public.session")).toEqual([])
      }))

    it.scoped("reports a missing database, a missing right, a wrong encoding, and an invalid name", () =>
      Effect.gen(function*() {
        const missing = yield* refused(server.url("elsewhere"))
        expect(missing.reason).toBe("unreadable")
        expect(missing.message).toMatch(/"elsewhere" does not exist.*createdb/)

        yield* server.sql(
          "CREATE DATABASE latin ENCODING 'SQL_ASCII' LOCALE_PROVIDER libc LOCALE 'C' TEMPLATE template0"
        )
        const latin = yield* refused(server.url("latin"))
        expect(latin.reason).toBe("unreadable")
        expect(latin.message).toMatch(/encoding SQL_ASCII.*createdb -E UTF8/)

        yield* server.sql("CREATE ROLE guest LOGIN PASSWORD 'secret'")
        const guest = yield* refused(`postgres://guest:secret@127.0.0.1:${server.port}/skein`)
        expect(guest.reason).toBe("readonly")
        expect(guest.message).toMatch(/permission denied for database skein.*Grant/)

        const nameless = yield* refused(server.url(), "Robert'); DROP")
        expect(nameless).toMatchObject({
          reason: "unreadable",
          message: expect.stringContaining("is not a name for a schema")
        })
      }))

    it.effect("reports an unknown user, a server that does not answer, and an invalid URL", () =>
      Effect.gen(function*() {
        const wrong = yield* refused(`postgres://skein:secret@127.0.0.1:${server.port}/skein`)
        expect(wrong.reason).toBe("unreadable")
        expect(wrong.message).toMatch(
          /refuses user or password \(password authentication failed.*Check both; in the URL, write @ as %40/
        )

        const url = Redacted.make(`postgres://skein:secret@127.0.0.1:1/skein`)
        const silent = yield* refusal({ url })
        expect(silent.reason).toBe("unreadable")
        expect(silent.message).toMatch(/Nothing answers at postgres:\/\/127\.0\.0\.1:1\/skein.*ECONNREFUSED/)

        const unknown = yield* refused("postgres://skein:secret@no-such-host.invalid/skein")
        expect(unknown.message).toMatch(/^The host of postgres:\/\/no-such-host\.invalid\/skein is unknown/)

        const none = yield* refused(`postgres://skein@127.0.0.1:${server.port}/skein`)
        expect(none.message).toMatch(/asks for a password, and there is none.*postgres:\/\/USER:PASSWORD@HOST/)
      }))

    // A part of the password is a number: it could be taken for a port.
    it.effect.each(["sec/ret", "sec#ret", "sec?ret", "12/secret", "12#secret", "12?secret"])(
      "names the characters to encode if a password has them, and nothing of it: %s",
      (secret) =>
        Effect.map(refused(`postgres://skein:${secret}@127.0.0.1:${server.port}/skein`), ({ message, reason }) => {
          expect(reason).toBe("unreadable")
          expect(message).toMatch(
            /^The URL of the database (cannot be read|has a special character).*# as %23, \/ as %2F/
          )
          expect(message).not.toContain("12")
        })
    )

    it.effect("says what is wrong with TLS", () =>
      Effect.gen(function*() {
        const at = `postgres://skein:secret@127.0.0.1:${server.port}/skein`
        const unknown = yield* refused(`${at}?sslmode=bogus`)
        expect(unknown.message).toMatch(/^sslmode=bogus in .* is unknown\. Use verify-full/)
        const missing = yield* refused(`${at}?sslmode=require`)
        expect(missing).toMatchObject({ reason: "unreadable", message: expect.stringContaining("speaks no TLS") })
      }))
  })

  describe("PostgreSQL, at work", () => {
    const approval = (pattern: string) => ({
      id: pattern,
      projectID: "project",
      permission: "bash",
      pattern,
      created: 1
    })

    /** A database that fails when a row has this content. */
    const failing = (code: string, when: string) =>
      Effect.gen(function*() {
        const name = newSchema()
        const storage = yield* open(server.url(), name)
        yield* server.sql(
          `CREATE SEQUENCE ${name}.tries;
          CREATE FUNCTION ${name}.fail() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN IF ${when} THEN RAISE EXCEPTION 'as asked' USING ERRCODE = '${code}'; END IF; RETURN NEW; END $$;
          CREATE TRIGGER fail BEFORE INSERT ON ${name}.approval FOR EACH ROW EXECUTE FUNCTION ${name}.fail()`
        )
        return { storage, name }
      })

    it.scoped("reports after 30 seconds that the disk is full, and stores nothing of the failed commits", () =>
      Effect.gen(function*() {
        const { storage } = yield* failing("53100", "NEW.pattern = 'big'")
        const passing = yield* Effect.fork(passTime)
        const full = yield* Effect.flip(
          storage.commit([{ _tag: "Session", info }, { _tag: "Approval", approval: approval("big") }])
        )
        yield* Fiber.interrupt(passing)
        expect(full.reason).toBe("full")
        expect(full.message).toMatch(/no space left.*Free some space/)
        expect(yield* storage.session(id)).toEqual(Option.none())
        yield* storage.commit([{ _tag: "Approval", approval: approval("small") }])
      }))

    it.scopedLive("repeats what fails because of something that passes", () =>
      Effect.gen(function*() {
        for (const code of ["53100", "53200", "55P03", "57014", "57P01", "57P03", "58030", "08006"]) {
          const { name, storage } = yield* failing(code, `nextval(TG_TABLE_SCHEMA || '.tries') < 4`)
          yield* storage.commit([{ _tag: "Approval", approval: approval("a") }])
          expect(yield* server.sql(`SELECT last_value::integer AS tries FROM ${name}.tries`), code).toEqual([{
            tries: 4
          }])
        }
      }))

    it.scopedLive("retries a transaction that lost to another", () =>
      Effect.gen(function*() {
        for (const code of ["40001", "40P01"]) {
          const { name, storage } = yield* failing(code, `nextval(TG_TABLE_SCHEMA || '.tries') < 4`)
          yield* storage.commit([{ _tag: "Approval", approval: approval("a") }])
          expect(yield* server.sql(`SELECT last_value::integer AS tries FROM ${name}.tries`)).toEqual([{ tries: 4 }])
          expect(yield* storage.approvals("project")).toEqual([approval("a")])
        }
      }))
  })

  it.scoped("waits for a server without a free connection", () =>
    Effect.gen(function*() {
      const name = newSchema()
      // One connection reads, one stores, and one renews leases.
      yield* server.sql(
        `CREATE ROLE few LOGIN PASSWORD 'secret' CONNECTION LIMIT 3; CREATE SCHEMA ${name} AUTHORIZATION few`
      )
      const url = `postgres://few:secret@127.0.0.1:${server.port}/skein`
      const scope = yield* Scope.make()
      yield* Scope.extend(open(url, name), scope)
      const waiting = yield* Effect.fork(open(url, name))
      // It was refused, and will try again within the second.
      while (!Chunk.some(yield* TestClock.sleeps(), (at) => at < 1_000)) yield* realTime
      yield* Scope.close(scope, Exit.void)
      while ((yield* server.sql("SELECT FROM pg_stat_activity WHERE usename = 'few'")).length > 0) yield* realTime
      yield* TestClock.adjust("1 second")
      const storage = yield* Fiber.join(waiting)
      expect(yield* storage.session(id)).toEqual(Option.none())
    }))

  it("shows the address of a database without user, password and parameters", () => {
    expect(place("postgresql://me:secret@db.example:5433/name?sslmode=require")).toBe("postgres://db.example:5433/name")
    expect(place("postgres:///name?host=/var/run/postgresql&password=secret")).toBe(
      "postgres:///var/run/postgresql/name"
    )
    expect(place("postgres://me:sec/ret@host:x")).toBe("postgres://…")
  })
})
