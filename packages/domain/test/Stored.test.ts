import { describe, expect, it } from "@effect/vitest"
import { InboxRow } from "@skein/domain/InboxRow"
import { AssistantMessage, Message, UserMessage } from "@skein/domain/Message"
import { Outcome, TaskRun } from "@skein/domain/Outcome"
import { Part, ToolState } from "@skein/domain/Part"
import { Rule } from "@skein/domain/Rule"
import { SessionInfo, Todo } from "@skein/domain/SessionInfo"
import { Usage } from "@skein/domain/Usage"
import * as Arbitrary from "effect/Arbitrary"
import * as FastCheck from "effect/FastCheck"
import * as Schema from "effect/Schema"

/** Every stored schema. */
const stored: ReadonlyArray<readonly [string, Schema.Schema.AnyNoContext]> = [
  ["SessionInfo", SessionInfo],
  ["UserMessage", UserMessage],
  ["AssistantMessage", AssistantMessage],
  ["Message", Message],
  ["Part", Part],
  ["TaskRun", TaskRun],
  ["Outcome", Outcome],
  ["InboxRow", InboxRow],
  ["Usage", Usage],
  ["Rule", Rule],
  ["Todo", Todo]
]

const keep = { onExcessProperty: "preserve" } as const

/** A value as it is stored, without infinite numbers. */
const json = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value, (_, each) => (typeof each === "number" && !Number.isFinite(each) ? 1 : each)))

/** A row of a newer version: an unknown field, at every level. */
const newer = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(newer)
  if (typeof value !== "object" || value === null) return value
  // The keys of `tools` are names of tools, so none of them is unknown.
  const fields = Object.entries(value).map(([key, each]) => [key, key === "tools" ? each : newer(each)] as const)
  return { ...Object.fromEntries(fields), fromTheFuture: { kept: ["1", true] } }
}

describe.each(stored)("%s", (_, schema) => {
  it("is read as it was written, with unknown fields at every depth", () => {
    FastCheck.assert(
      FastCheck.property(Arbitrary.make(schema), (value) => {
        const row = newer(json(Schema.encodeSync(schema)(value)))
        const read: unknown = Schema.decodeUnknownSync(schema, keep)(row)
        expect(json(Schema.encodeUnknownSync(schema, keep)(read))).toEqual(row)
      }),
      { numRuns: 30 }
    )
  })
})

describe("a tool state", () => {
  const decode = Schema.decodeUnknownEither(ToolState)

  it("is one of four, each with its own fields", () => {
    const time = { start: 1, end: 2 }
    const good = [
      { status: "pending", input: "{" },
      { status: "running", input: {}, time: { start: 1 } },
      { status: "completed", input: {}, output: "", title: "", metadata: {}, time },
      { status: "error", input: {}, error: { tag: "x", message: "y" } }
    ]
    for (const state of good) expect(decode(state)).toMatchObject({ _tag: "Right" })
    const bad = [
      { status: "done" },
      { status: "pending" },
      { status: "running", input: {} },
      { status: "completed", input: {}, output: "", title: "", metadata: {} },
      { status: "error", input: {}, error: "a text" }
    ]
    for (const state of bad) expect(decode(state)).toMatchObject({ _tag: "Left" })
  })
})
