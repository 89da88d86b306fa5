/** Writes the arguments of a tool as a JSON Schema that says each thing once, since every request carries it. */
import * as Predicate from "effect/Predicate"

type Json = Readonly<Record<string, unknown>>

/** What Effect makes of an empty struct: it takes anything that is there. Providers require an object at the top. */
const anyStruct = "/schemas/%7B%7D"

const primitives = new Set(["string", "number", "integer", "boolean"])

/** The definition that a `$ref` points to, unless it is one of those around it. */
const definitionOf = (ref: unknown, definitions: Json, around: ReadonlyArray<unknown>): Json | undefined => {
  const name = typeof ref === "string" && !around.includes(ref) ? /^#\/\$defs\/(.+)$/.exec(ref)?.[1] : undefined
  const found = name === undefined ? undefined : definitions[name]
  return Predicate.isRecord(found) ? found : undefined
}

/** One type for alternatives that differ in nothing but their type and their bounds, which the tool checks by itself. */
const asOneType = (alternatives: unknown): Json | undefined => {
  if (!Array.isArray(alternatives)) return undefined
  const types = alternatives.map((each) =>
    Predicate.isRecord(each) && typeof each["type"] === "string" && primitives.has(each["type"]) && !("enum" in each)
      ? each["type"]
      : undefined
  )
  return types.every((type) => type !== undefined) ? { type: [...new Set(types)] } : undefined
}

/** What is known around a node: the definitions, and those that are being written out. */
interface Around {
  readonly definitions: Json
  readonly open: ReadonlyArray<unknown>
}

const isEmptyList = (value: unknown): boolean => Array.isArray(value) && value.length === 0

/** The fields of a node. Those of `properties` are named after arguments, and `enum` holds values. */
const shortenFields = (fields: Json, around: Around): Json =>
  Object.fromEntries(
    Object.entries(fields).flatMap(([key, value]) => {
      if (key === "required" && isEmptyList(value)) return []
      if (key === "enum" || key === "const" || key === "default") return [[key, value]]
      if (key !== "properties" || !Predicate.isRecord(value)) return [[key, shorten(value, around)]]
      const each = Object.entries(value).map(([name, schema]) => [name, shorten(schema, around)])
      return [[key, Object.fromEntries(each)]]
    })
  )

/** Names of checks, patterns, empty lists, and definitions beside their only use: none of them tells a model anything. */
const shorten = (node: unknown, around: Around): unknown => {
  if (Array.isArray(node)) return node.map((each) => shorten(each, around))
  if (!Predicate.isRecord(node)) return node
  const { $id, $ref, additionalProperties, anyOf, pattern: _, title: __, ...rest } = node
  const fields = shortenFields(
    // The tool refuses arguments that it does not know by itself.
    additionalProperties === undefined || additionalProperties === false ? rest : { ...rest, additionalProperties },
    around
  )
  if ($id === anyStruct) return { ...fields, type: "object", properties: {} }
  const definition = definitionOf($ref, around.definitions, around.open)
  if (definition !== undefined) {
    const found = shorten(definition, { ...around, open: [...around.open, $ref] })
    return { ...(found as Json), ...fields }
  }
  const alternatives = anyOf === undefined ? undefined : shorten(anyOf, around)
  const one = asOneType(alternatives) ?? (alternatives === undefined ? {} : { anyOf: alternatives })
  return { ...$ref === undefined ? {} : { $ref }, ...one, ...fields }
}

/** Whether a schema still refers to a definition: those that contain themselves cannot be written out. */
const refers = (node: unknown): boolean =>
  Array.isArray(node)
    ? node.some(refers)
    : Predicate.isRecord(node) && Object.entries(node).some(([key, value]) => key === "$ref" || refers(value))

/** The short form of what Effect makes of a schema. */
export const toolSchema = (made: Json): Record<string, unknown> => {
  const { $defs, $schema: _, ...rest } = made
  const definitions = Predicate.isRecord($defs) ? $defs : {}
  const short = shorten(rest, { definitions, open: [] }) as Record<string, unknown>
  return refers(short) ? { ...short, $defs } : short
}

/** What Effect makes of a schema, word for word, but for empty structs: what people wrote is not shortened. */
export const wholeSchema = (made: Json): Record<string, unknown> => {
  const { $id, anyOf, ...rest } = made
  const fields = Object.fromEntries(Object.entries(rest).map(([key, value]) => [key, wholeIn(value)]))
  if ($id === anyStruct) return { ...fields, type: "object", properties: {}, additionalProperties: false }
  return {
    ...$id === undefined ? {} : { $id },
    ...anyOf === undefined ? {} : { anyOf: wholeIn(anyOf) },
    ...fields
  }
}

const wholeIn = (value: unknown): unknown =>
  Array.isArray(value) ? value.map(wholeIn) : Predicate.isRecord(value) ? wholeSchema(value) : value
