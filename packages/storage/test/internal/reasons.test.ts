/** What each error of a database means for the work: it waits, it stops, or its change is refused. */
import { SqlError } from "@effect/sql/SqlError"
import { expect, it } from "@effect/vitest"
import { isFault, isOutage, type StorageError } from "@skein/core/StorageError"
import * as Option from "effect/Option"
import { explain } from "../../src/internal/pgError.ts"
import { explainCause } from "../../src/internal/sqliteError.ts"

const withCode = (code: string) => Object.assign(new Error(code), { code })

const ofSqlite = (code: string, operation: string) =>
  Option.getOrThrow(explainCause(operation, "/data/skein.db", withCode(code)))

const ofPostgres = (code: string) =>
  explain("postgres://db")("commit", new SqlError({ cause: withCode(code), message: code }))

const effectOf = (error: StorageError): "waits" | "stops" | "is refused" | "is gone" =>
  isOutage(error) ? "waits" : isFault(error) ? "stops" : error.reason === "gone" ? "is gone" : "is refused"

const sqlite: ReadonlyArray<readonly [effect: ReturnType<typeof effectOf>, codes: string]> = [
  ["waits", "BUSY BUSY_RECOVERY BUSY_SNAPSHOT BUSY_TIMEOUT LOCKED LOCKED_SHAREDCACHE PROTOCOL"],
  ["waits", "IOERR IOERR_READ IOERR_SHORT_READ IOERR_WRITE IOERR_FSYNC IOERR_DIR_FSYNC IOERR_TRUNCATE IOERR_FSTAT"],
  ["waits", "IOERR_LOCK IOERR_SHMOPEN IOERR_SHMSIZE IOERR_SHMLOCK IOERR_SHMMAP IOERR_NOMEM IOERR_ACCESS IOERR_DELETE"],
  [
    "waits",
    "FULL CANTOPEN CANTOPEN_ISDIR CANTOPEN_FULLPATH READONLY READONLY_RECOVERY READONLY_CANTLOCK READONLY_CANTINIT"
  ],
  ["waits", "NOMEM INTERRUPT PERM AUTH ABORT READONLY_DIRECTORY"],
  ["stops", "CORRUPT CORRUPT_VTAB CORRUPT_INDEX NOTADB IOERR_CORRUPTFS IOERR_DATA ERROR INTERNAL MISUSE SCHEMA RANGE"],
  ["is refused", "CONSTRAINT CONSTRAINT_PRIMARYKEY CONSTRAINT_FOREIGNKEY TOOBIG MISMATCH"],
  ["is gone", "READONLY_DBMOVED"]
]

it.each(sqlite)("work %s if SQLite says %s", (effect, codes) => {
  for (const code of codes.split(" ")) {
    expect([code, effectOf(ofSqlite(`SQLITE_${code}`, "commit"))]).toEqual([code, effect])
  }
})

it("work waits for every error of the file system", () => {
  for (
    const code of "EIO ENOSPC EDQUOT EROFS ENOMEM EMFILE ENFILE EAGAIN EINTR ESTALE ETIMEDOUT EACCES EPERM".split(" ")
  ) {
    expect([code, effectOf(ofSqlite(code, "flush"))]).toEqual([code, "waits"])
  }
})

it("a file that cannot be opened is reported at once", () => {
  for (const code of ["SQLITE_CANTOPEN", "SQLITE_IOERR_READ", "SQLITE_NOMEM", "EMFILE", "EACCES"]) {
    expect([code, isOutage(ofSqlite(code, "open"))]).toEqual([code, false])
  }
})

const postgres: typeof sqlite = [
  [
    "waits",
    "08000 08003 08006 57P01 57P02 57P03 57P05 25P02 25P03 26000 28P01 3D000 53000 53100 53200 53300 53400 58000 58030"
  ],
  [
    "waits",
    "40001 40P01 40003 55P03 55006 57014 25006 42501 ECONNREFUSED ECONNRESET EPIPE ETIMEDOUT EAI_AGAIN EHOSTUNREACH"
  ],
  ["stops", "XX000 XX001 XX002 42P01 42703 0A000 P0001"],
  ["is refused", "23505 23503 22021 22P05 22001 54000"]
]

it.each(postgres)("work %s if PostgreSQL says %s", (effect, codes) => {
  for (const code of codes.split(" ")) expect([code, effectOf(ofPostgres(code))]).toEqual([code, effect])
})
