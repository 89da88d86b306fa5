import { describe, expect, it } from "@effect/vitest"
import { checkOf } from "@skein/core/SchemaCheck"
import { properties } from "@skein/domain/Event"
import { InboxRow } from "@skein/domain/InboxRow"
import { Message } from "@skein/domain/Message"
import { TaskRun } from "@skein/domain/Outcome"
import { Part } from "@skein/domain/Part"
import { SessionInfo, Todo } from "@skein/domain/SessionInfo"
import * as Arbitrary from "effect/Arbitrary"
import * as Either from "effect/Either"
import * as FastCheck from "effect/FastCheck"
import * as Schema from "effect/Schema"
import { isDeepStrictEqual } from "node:util"

const schemas: Readonly<Record<string, Schema.Schema.AnyNoContext>> = {
  SessionInfo,
  Message,
  Part,
  TaskRun,
  InboxRow,
  Todos: Schema.Array(Todo),
  ...properties
}

const json = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

/** The value with one of its fields, at any depth, removed or changed. */
const spoil = (value: unknown, at: number, to: unknown): unknown => {
  if (typeof value !== "object" || value === null) return to
  const entries = Object.entries(value)
  const entry = entries[at % Math.max(entries.length, 1)]
  if (entry === undefined) return to
  const [key, inner] = entry
  const changed = spoil(inner, Math.floor(at / entries.length), to)
  return Array.isArray(value)
    ? value.map((each, index) => (String(index) === key ? changed : each))
    : Object.fromEntries([...entries, [key, changed]].filter(([, each]) => each !== undefined))
}

describe("check", () => {
  for (const [name, schema] of Object.entries(schemas)) {
    it(`accepts a stored ${name}, and nothing that its schema refuses`, () => {
      const fits = checkOf(schema.ast)
      const decode = Schema.decodeUnknownEither(schema, { onExcessProperty: "preserve" })
      const spoiling = FastCheck.tuple(FastCheck.nat(), FastCheck.constantFrom(undefined, null, 1.5, "x", [], {}))
      FastCheck.assert(
        FastCheck.property(Arbitrary.make(schema), spoiling, (value, [at, to]) => {
          const stored = json(value)
          // Some numbers have no JSON, and neither has `undefined`.
          if (isDeepStrictEqual(stored, value)) expect(fits(stored)).toBe(true)
          const spoilt = spoil(stored, at, to)
          if (fits(spoilt)) expect(Either.isRight(decode(spoilt))).toBe(true)
        }),
        { numRuns: 60 }
      )
    })
  }

  it("never accepts what a schema transforms", () => {
    expect(checkOf(Schema.Struct({ at: Schema.DateFromString }).ast)({ at: "2026-01-01" })).toBe(false)
    expect(checkOf(Schema.Struct({ at: Schema.optionalWith(Schema.Number, { default: () => 1 }) }).ast)({})).toBe(false)
  })
})
