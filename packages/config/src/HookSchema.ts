/** The JSON Schemas of the input and output of hooks, for their authors. */
import { hookAnswers, type HookEvent, hookEvents, hookPayloads } from "@skein/domain/Hook"
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"

/** A JSON Schema (draft 7). */
type JsonSchemaOf = Readonly<Record<string, unknown>>

/** The standard input and the standard output of a hook for each event. */
export const jsonSchemas: Effect.Effect<
  Readonly<Record<HookEvent, { readonly payload: JsonSchemaOf; readonly answer: JsonSchemaOf }>>
> = Effect.map(
  // Loaded only to print the schemas.
  Effect.promise(() => import("effect/JSONSchema")),
  (JSONSchema) => {
    const titled = (schema: Schema.Schema.All, title: string): JsonSchemaOf => ({
      ...JSONSchema.make(schema as Schema.Schema<unknown>),
      title
    })
    return Object.fromEntries(
      hookEvents.map((event) => [event, {
        payload: titled(hookPayloads[event], `The input of a ${event} hook`),
        answer: titled(hookAnswers[event], `The output of a ${event} hook`)
      }])
    ) as Record<HookEvent, { readonly payload: JsonSchemaOf; readonly answer: JsonSchemaOf }>
  }
)
