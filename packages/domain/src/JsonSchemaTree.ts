/** Walks a JSON Schema as a tree of schemas: transforms all of them, and checks its references. */
import * as Option from "effect/Option"
import type { JsonSchema } from "./JsonSchema.ts"

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
