import { expect, it } from "@effect/vitest"
import { unanswered } from "@skein/core/Control"
import { SessionStorage } from "@skein/core/SessionStorage"
import { SessionID } from "@skein/domain/Id"
import * as Effect from "effect/Effect"
import { DatabaseSync } from "node:sqlite"
import type { Select } from "../../src/internal/dialect.ts"
import { makeReadEvents } from "../../src/internal/readEvents.ts"
import { sqliteTypes, tables } from "../../src/internal/schema.ts"

it.effect("the questions of a tree are read without the rest of its log", () =>
  Effect.gen(function*() {
    const database = new DatabaseSync(":memory:")
    for (const statement of tables(sqliteTypes)) database.exec(statement)
    const plans: Array<unknown> = []
    const explain: Select = (_, text, params) =>
      Effect.sync(() => {
        plans.push(database.prepare(`EXPLAIN QUERY PLAN ${text}`).get(...params)?.["detail"])
        return []
      })
    const storage = { events: makeReadEvents(explain) } as typeof SessionStorage.Service
    yield* Effect.provideService(unanswered(SessionID.make("ses_a")), SessionStorage, storage)
    expect(plans).toEqual([expect.stringContaining("USING INDEX event_ask ")])
  }))
