/** A JSON Schema as the tree of schemas that it is: how they are all changed, and whether their references lead anywhere. */
import * as Option from "effect/Option"
import type { JsonSchema } from "./JsonSchema.ts"

const maps = new Set(["$defs", "definitions", "properties", "patternProperties", "dependentSchemas"])
const values = new Set(["default", "examples", "enum", "const", "required", "dependentRequired", "type"])

const isSchema = (value: unknown): value is JsonSchema =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** The schemas directly inside of one, by the pointer that leads from it to them. */
const inside = (schema: JsonSchema): ReadonlyArray<readonly [path: ReadonlyArray<string>, value: unknown]> =>
  Object.entries(schema).flatMap(([key, value]) => {
    if (values.has(key)) return []
    if (maps.has(key)) return isSchema(value) ? Object.entries(value).map(([name, each]) => [[key, name], each]) : []
    if (Array.isArray(value)) return value.map((each, index) => [[key, String(index)], each])
    return isSchema(value) || typeof value === "boolean" ? [[[key], value]] : []
  })

/** Changes a schema and all inside of it, from the outside in; what is no schema stays as it is. */
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

/** What the top of a schema must have one of, so that it says what a value is. */
const saysWhat = ["type", "anyOf", "oneOf", "$ref"]

/** What is wrong with a schema besides its keywords: what it does not say, and references that lead nowhere. */
export const faultOf = (schema: JsonSchema): string | undefined => {
  if (!saysWhat.some((key) => key in schema)) return `it must say what a value is, with one of ${saysWhat.join(", ")}`
  const known = new Set(pointersOf(schema, "#"))
  const lost = refsOf(schema).find((ref) =>
    !known.has(Option.getOrElse(decodePointer(ref), () => ref).replace(/^#\/$/, "#"))
  )
  return lost === undefined ? undefined : `${JSON.stringify(lost)} leads to no schema in it`
}
