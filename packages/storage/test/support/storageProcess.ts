/**
 * A process that uses a database: `write FILE NAME COUNT`, `log FILE NAME COUNT`, `stream FILE`, `open FILE` or `hold
 * FILE`.
 */
import * as SqliteClient from "@effect/sql-sqlite-node/SqliteClient"
import * as SqlClient from "@effect/sql/SqlClient"
import { SessionStorage, type Write } from "@skein/core/SessionStorage"
import { EventID, MessageID, SessionID } from "@skein/domain/Id"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import { none } from "@skein/domain/Usage"
import * as Sqlite from "@skein/storage/Sqlite"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import { writeSync } from "node:fs"

const [, , mode, filename = "", name = "stream", count = "1"] = process.argv

// Written synchronously, so that nothing is lost when the process is killed.
const say = (line: string) => Effect.sync(() => writeSync(1, `${line}\n`))

const session = (id: string): SessionInfo => ({
  id: SessionID.make(`ses_${id}`),
  rootID: SessionID.make(`ses_${id}`),
  depth: 0,
  projectID: "project",
  directory: "/",
  title: id,
  agent: "build",
  permission: [],
  usage: { own: none, subtree: none },
  version: 1,
  time: { created: 1, updated: 1 }
})

const message = (id: string, index: number): Write => ({
  _tag: "Message",
  info: {
    id: MessageID.make(`msg_${id}x${index}`),
    sessionID: SessionID.make(`ses_${id}`),
    role: "user",
    agent: "build",
    time: { created: 1 }
  }
})

const write = (id: string, messages: number) =>
  Effect.gen(function*() {
    const storage = yield* SessionStorage
    yield* storage.commit([{ _tag: "Session", info: session(id) }])
    for (let index = 0; index < messages; index++) {
      yield* storage.commit([message(id, index)])
      yield* say(`msg_${id}x${index}`)
    }
  })

const event = (id: string, root: string): Write => ({
  _tag: "Event",
  event: {
    id: EventID.make(`evt_${id}`),
    type: "session.idle",
    timestamp: 1,
    sessionID: SessionID.make(`ses_${root}`),
    rootID: SessionID.make(`ses_${root}`),
    depth: 0,
    properties: {}
  }
})

const inputEnds = Effect.async<void>((resume) => {
  process.stdin.once("end", () => resume(Effect.void)).resume()
})

/** Reports that it is ready, waits, then logs events of a shared tree and its own, and prints their numbers. */
const log = (id: string, events: number) =>
  Effect.gen(function*() {
    const storage = yield* SessionStorage
    yield* say("ready")
    yield* inputEnds
    for (let index = 0; index < events; index++) {
      const root = index % 2 === 0 ? "shared" : id
      const places = yield* storage.commit([event(`${id}x${index}`, root), event(`${id}y${index}`, "shared")])
      for (const [event, seq] of places) yield* say(`${event} ${seq}`)
    }
  })

const names = Array.from({ length: 20 }, (_, index) => `${name}${index}`)

const hold = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* sql`BEGIN IMMEDIATE`
  yield* say("held")
  yield* inputEnds
}).pipe(Effect.provide(SqliteClient.layer({ filename })))

const work = {
  write: write(name, Number(count)),
  log: log(name, Number(count)),
  stream: Effect.forEach(names, (each) => write(each, Number.POSITIVE_INFINITY), {
    concurrency: "unbounded",
    discard: true
  }),
  open: SessionStorage
}

const program = mode === "hold"
  ? hold
  : Effect.provide(
    work[mode as keyof typeof work] as Effect.Effect<void, unknown, SessionStorage>,
    Sqlite.layer({ filename })
  )

const fail = (cause: Cause.Cause<unknown>) =>
  Effect.sync(() => {
    writeSync(2, `${JSON.stringify(Cause.squash(cause))}\n`)
    process.exitCode = 1
  })

void Effect.runPromise(Effect.catchAllCause(program, fail))
