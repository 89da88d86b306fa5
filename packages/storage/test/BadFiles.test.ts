import { describe, expect, it } from "@effect/vitest"
import { SessionStorage } from "@skein/core/SessionStorage"
import type { StorageError } from "@skein/core/StorageError"
import * as Sqlite from "@skein/storage/Sqlite"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as fs from "node:fs"
import { join } from "node:path"
import { sql } from "./support/sql.ts"
import { program, temporary } from "./support/startProcess.ts"

const open = (filename: string) => Effect.provide(Effect.asVoid(SessionStorage), Sqlite.layer({ filename }))

/** All files in a directory, byte for byte. */
const contents = (directory: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    fs.readdirSync(directory, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile()).map(
      (entry) => {
        const path = join(entry.parentPath, entry.name)
        return [path, fs.readFileSync(path, "latin1")]
      }
    )
  )

/** Leaves in `to` the files of a process that dies while it has the database `from` open. */
const crashed = (to: string, from: string) =>
  Effect.gen(function*() {
    const storage = yield* SessionStorage
    yield* storage.commit(Array.from({ length: 50 }, (_, index) => ({
      _tag: "Approval",
      approval: { id: `${index}`, projectID: "project", permission: "bash", pattern: "*", created: index }
    })))
    for (const suffix of ["", "-wal", "-shm"]) fs.copyFileSync(from + suffix, to + suffix)
  }).pipe(Effect.provide(Sqlite.layer({ filename: from })))

interface Case {
  readonly name: string
  /** Creates the file to open. */
  readonly make: (file: string) => Effect.Effect<unknown, StorageError>
  readonly reason: StorageError["reason"]
  readonly says: RegExp
}

const touch = (change: (file: string) => void) => (file: string) => Effect.sync(() => change(file))

