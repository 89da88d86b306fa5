import { expect, it } from "@effect/vitest"
import { SessionStorage } from "@skein/core/SessionStorage"
import { MessageID, SessionID } from "@skein/domain/Id"
import type { InboxRow } from "@skein/domain/InboxRow"
import * as Sqlite from "@skein/storage/Sqlite"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { sessionOf } from "./support/rows.ts"

const id = SessionID.make("ses_00000000000001aaaaaaaa")

const session = sessionOf(id, "t")

const row = (at: number, more: Partial<InboxRow> = {}): InboxRow => ({
  id: MessageID.make(`msg_0000000000000${at}aaaaaaaa`),
  sessionID: id,
  kind: "steer",
  parts: [{ type: "text", text: `word ${at}` }],
  time: { created: at },
  ...more
})

/** Two processes on one file. */
const both = Effect.gen(function*() {
  const directory = yield* Effect.acquireRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "skein-mail-"))),
    (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
  )
  const open = Effect.map(
    Layer.build(Layer.fresh(Sqlite.layer({ filename: join(directory, "skein.db") }))),
    (context) => Context.get(context, SessionStorage)
  )
  return { ours: yield* open, theirs: yield* open }
})

it.scopedLive("shows the messages of another process until one of them is taken", () =>
  Effect.gen(function*() {
    const { ours, theirs } = yield* both
    const look = ours.mail ?? Effect.dieMessage("A file has no mail")
    yield* ours.commit([{ _tag: "Session", info: session }, { _tag: "Inbox", row: row(1) }])
    expect(yield* look).toEqual([])
    expect(yield* look).toBeUndefined()
    const word = row(2, { foreign: true })
    const stop = row(3, { foreign: true, kind: "stop", parts: [] })
    yield* theirs.commit([word, stop, row(4), row(5, { kind: "note" })].map((each) => ({ _tag: "Inbox", row: each })))
    expect(yield* look).toEqual([word, stop])
    expect(yield* look).toBeUndefined()
    yield* ours.commit([{ _tag: "InboxTaken", id: word.id, sessionID: id, at: 6 }])
    // A message that one has taken, the other cannot take.
    const late = yield* Effect.flip(theirs.commit([{ _tag: "InboxTaken", id: word.id, sessionID: id, at: 7 }]))
    expect(late.reason).toBe("constraint")
    yield* theirs.commit([{ _tag: "Session", info: { ...session, title: "u" } }])
    expect(yield* look).toEqual([stop])
  }))
