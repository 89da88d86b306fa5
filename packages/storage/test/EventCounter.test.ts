/** A tree whose counter of events is missing, as in a database that was restored in parts. */
import { expect, it } from "@effect/vitest"
import { Bus } from "@skein/core/Bus"
import { Journal } from "@skein/core/Journal"
import { SessionStorage } from "@skein/core/SessionStorage"
import { Ids, SessionID } from "@skein/domain/Id"
import * as Workspace from "@skein/testing/Workspace"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Sqlite from "../src/Sqlite.ts"
import { sessionOf } from "./support/rows.ts"
import { sql } from "./support/sql.ts"

it.scoped("numbers its next events after those that are stored", () =>
  Effect.gen(function*() {
    const { directory } = yield* Workspace.make()
    const filename = `${directory}/skein.db`
    const services = Journal.layer.pipe(
      Layer.provideMerge(Layer.mergeAll(Sqlite.layer({ filename }), Bus.layer, Ids.layer))
    )
    const [one, other] = [sessionOf(SessionID.make("ses_a"), "a"), sessionOf(SessionID.make("ses_b"), "b")]
    yield* Effect.gen(function*() {
      const { commit } = yield* Journal
      yield* commit([{ _tag: "Session", info: one, isNew: true }])
      yield* commit([{ _tag: "Session", info: { ...one, title: "b" } }])
    }).pipe(Effect.provide(services))
    yield* sql(filename, "DELETE FROM event_counter")
    yield* Effect.gen(function*() {
      const { commit } = yield* Journal
      const { eventRange } = yield* SessionStorage
      expect(yield* eventRange(one.id)).toEqual({ first: 1, last: 2 })
      // A new tree in the same transaction begins with 1.
      yield* commit([
        { _tag: "Session", info: { ...one, title: "c" } },
        { _tag: "Session", info: other, isNew: true }
      ])
      expect(yield* commit([{ _tag: "Session", info: { ...one, title: "d" } }])).toEqual({ seq: 4 })
      expect(yield* eventRange(one.id)).toEqual({ first: 1, last: 4 })
      expect(yield* eventRange(other.id)).toEqual({ first: 1, last: 1 })
    }).pipe(Effect.provide(services))
  }))