const cases: ReadonlyArray<Case> = [
  {
    name: "a file that is no database",
    make: touch((file) => fs.writeFileSync(file, "To do: buy thread.\n".repeat(100))),
    reason: "foreign",
    says: /is not a database of Skein.*--db/
  },
  {
    name: "a short file that is no database",
    make: touch((file) => fs.writeFileSync(file, "x")),
    reason: "foreign",
    says: /is not a database of Skein.*--db/
  },
  {
    name: "a database of another program",
    make: (file) => sql(file, "CREATE TABLE bookmark (url TEXT)"),
    reason: "foreign",
    says: /belongs to another program.*--db/
  },
  {
    name: "an empty file",
    make: touch((file) => fs.writeFileSync(file, "")),
    reason: "corrupt",
    says: /it is empty.*backup/
  },
  {
    name: "a newer schema",
    make: (file) => Effect.zipRight(open(file), sql(file, "PRAGMA user_version = 99")),
    reason: "newer",
    says: /newer version of Skein \(it has schema 99/
  },
  {
    name: "a directory",
    make: touch((file) => fs.mkdirSync(file)),
    reason: "unreadable",
    says: /it is a directory.*--db/
  },
  {
    name: "a file that lost its end",
    make: (file) =>
      Effect.tap(open(file), () => Effect.sync(() => fs.truncateSync(file, fs.statSync(file).size - 4_096))),
    reason: "corrupt",
    says: /its end is missing.*backup/
  },
  {
    name: "a log that was overwritten",
    make: (file) =>
      Effect.tap(
        crashed(file, `${file}.old`),
        () => Effect.sync(() => fs.writeFileSync(`${file}-wal`, "x".repeat(9_000)))
      ),
    reason: "corrupt",
    says: /-wal is not the log that belongs to it.*backup/
  },
  {
    name: "a log that lost its end",
    make: (file) =>
      Effect.tap(crashed(file, `${file}.old`), () => Effect.sync(() => fs.truncateSync(`${file}-wal`, 5_000))),
    reason: "corrupt",
    says: /the end of .*-wal is missing.*backup/
  },
  {
    name: "a log without its file",
    make: (file) => Effect.tap(crashed(file, `${file}.old`), () => Effect.sync(() => fs.rmSync(file))),
    reason: "corrupt",
    says: /only its log .*-wal is there/
  }
]

describe("SQLite, given a bad file", () => {
  for (const { make, name, reason, says } of cases) {
    it.scoped(`refuses ${name} and leaves it unchanged`, () =>
      Effect.gen(function*() {
        const directory = yield* temporary
        const file = join(directory, "skein.db")
        yield* make(file)
        const before = contents(directory)
        const error = yield* Effect.flip(open(file))
        expect(error.reason).toBe(reason)
        expect(error.message).toMatch(says)
        expect(error.message).toContain(file)
        expect(error.message).not.toContain("\n")
        expect(contents(directory)).toEqual(before)
      }))
  }

  it.scoped("refuses a path below a file", () =>
    Effect.gen(function*() {
      const file = join(yield* temporary, "file")
      fs.writeFileSync(file, "x")
      expect((yield* Effect.flip(open(join(file, "skein.db")))).reason).toBe("unreadable")
    }))

  it.scoped("continues with the files of a process that died", () =>
    Effect.gen(function*() {
      const file = join(yield* temporary, "skein.db")
      yield* crashed(file, `${file}.old`)
      const storage = Layer.build(Sqlite.layer({ filename: file }))
      const approvals = yield* Effect.flatMap(SessionStorage, (each) => each.approvals("project")).pipe(
        Effect.provide(yield* storage)
      )
      expect(approvals.length).toBe(50)
    }))

  it.scoped("creates a missing directory, and a file that only the owner can read", () =>
    Effect.gen(function*() {
      const directory = join(yield* temporary, "a", "b")
      const file = join(directory, "skein.db")
      yield* open(file)
      expect(fs.readdirSync(directory)).toEqual(["skein.db"])
      expect(fs.statSync(directory).mode & 0o777).toBe(0o700)
      expect(fs.statSync(file).mode & 0o777).toBe(0o600)
    }))

  // Root may do everything, so another user has to try.
  const nobody = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}

  it.scoped("reports what is not readable or writable", () =>
    Effect.gen(function*() {
      const start = yield* program
      const directory = yield* temporary
      const reasonOf = (file: string) =>
        Effect.map(
          Effect.flatMap(start(["open", file], nobody), ({ ended }) => ended),
          ({ err }) => JSON.parse(err).reason
        )
      const file = join(directory, "skein.db")
      yield* open(file)
      fs.chmodSync(file, 0o000)
      expect(yield* reasonOf(file)).toBe("unreadable")
      fs.chmodSync(file, 0o444)
      expect(yield* reasonOf(file)).toBe("readonly")
      fs.chmodSync(file, 0o666)
      fs.chmodSync(directory, 0o555)
      expect(yield* reasonOf(file)).toBe("readonly")
      expect(yield* reasonOf(join(directory, "new.db"))).toBe("readonly")
      expect(yield* reasonOf(join(directory, "new", "new.db"))).toBe("readonly")
      fs.chmodSync(directory, 0o755)
    }), 60_000)

  it.scoped("says what to do if better-sqlite3 does not load", () =>
    Effect.gen(function*() {
      const start = yield* program
      const directory = yield* temporary
      const fake = join(directory, "modules", "better-sqlite3")
      fs.mkdirSync(fake, { recursive: true })
      fs.writeFileSync(
        join(fake, "index.js"),
        "module.exports = function() { throw Object.assign(new Error('invalid ELF header'), { code: 'ERR_DLOPEN_FAILED' }) }"
      )
      const { ended } = yield* start(["open", join(directory, "skein.db")], {
        env: { ...process.env, NODE_PATH: join(directory, "modules") }
      })
      expect(JSON.parse((yield* ended).err)).toMatchObject({
        _tag: "StorageError",
        message: expect.stringMatching(/invalid ELF header.*Install Skein again/)
      })
    }), 60_000)
})
