import { describe, expect, it } from "@effect/vitest"
import { SessionStorage, type Write } from "@skein/core/SessionStorage"
import { EventID, MessageID, PartID, RunID, SessionID } from "@skein/domain/Id"
import { none } from "@skein/domain/Usage"
import * as Sqlite from "@skein/storage/Sqlite"
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import { join } from "node:path"
import { migrations } from "../src/internal/migrations.ts"
import { applicationID } from "../src/internal/sqliteFile.ts"
import { schemas } from "./support/schemas.ts"
import { sql, statements } from "./support/sql.ts"
import { program, temporary } from "./support/startProcess.ts"

const tables = ["session", "message", "part", "run", "inbox", "approval", "todo", "event"] as const

const sessionID = SessionID.make("ses_a")
const messageID = MessageID.make("msg_a")
const partID = PartID.make("prt_a")
const info = {
  id: sessionID,
  rootID: sessionID,
  depth: 0,
  projectID: "project",
  directory: "/work",
  title: "it's old",
  agent: "build",
  permission: [],
  usage: { own: none, subtree: none },
  version: 1,
  time: { created: 1, updated: 2 }
}
const message = { id: messageID, sessionID, role: "user", agent: "build", time: { created: 1 } }
const part = { id: partID, sessionID, messageID, type: "text", text: "hello" }
const run = {
  id: RunID.make("run_a"),
  taskID: sessionID,
  parentID: sessionID,
  rootID: sessionID,
  agent: "explore",
  description: "look",
  prompt: "look",
  background: false,
  state: "running",
  time: { created: 1 }
}
const row = {
  id: MessageID.make("msg_b"),
  sessionID,
  kind: "steer",
  parts: [{ type: "text", text: "more" }],
  time: { created: 1 }
}
const todo = { id: "1", content: "buy thread", status: "pending", priority: "high" }

const json = (value: unknown) => `'${JSON.stringify(value).replaceAll("'", "''")}'`

/** A row in every table of the first schema, with values in the columns that no upsert writes. */
const rows = [
  `INSERT INTO session VALUES ('ses_a', NULL, 'ses_a', 0, 'project', '/work', 'it''s old', 'build', 1, 1, 2, NULL, 'me', 7, 9, ${
    json(info)
  })`,
  `INSERT INTO message VALUES ('ses_a', 'msg_a', 'user', 1, ${json(message)})`,
  `INSERT INTO part VALUES ('ses_a', 'prt_a', 'msg_a', 'text', NULL, 'safe', 'h', 1, 1, 1, ${json(part)})`,
  `INSERT INTO run (id, task_id, parent_id, root_id, part_id, state, version, data)
    VALUES ('run_a', 'ses_a', 'ses_a', 'ses_a', NULL, 'running', 1, ${json(run)})`,
  `INSERT INTO inbox VALUES ('msg_b', 'ses_a', 'steer', NULL, NULL, 1, ${json(row)})`,
  "INSERT INTO approval (id, project_id, permission, pattern, created) VALUES ('apr', 'project', 'bash', 'ls *', 3)",
  `INSERT INTO todo VALUES ('ses_a', ${json([todo])})`,
  "INSERT INTO event VALUES (41, 'evt_a', 'ses_a', 'ses_a', NULL, 0, 'session.idle', 4, NULL, '{}')",
  "INSERT INTO event VALUES (42, 'evt_x', 'ses_x', 'ses_x', NULL, 0, 'session.idle', 4, NULL, '{}')",
  "INSERT INTO event VALUES (44, 'evt_b', 'ses_a', 'ses_a', NULL, 0, 'message.part.updated', 4, 'prt_a', NULL)",
  "INSERT INTO event VALUES (47, 'evt_y', 'ses_x', 'ses_x', NULL, 0, 'session.idle', 5, NULL, '{}')"
]

/** From this schema on, events have a number in their tree. */
const numbered = 4

/** The number that each event has, or gets. */
const numbers: Readonly<Record<string, number>> = { evt_a: 1, evt_b: 2, evt_x: 1, evt_y: 2 }

