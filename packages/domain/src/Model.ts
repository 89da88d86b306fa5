/** Decides how a model is named and what is known of it. */
import * as Schema from "effect/Schema"
import { Price } from "./Usage.ts"

/** Names a model: `provider/model`, where the model's own name may hold more slashes. */
export const ModelRef = Schema.Struct({ providerID: Schema.NonEmptyString, modelID: Schema.NonEmptyString })
/** The type of a model's name. */
export interface ModelRef extends Schema.Schema.Type<typeof ModelRef> {}

/** Reads `provider/model`; gives undefined where either half is missing. */
export const parseRef = (text: string): ModelRef | undefined => {
  const at = text.indexOf("/")
  if (at <= 0 || at === text.length - 1) return undefined
  return { providerID: text.slice(0, at), modelID: text.slice(at + 1) }
}

/** Writes a model's name as `provider/model`. */
export const formatRef = (ref: ModelRef): string => `${ref.providerID}/${ref.modelID}`

/** What is known of a model: its limits in tokens, its price and what it can do. */
export const ModelInfo = Schema.Struct({
  providerID: Schema.NonEmptyString,
  modelID: Schema.NonEmptyString,
  name: Schema.optional(Schema.String),
  /** What it is among the models of its provider: `session/small` and similar names stand for it. */
  size: Schema.optional(Schema.Literal("small", "default", "large")),
  limit: Schema.optional(
    Schema.Struct({ context: Schema.Positive.pipe(Schema.int()), output: Schema.Positive.pipe(Schema.int()) })
  ),
  price: Schema.optional(Price),
  abilities: Schema.optional(
    Schema.Struct({ tools: Schema.Boolean, reasoning: Schema.Boolean, images: Schema.Boolean })
  )
})
/** The type of what is known of a model. */
export interface ModelInfo extends Schema.Schema.Type<typeof ModelInfo> {}
