/**
 * Defines which JSON Schemas Skein reads: self-contained ones of draft 2020-12, and of draft 7 where it is the same.
 */
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"

/** A JSON Schema as written. */
export interface JsonSchema {
  readonly [keyword: string]: unknown
}

const isRegExp = (text: string): boolean => Either.isRight(Either.try(() => new RegExp(text, "u")))

const Pattern = Schema.String.pipe(
  Schema.filter(isRegExp, { description: "a regular expression", jsonSchema: { format: "regex" } })
)
const Reference = Schema.String.pipe(
  Schema.pattern(/^#/, { description: "a place in this schema, such as \"#/$defs/name\"" })
)
const TypeName = Schema.Literal("object", "array", "string", "number", "integer", "boolean", "null")
const count = Schema.optional(Schema.NonNegativeInt)
const number = Schema.optional(Schema.Number)
const flag = Schema.optional(Schema.Boolean)
const text = Schema.optional(Schema.String)
const names = Schema.Array(Schema.String)

const Inner: Schema.Schema<boolean | JsonSchema> = Schema.suspend(() => Schema.Union(Schema.Boolean, Nested))
  .annotations({
    identifier: "JsonSchema"
  })
const inner = Schema.optional(Inner)
const several = Schema.optional(Schema.Array(Inner))
const byName = Schema.optional(Schema.Record({ key: Schema.String, value: Inner }))

const keywords = {
  $ref: Schema.optional(Reference),
  $defs: byName,
  definitions: byName,
  $comment: text,
  title: text,
  description: text,
  default: Schema.optional(Schema.Unknown),
  examples: Schema.optional(Schema.Array(Schema.Unknown)),
  deprecated: flag,
  readOnly: flag,
  writeOnly: flag,
  type: Schema.optional(Schema.Union(TypeName, Schema.Array(TypeName))),
  enum: Schema.optional(Schema.Array(Schema.Unknown)),
  const: Schema.optional(Schema.Unknown),
  allOf: several,
  anyOf: several,
  oneOf: several,
  not: inner,
  if: inner,
  // oxlint-disable-next-line unicorn/no-thenable -- the keyword of JSON Schema; nothing awaits it
  then: inner,
  else: inner,
  properties: byName,
  patternProperties: Schema.optional(Schema.Record({ key: Pattern, value: Inner })),
  additionalProperties: inner,
  unevaluatedProperties: inner,
  propertyNames: inner,
  required: Schema.optional(names),
  dependentRequired: Schema.optional(Schema.Record({ key: Schema.String, value: names })),
  dependentSchemas: byName,
  minProperties: count,
  maxProperties: count,
  items: Schema.optional(Schema.Union(Inner, Schema.Array(Inner))),
  prefixItems: several,
  additionalItems: inner,
  unevaluatedItems: inner,
  contains: inner,
  minContains: count,
  maxContains: count,
  minItems: count,
  maxItems: count,
  uniqueItems: flag,
  minimum: number,
  maximum: number,
  exclusiveMinimum: number,
  exclusiveMaximum: number,
  multipleOf: Schema.optional(Schema.Positive),
  minLength: count,
  maxLength: count,
  pattern: Schema.optional(Pattern),
  format: text,
  contentEncoding: text,
  contentMediaType: text
}

/** The fields of a schema differ only in syntax: as a type, it refers to itself. */
const Nested: Schema.Schema<JsonSchema> = Schema.make<JsonSchema>(
  Schema.Struct(keywords).ast
)

/** A JSON Schema without outside references. */
export const JsonSchema: Schema.Schema<JsonSchema> = Schema.make<JsonSchema>(
  Schema.Struct({ $schema: text, $id: text, ...keywords }).ast
)

const maps = new Set(["$defs", "definitions", "properties", "patternProperties", "dependentSchemas"])
const values = new Set(["default", "examples", "enum", "const", "required", "dependentRequired", "type"])

const isSchema = (value: unknown): value is JsonSchema =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** The schemas directly inside a schema, by the pointer from it to them. */
const inside = (schema: JsonSchema): ReadonlyArray<readonly [path: ReadonlyArray<string>, value: unknown]> =>
  Object.entries(schema).flatMap(([key, value]) => {
    if (values.has(key)) return []
    if (maps.has(key)) return isSchema(value) ? Object.entries(value).map(([name, each]) => [[key, name], each]) : []
    if (Array.isArray(value)) return value.map((each, index) => [[key, String(index)], each])
    return isSchema(value) || typeof value === "boolean" ? [[[key], value]] : []
  })

/** Transforms a schema and all schemas inside it, outermost first; other values stay unchanged. */
export const mapSchemas = (schema: JsonSchema, change: (schema: JsonSchema) => JsonSchema): JsonSchema => {
  const changed: Record<string, unknown> = { ...change(schema) }
  for (const [[key = "", name], value] of inside(changed)) {
    if (!isSchema(value)) continue
    const next = mapSchemas(value, change)
    const held = changed[key]
    if (name === undefined) changed[key] = next
    else if (Array.isArray(held)) changed[key] = held.with(Number(name), next)
    else changed[key] = { ...(held as object), [name]: next }
  }
  return changed
}

const pointersOf = (value: unknown, pointer: string): ReadonlyArray<string> => [
  pointer,
  ...(isSchema(value)
    ? inside(value).flatMap(([path, each]) =>
      pointersOf(each, [pointer, ...path.map((name) => name.replaceAll("~", "~0").replaceAll("/", "~1"))].join("/"))
    )
    : [])
]

const refsOf = (value: unknown): ReadonlyArray<string> =>
  isSchema(value)
    ? [
      ...(typeof value["$ref"] === "string" ? [value["$ref"]] : []),
      ...inside(value).flatMap(([, each]) => refsOf(each))
    ]
    : []

const decodePointer = Option.liftThrowable(decodeURIComponent)

/** The top of a schema must have one of these, so that it describes a value. */
const saysWhat = ["type", "anyOf", "oneOf", "$ref"]

/** What is wrong with a schema besides its keywords: what it does not say, and broken references. */
export const faultOf = (schema: JsonSchema): string | undefined => {
  if (!saysWhat.some((key) => key in schema)) return `it must describe a value with one of ${saysWhat.join(", ")}`
  const known = new Set(pointersOf(schema, "#"))
  const lost = refsOf(schema).find((ref) =>
    !known.has(Option.getOrElse(decodePointer(ref), () => ref).replace(/^#\/$/, "#"))
  )
  return lost === undefined ? undefined : `${JSON.stringify(lost)} does not refer to a schema in it`
}