const rowsOf = (schema: number): ReadonlyArray<string> =>
  schema < numbered ? rows : [
    ...rows.map((row) =>
      row.replace(/(INSERT INTO event VALUES .*'(evt_.)'.*)\)$/, (_, start: string, id: string) =>
        `${start}, ${numbers[id]})`)
    ),
    "INSERT INTO event_counter VALUES ('ses_a', 2), ('ses_x', 2)"
  ]

/** A file as the version with this schema left it. */
const old = Effect.fnUntraced(function*(file: string, schema: number) {
  yield* statements(file, [
    "PRAGMA journal_mode = WAL",
    ...schemas.slice(0, schema).flat(),
    `PRAGMA application_id = ${applicationID}`,
    `PRAGMA user_version = ${schema}`,
    ...rowsOf(schema)
  ])
})

const contents = (file: string) =>
  Effect.forEach(tables, (table) => sql<Readonly<Record<string, unknown>>>(file, `SELECT * FROM ${table}`))

/** Rows of older schemas in the current form: new columns are empty. */
const asOfNow = ([session, message, part, run, inbox, approvals = [], todo, event]: Effect.Effect.Success<
  ReturnType<typeof contents>
>) => [
  session,
  message,
  part,
  run?.map((row) => ({ ...row, terms: null })),
  inbox,
  approvals.map((row) => ({ ...row, root_id: null, host: null })),
  todo,
  event?.map(({ seq, ...row }) => ({ position: seq, ...row, tree_seq: numbers[String(row["id"])] }))
]
const schemaOf = (file: string) =>
  Effect.map(sql<{ readonly user_version: number }>(file, "PRAGMA user_version"), ([found]) => found?.user_version)
const recorded = (file: string) => sql(file, "SELECT migration_id, name FROM skein_migration ORDER BY migration_id")
const open = (filename: string) => Effect.provide(Effect.asVoid(SessionStorage), Sqlite.layer({ filename }))

