/** The JSON Schema of `skein.json` for editors. */
import { ConfigInfo } from "@skein/domain/ConfigInfo"
import * as Effect from "effect/Effect"

/** The JSON Schema (draft 7) of `skein.json`, with a description of each key. */
export const jsonSchema: Effect.Effect<Readonly<Record<string, unknown>>> = Effect.map(
  // Loaded only to print the schema.
  Effect.promise(() => import("effect/JSONSchema")),
  (JSONSchema) => ({ ...openPatterns(JSONSchema.make(ConfigInfo)), title: "Skein config" })
)

const unwrapped = ({ allOf, ...rest }: { readonly allOf?: ReadonlyArray<object> }): object => ({
  ...allOf?.[0],
  ...rest
})

// Any string may contain `{env:X}` or `{file:p}`, whose value an editor cannot check. A description beside a type
// wraps that type in a list of one, which says no more.
const openPatterns = (schema: object): object =>
  Object.fromEntries(
    Object.entries(unwrapped(schema)).map(([key, value]: readonly [string, unknown]) => [
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
