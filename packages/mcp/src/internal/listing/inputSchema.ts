/** Decides which schemas of a server's tools models are shown: objects that are whole in themselves and end somewhere. */
import * as Either from "effect/Either"
import { cleanText } from "../cleanText.ts"

/** A JSON Schema as a server sends it. */
export type RawSchema = Readonly<Record<string, unknown>>

const deepest = 40
const longest = 64 * 1024
const mostRefs = 200

const isRecord = (value: unknown): value is RawSchema =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** What a pointer such as `#/$defs/name` leads to. */
const targetOf = (schema: RawSchema, pointer: string): unknown =>
  pointer.slice(1).split("/").slice(1).reduce<unknown>((value, step) => {
    const key = Either.getOrElse(Either.try(() => decodeURIComponent(step)), () => step)
      .replaceAll("~1", "/").replaceAll("~0", "~")
    return typeof value === "object" && value !== null && Object.hasOwn(value, key)
      ? Reflect.get(value, key)
      : undefined
  }, schema)

const shown = (ref: string): string => JSON.stringify(cleanText(ref).slice(0, 100))

/** Keys below which there are values, and not schemas. */
const values = new Set(["enum", "const", "default", "examples", "required"])
const refKeys = ["$ref", "$dynamicRef", "$recursiveRef"]

/** The references in a schema; undefined if it is nested too deeply. */
const refsIn = (value: unknown, depth = 0): ReadonlyArray<string> | undefined => {
  if (depth > deepest) return undefined
  if (Array.isArray(value)) return joined(value.map((each) => refsIn(each, depth + 1)))
  if (!isRecord(value)) return []
  const own = refKeys.flatMap((key) => typeof value[key] === "string" ? [value[key]] : [])
  const inner = Object.entries(value).flatMap(([key, each]) => values.has(key) ? [] : [refsIn(each, depth + 1)])
  return joined([own, ...inner])
}

const joined = (lists: ReadonlyArray<ReadonlyArray<string> | undefined>): ReadonlyArray<string> | undefined => {
  const known = lists.filter((list) => list !== undefined)
  return known.length < lists.length ? undefined : known.flat()
}

/** What is wrong with a schema; undefined if a model can be shown it. */
const faultIn = (whole: RawSchema): string | undefined => {
  const states = new Map<string, "open" | "done">()
  const follow = (value: unknown): string | undefined => {
    const refs = refsIn(value)
    if (refs === undefined) return `it is nested more than ${deepest} levels deep`
    for (const ref of new Set(refs)) {
      if (!ref.startsWith("#")) return `${shown(ref)} refers to something outside of it`
      const state = states.get(ref)
      if (state === "open") return `${shown(ref)} leads back to itself`
      if (state === "done") continue
      const target = targetOf(whole, ref)
      if (!isRecord(target) && typeof target !== "boolean") return `${shown(ref)} leads nowhere`
      if (states.size >= mostRefs) return `it refers to more than ${mostRefs} parts`
      states.set(ref, "open")
      const fault = follow(target)
      if (fault !== undefined) return fault
      states.set(ref, "done")
    }
    return undefined
  }
  return follow(whole)
}

const cleaned = (value: unknown): unknown =>
  typeof value === "string"
    ? cleanText(value)
    : Array.isArray(value)
    ? value.map(cleaned)
    : isRecord(value)
    ? Object.fromEntries(
      Object.entries(value).flatMap(([key, each]) =>
        // An id would move what references are relative to, and no provider needs either.
        key === "$schema" || key === "$id" ? [] : [[key, cleaned(each)]]
      )
    )
    : value

/** The schema as models see it, or why it cannot be shown. */
export const inputSchemaOf = (schema: unknown): Either.Either<RawSchema, string> => {
  if (!isRecord(schema) || (schema["type"] ?? "object") !== "object") return Either.left("it is not an object")
  const text = Either.try(() => JSON.stringify(schema))
  if (Either.isLeft(text)) return Either.left("it cannot be written as JSON")
  if (text.right.length > longest) return Either.left(`it has more than ${longest / 1024} KB`)
  const fault = faultIn(schema)
  if (fault !== undefined) return Either.left(fault)
  const clean = cleaned(schema)
  return Either.right({ properties: {}, ...(isRecord(clean) ? clean : {}), type: "object" })
}
