/**
 * Defines which JSON Schemas Skein reads: self-contained ones of draft 2020-12, and of draft 7 where it is the same.
 */
import * as Either from "effect/Either"
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