describe("SQLite, given a file of an older schema", () => {
  for (let schema = 1; schema < migrations.length; schema++) {
    it.scoped(`keeps everything of schema ${schema}, and copies the file first`, () =>
      Effect.gen(function*() {
        const directory = yield* temporary
        const file = join(directory, "skein.db")
        yield* old(file, schema)
        const before = yield* contents(file)
        yield* open(file)
        expect(yield* schemaOf(file)).toBe(migrations.length)
        expect(yield* contents(file)).toEqual(asOfNow(before))
        expect(yield* recorded(file)).toEqual(migrations.map(([migration_id, name]) => ({ migration_id, name })))

        const backup = `${file}.schema-${schema}.bak`
        expect(fs.readdirSync(directory).toSorted()).toEqual(["skein.db", `skein.db.schema-${schema}.bak`])
        expect(fs.statSync(backup).mode & 0o777).toBe(0o600)
        expect(yield* schemaOf(backup)).toBe(schema)
        expect(yield* contents(backup)).toEqual(before)
        // The copy is a database like any other, also for the next version.
        yield* open(backup)
        expect(yield* contents(backup)).toEqual(asOfNow(before))
      }))
  }

  it.scoped("opens a file of the newest schema without migration records, and leaves it unchanged", () =>
    Effect.gen(function*() {
      const directory = yield* temporary
      const file = join(directory, "skein.db")
      yield* old(file, 1)
      yield* statements(file, [...schemas.slice(1).flat(), `PRAGMA user_version = ${schemas.length}`])
      const before = yield* contents(file)
      yield* open(file)
      expect(yield* contents(file)).toEqual(before)
      expect(fs.readdirSync(directory)).toEqual(["skein.db"])
    }))

  it.scoped("reads every kind of row", () =>
    Effect.gen(function*() {
      const filename = join(yield* temporary, "skein.db")
      yield* old(filename, 1)
      yield* Effect.gen(function*() {
        const storage = yield* SessionStorage
        expect((yield* storage.sessions({})).rows).toEqual([info])
        expect((yield* storage.messages(sessionID)).rows).toEqual([{ info: message, parts: [part] }])
        expect((yield* storage.runs({ unsettled: true })).rows).toEqual([run])
        expect((yield* storage.inbox(sessionID)).rows).toEqual([row])
        expect((yield* storage.approvals("project")).map(({ pattern }) => pattern)).toEqual(["ls *"])
        expect(yield* storage.todos(sessionID)).toEqual([todo])
        const log = yield* storage.events({ after: 0 })
        expect(log.map(({ event, position, seq }) => [position, seq, event.id])).toEqual([
          [41, 1, EventID.make("evt_a")],
          [42, 1, "evt_x"],
          [44, 2, "evt_b"],
          [47, 2, "evt_y"]
        ])
      }).pipe(Effect.provide(Sqlite.layer({ filename })))
    }))

  it.scoped("numbers new events of each tree behind the existing ones", () =>
    Effect.gen(function*() {
      const filename = join(yield* temporary, "skein.db")
      yield* old(filename, 3)
      const idle = (name: string, root: string): Write => ({
        _tag: "Event",
        event: {
          id: EventID.make(`evt_${name}`),
          type: "session.idle",
          timestamp: 9,
          sessionID: SessionID.make(`ses_${root}`),
          rootID: SessionID.make(`ses_${root}`),
          depth: 0,
          properties: {}
        }
      })
      yield* Effect.gen(function*() {
        const storage = yield* SessionStorage
        const places = yield* storage.commit([idle("1", "a"), idle("2", "new"), idle("3", "x"), idle("4", "a")])
        expect([...places]).toEqual([["evt_1", 3], ["evt_2", 1], ["evt_3", 3], ["evt_4", 4]])
        const found = yield* storage.events({ after: 2, rootID: SessionID.make("ses_a") })
        expect(found.map(({ event, position, seq }) => [position, seq, event.id])).toEqual([
          [48, 3, EventID.make("evt_1")],
          [51, 4, "evt_4"]
        ])
      }).pipe(Effect.provide(Sqlite.layer({ filename })))
    }))

  it.scoped("never overwrites an older copy", () =>
    Effect.gen(function*() {
      const directory = yield* temporary
      const file = join(directory, "skein.db")
      yield* old(file, 1)
      fs.writeFileSync(`${file}.schema-1.bak`, "one")
      fs.writeFileSync(`${file}.schema-1-2.bak`, "two")
      yield* open(file)
      expect(fs.readFileSync(`${file}.schema-1.bak`, "utf8")).toBe("one")
      expect(fs.readFileSync(`${file}.schema-1-2.bak`, "utf8")).toBe("two")
      expect(yield* schemaOf(`${file}.schema-1-3.bak`)).toBe(1)
    }))

  it.scoped("changes nothing if the copy cannot be made, and says so", () =>
    Effect.gen(function*() {
      const directory = yield* temporary
      // The name of the copy exceeds the limit, that of the file does not.
      const file = join(directory, `${"x".repeat(240)}.db`)
      yield* old(file, 1)
      const before = yield* contents(file)
      const error = yield* Effect.flip(open(file))
      expect(error.message).toMatch(/newer schema, and no copy.*left as it is/)
      expect(error.message).toContain(".schema-1.bak")
      expect(fs.readdirSync(directory)).toHaveLength(1)
      expect(yield* schemaOf(file)).toBe(1)
      expect(yield* contents(file)).toEqual(before)
    }))

  it.scoped("makes one copy when several processes open it at once", () =>
    Effect.gen(function*() {
      const start = yield* program
      const directory = yield* temporary
      const file = join(directory, "skein.db")
      yield* old(file, 1)
      const started = yield* Effect.forEach([1, 2, 3, 4], () => start(["open", file]))
      const ended = yield* Effect.forEach(started, (each) => each.ended)
      expect(ended.map(({ code, err }) => ({ code, err }))).toEqual(started.map(() => ({ code: 0, err: "" })))
      expect(fs.readdirSync(directory).filter((name) => !/-(?:wal|shm)$/.test(name)).toSorted()).toEqual([
        "skein.db",
        "skein.db.schema-1.bak"
      ])
      expect(yield* schemaOf(file)).toBe(migrations.length)
    }), 60_000)

  it.scoped("makes no copy of a file that is new or up to date", () =>
    Effect.gen(function*() {
      const directory = yield* temporary
      yield* open(join(directory, "skein.db"))
      yield* open(join(directory, "skein.db"))
      expect(fs.readdirSync(directory)).toEqual(["skein.db"])
    }))
})
