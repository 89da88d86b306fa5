/** Decides what those who write hooks are told: the JSON Schemas of what hooks read and answer. */
import { hookAnswers, type HookEvent, hookEvents, hookPayloads } from "@skein/domain/Hook"
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"

/** A JSON Schema (draft 7). */
type JsonSchemaOf = Readonly<Record<string, unknown>>

/** What a hook of each event is told on its standard input, and what it may answer on its standard output. */
export const jsonSchemas: Effect.Effect<
  Readonly<Record<HookEvent, { readonly payload: JsonSchemaOf; readonly answer: JsonSchemaOf }>>
> = Effect.map(
  // Only programs that print the schemas need to load what makes them.
  Effect.promise(() => import("effect/JSONSchema")),
  (JSONSchema) => {
    const titled = (schema: Schema.Schema.All, title: string): JsonSchemaOf => ({
      ...JSONSchema.make(schema as Schema.Schema<unknown>),
      title
    })
    return Object.fromEntries(
      hookEvents.map((event) => [event, {
        payload: titled(hookPayloads[event], `What a ${event} hook is told`),
        answer: titled(hookAnswers[event], `What a ${event} hook may answer`)
      }])
    ) as Record<HookEvent, { readonly payload: JsonSchemaOf; readonly answer: JsonSchemaOf }>
  }
)
