/** Decides what an editor is told about `skein.json`. */
import { ConfigInfo } from "@skein/domain/ConfigInfo"
import * as Effect from "effect/Effect"

/** The JSON Schema (draft 7) of `skein.json`. */
export const jsonSchema: Effect.Effect<Readonly<Record<string, unknown>>> = Effect.map(
  // Only whoever writes the schema down needs what makes it.
  Effect.promise(() => import("effect/JSONSchema")),
  (JSONSchema) => ({ ...JSONSchema.make(ConfigInfo), title: "Skein config" })
)
