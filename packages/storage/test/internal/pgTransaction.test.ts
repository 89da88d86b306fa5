import { expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type { Postgres } from "../../src/internal/pgConnection.ts"
import { makePgTransactions } from "../../src/internal/pgTransaction.ts"
import { ask, gate } from "../support/gate.ts"

it.effect("a snapshot that is interrupted at its begin leaves no transaction open for the next one to read in", () =>
  Effect.gen(function*() {
    const { open, pass, reached } = yield* gate
    const statements: Array<string> = []
    const connection = {
      execute: (sql: string) =>
        Effect.uninterruptible(
          Effect.zipRight(Effect.sync(() => statements.push(sql)), Effect.as(sql.startsWith("BEGIN") ? pass : open, []))
        )
    }
    const database = { use: (use: (given: typeof connection) => unknown) => use(connection) } as unknown as Postgres
    const { snapshot } = yield* makePgTransactions({
      ...database,
      connection,
      dialect: { text: (sql: string) => sql } as Postgres["dialect"]
    })
    const reading = yield* ask(snapshot((select) => select("read", "SELECT 1", [])))
    yield* reached
    const interrupting = yield* Effect.fork(Fiber.interrupt(reading))
    yield* Effect.yieldNow()
    yield* open
    yield* Fiber.join(interrupting)
    expect(statements).toEqual(["BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", "ROLLBACK"])
  }))
