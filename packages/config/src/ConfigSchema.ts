/** The JSON Schema of `skein.json` for editors. */
import { ConfigInfo } from "@skein/domain/ConfigInfo"
import * as Effect from "effect/Effect"
import { keyDescriptions } from "./internal/keyDescriptions.ts"

/** The JSON Schema (draft 7) of `skein.json`, with a description of each key. */
export const jsonSchema: Effect.Effect<Readonly<Record<string, unknown>>> = Effect.map(
  // Loaded only to print the schema.
  Effect.promise(() => import("effect/JSONSchema")),
  (JSONSchema) => ({ ...describe(openPatterns(JSONSchema.make(ConfigInfo))), title: "Skein config" })
)

// Any string may contain `{env:X}` or `{file:p}`, whose value an editor cannot check.
const openPatterns = (schema: object): object =>
  Object.fromEntries(
    Object.entries(schema).map(([key, value]: readonly [string, unknown]) => [
      key,
      key === "pattern" && typeof value === "string"
        ? `${value}|\\{(env|file):[^{}]*\\}`
        : Array.isArray(value)
        ? value.map((item: unknown) => isObject(item) ? openPatterns(item) : item)
        : isObject(value)
        ? openPatterns(value)
        : value
    ])
  )

/** Adds the description of each key; NAME in a path stands for the name of an agent, command, provider or model. */
const describe = (schema: object, path = ""): object => {
  const below = (key: string) => path === "" ? key : `${path}.${key}`
  const each = (values: object, pathOf: (name: string) => string) =>
    Object.fromEntries(
      Object.entries(values).map(([name, value]: readonly [string, unknown]) => [
        name,
        isObject(value) ? describe(value, pathOf(name)) : value
      ])
    )
  const described = Object.fromEntries(
    Object.entries(schema).map(([key, value]: readonly [string, unknown]) => [
      key,
      !isObject(value)
        ? value
        : key === "properties"
        ? each(value, below)
        : key === "patternProperties"
        ? each(value, () => below("NAME"))
        : key === "additionalProperties"
        ? describe(value, below("NAME"))
        : value
    ])
  )
  const description = keyDescriptions[path]
  return description === undefined ? described : { ...described, description }
}

const isObject = (value: unknown): value is object =>
  typeof value === "object" && value !== null && !Array.isArray(value)
