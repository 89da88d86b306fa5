import { expect, it } from "@effect/vitest"
import { jsonSchema } from "@skein/config/ConfigSchema"
import * as Effect from "effect/Effect"
import { keyDescriptions } from "../../src/internal/keyDescriptions.ts"

/** The paths of all keys, and the description of each. */
const described = (schema: unknown, path: ReadonlyArray<string> = []): ReadonlyArray<readonly [string, unknown]> => {
  const { additionalProperties, description, patternProperties, properties, type } = Object(schema)
  const own: ReadonlyArray<readonly [string, unknown]> = path.length === 0 || path.at(-1) === "NAME"
    ? []
    : [[path.join("."), description]]
  const isFree = ["permission", "ceiling", "output", "hooks", "claude_hooks", "env", "headers"].includes(
    path.at(-1) ?? ""
  )
  if (isFree || type !== "object") return own
  return [
    ...own,
    ...Object.entries(properties ?? {}).flatMap(([key, value]) => described(value, [...path, key])),
    ...[...Object.values(patternProperties ?? {}), additionalProperties].flatMap((value) =>
      typeof value === "object" ? described(value, [...path, "NAME"]) : []
    )
  ]
}

it.effect("describe every key, and no other", () =>
  Effect.gen(function*() {
    const keys = described(yield* jsonSchema)
    expect(keys.flatMap(([key, description]) => description === keyDescriptions[key] ? [] : [key])).toEqual([])
    expect(Object.keys(keyDescriptions).toSorted()).toEqual(keys.map(([key]) => key).toSorted())
  }))
