/** Decides what an editor is told about `skein.json`. */
import { ConfigInfo } from "@skein/domain/ConfigInfo"
import * as Effect from "effect/Effect"

/** The JSON Schema (draft 7) of `skein.json`. */
export const jsonSchema: Effect.Effect<Readonly<Record<string, unknown>>> = Effect.map(
  // Only whoever writes the schema down needs what makes it.
  Effect.promise(() => import("effect/JSONSchema")),
  (JSONSchema) => ({ ...openPatterns(JSONSchema.make(ConfigInfo)), title: "Skein config" })
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

const isObject = (value: unknown): value is object =>
  typeof value === "object" && value !== null && !Array.isArray(value)
