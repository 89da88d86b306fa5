/** Decides what an editor is told about `skein.json`. */
import { ConfigInfo } from "@skein/domain/ConfigInfo"
import * as Effect from "effect/Effect"
import { keyDescriptions } from "./internal/keyDescriptions.ts"

/** The JSON Schema (draft 7) of `skein.json`, with a description of each key. */
export const jsonSchema: Effect.Effect<Readonly<Record<string, unknown>>> = Effect.map(
  // Only programs that print the schema need to load what makes it.
  Effect.promise(() => import("effect/JSONSchema")),
  (JSONSchema) => ({ ...describe(openPatterns(JSONSchema.make(ConfigInfo))), title: "Skein config" })
)

// Any string may hold `{env:X}` or `{file:p}`, and what that stands for no editor can check.
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

/** Gives each key its description; the names of agents, commands, providers and models are NAME in a path. */
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
