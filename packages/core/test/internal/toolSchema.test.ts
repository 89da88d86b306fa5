import * as JSONSchema from "effect/JSONSchema"
import * as Schema from "effect/Schema"
import { expect, it } from "vitest"
import { toolSchema } from "../../src/internal/toolSchema.ts"

const short = (schema: Schema.Schema.AnyNoContext) => toolSchema({ ...JSONSchema.make(schema) })

it("writes definitions where they are used, and leaves out what tells a model nothing", () => {
  expect(short(Schema.Struct({
    title: Schema.Trimmed.pipe(Schema.nonEmptyString()).annotations({ description: "The title" }),
    pattern: Schema.optional(Schema.NonEmptyString),
    mode: Schema.optional(Schema.Literal("title", "pattern"))
  }))).toEqual({
    type: "object",
    required: ["title"],
    properties: {
      title: { type: "string", description: "The title", minLength: 1 },
      pattern: { type: "string", description: "a non empty string", minLength: 1 },
      mode: { type: "string", enum: ["title", "pattern"] }
    }
  })
})

it("gives alternatives of plain types one type, and keeps others", () => {
  const either = Schema.Union(Schema.Int, Schema.String).annotations({ description: "A time" })
  const other = Schema.Union(Schema.String, Schema.Struct({ a: Schema.String }))
  expect(short(Schema.Struct({ either, other }))).toMatchObject({
    properties: {
      either: { type: ["integer", "string"], description: "A time" },
      other: { anyOf: [{ type: "string" }, { type: "object" }] }
    }
  })
})

it("keeps definitions that contain themselves", () => {
  interface Tree {
    readonly children: ReadonlyArray<Tree>
  }
  const Tree: Schema.Schema<Tree> = Schema.Struct({
    children: Schema.Array(Schema.suspend((): Schema.Schema<Tree> => Tree))
  }).annotations({ identifier: "Tree" })
  const made = short(Schema.Struct({ root: Tree }))
  expect(JSON.stringify(made)).toContain("\"$ref\":\"#/$defs/Tree\"")
  expect(made["$defs"]).toHaveProperty("Tree")
})

it("makes an empty struct an object without properties", () => {
  expect(short(Schema.Struct({}))).toEqual({ type: "object", properties: {} })
})
