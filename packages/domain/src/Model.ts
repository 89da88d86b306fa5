/** Defines how a model is named, and its properties. */
import * as Schema from "effect/Schema"
import { Price } from "./Usage.ts"

/** Names a model: `provider/model`, where the model's own name may contain more slashes. */
export const ModelRef = Schema.Struct({ providerID: Schema.NonEmptyString, modelID: Schema.NonEmptyString })
/** The type of a model's name. */
export interface ModelRef extends Schema.Schema.Type<typeof ModelRef> {}

/** Reads `provider/model`; undefined if either half is missing. */
export const parseRef = (text: string): ModelRef | undefined => {
  const at = text.indexOf("/")
  if (at <= 0 || at === text.length - 1) return undefined
  return { providerID: text.slice(0, at), modelID: text.slice(at + 1) }
}

/** Writes a model's name as `provider/model`. */
export const formatRef = (ref: ModelRef): string => `${ref.providerID}/${ref.modelID}`

/** The properties of a model: its limits in tokens, its price and its abilities. */
export const ModelInfo = Schema.Struct({
  providerID: Schema.NonEmptyString,
  modelID: Schema.NonEmptyString,
  name: Schema.optional(Schema.String),
  /** Its size among the models of its provider: `session/small` and similar names select it. */
  size: Schema.optional(Schema.Literal("small", "default", "large")),
  limit: Schema.optional(
    Schema.Struct({ context: Schema.Positive.pipe(Schema.int()), output: Schema.Positive.pipe(Schema.int()) })
  ),
  price: Schema.optional(Price),
  abilities: Schema.optional(
    Schema.Struct({ tools: Schema.Boolean, reasoning: Schema.Boolean, images: Schema.Boolean })
  )
})
/** The type of a model's properties. */
export interface ModelInfo extends Schema.Schema.Type<typeof ModelInfo> {}
