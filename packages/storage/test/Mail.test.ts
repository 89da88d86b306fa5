import { expect, it } from "@effect/vitest"
import { SessionStorage } from "@skein/core/SessionStorage"
import type { ControlRow } from "@skein/domain/Control"
import { ControlID, SessionID } from "@skein/domain/Id"
import * as Sqlite from "@skein/storage/Sqlite"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { sessionOf } from "./support/rows.ts"

const id = SessionID.make("ses_00000000000001aaaaaaaa")

const session = sessionOf(id, "t")

const row = (at: number, more: Partial<ControlRow> = {}): ControlRow => ({
  id: ControlID.make(`ctl_0000000000000${at}aaaaaaaa`),
  sessionID: id,
  rootID: id,
  request: { type: "task_message", message: `word ${at}` },
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

it.scopedLive("shows the requests of another process until one of them is answered", () =>
  Effect.gen(function*() {
    const { ours, theirs } = yield* both
    const look = ours.mail ?? Effect.dieMessage("A file has no mail")
    yield* ours.commit([{ _tag: "Session", info: session }])
    expect(yield* look).toEqual([])
    expect(yield* look).toBeUndefined()
    const [word, stop, gone] = [row(2), row(3, { request: { type: "stop" } }), row(4)]
    yield* theirs.commit([word, stop, gone].map((each) => ({ _tag: "Control", row: each })))
    expect(yield* look).toEqual([word, stop, gone])
    expect(yield* look).toBeUndefined()
    const answered = row(2, { answer: { ok: true, value: "steered" } })
    yield* ours.commit([{ _tag: "Control", row: answered }])
    expect(yield* theirs.control(word.id)).toEqual(Option.some(answered))
    yield* theirs.commit([{ _tag: "RemoveControl", id: gone.id }])
    expect(yield* look).toEqual([stop])
    expect(yield* theirs.waiting(id)).toEqual([stop])
    expect(yield* theirs.waiting(SessionID.make("ses_other"))).toEqual([])
    expect(yield* ours.control(gone.id)).toEqual(Option.none())
    yield* theirs.commit([{ _tag: "DeleteSession", id }])
    expect(yield* look).toEqual([])
  }))
