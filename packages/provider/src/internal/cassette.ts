/** The file format of recorded requests. */
import { ModelError, type ModelEvent, type ModelRequest } from "@skein/core/Provider"
import { FinishReason } from "@skein/domain/Message"
import { ModelInfo } from "@skein/domain/Model"
import { Cost, Tokens } from "@skein/domain/Usage"
import * as Schema from "effect/Schema"
import { createHash } from "node:crypto"

const id = { id: Schema.String }
const delta = { ...id, delta: Schema.String }

/** What a provider wants back with something that its model said. */
const metadata = {
  metadata: Schema.optionalWith(
    Schema.Record({ key: Schema.String, value: Schema.Record({ key: Schema.String, value: Schema.Unknown }) }),
    { exact: true }
  )
}

const Event: Schema.Schema<ModelEvent, unknown> = Schema.Union(
  Schema.Struct({ type: Schema.Literal("connected", "activity") }),
  Schema.Struct({ type: Schema.Literal("text-start", "reasoning-start"), ...id }),
  Schema.Struct({ type: Schema.Literal("text-delta", "reasoning-delta"), ...delta }),
  Schema.Struct({ type: Schema.Literal("text-end", "reasoning-end"), ...id, ...metadata }),
  Schema.Struct({
    type: Schema.Literal("tool-call"),
    ...id,
    name: Schema.String,
    input: Schema.String,
    fault: Schema.optional(Schema.String),
    ...metadata
  }),
  Schema.Struct({ type: Schema.Literal("usage"), tokens: Tokens, cost: Schema.optional(Cost) }),
  Schema.Struct({
    type: Schema.Literal("finish"),
    finish: FinishReason,
    cost: Schema.optional(Cost),
    // JSON has no undefined.
    tokens: Schema.transform(Schema.NullOr(Tokens), Schema.UndefinedOr(Schema.typeSchema(Tokens)), {
      strict: true,
      decode: (tokens) => tokens ?? undefined,
      encode: (tokens) => tokens ?? null
    })
  })
) as Schema.Schema<ModelEvent, unknown>

/** One recorded request. */
export const Take = Schema.Struct({
  /** Who asked and in which step; see `keyOf`. */
  key: Schema.String,
  /** Tells requests with one key apart: a hash of the last user message. */
  ask: Schema.String,
  /** The model that answered, as `provider/model`. */
  model: Schema.String,
  events: Schema.Array(Schema.Struct({
    /** Milliseconds since the request began. */
    at: Schema.NonNegative,
    event: Event
  })),
  /** How the request failed, if it did, and when. */
  error: Schema.optional(Schema.Struct({ at: Schema.NonNegative, error: ModelError }))
})
/** The type of a recorded request. */
export interface Take extends Schema.Schema.Type<typeof Take> {}

/** A file of recorded requests. */
export const Cassette = Schema.parseJson(
  Schema.Struct({
    version: Schema.Literal(1),
    default: Schema.Struct({ providerID: Schema.String, modelID: Schema.String }),
    /** The models that were used. */
    models: Schema.Array(ModelInfo),
    takes: Schema.Array(Take)
  }),
  { space: 2 }
)
/** The type of a file of recorded requests. */
export type Cassette = typeof Cassette.Type

/** `build>explore#2` is the third request of an explore agent below a build agent. Titles are marked separately. */
export const keyOf = ({ origin: { path, purpose, step } }: ModelRequest): string =>
  `${path.join(">")}#${step}${purpose === "turn" ? "" : ` (${purpose})`}`

/** The same for the same last user message. */
export const askOf = ({ messages }: ModelRequest): string => {
  const last = messages.findLast((message) => message.role === "user")
  return createHash("sha256").update(JSON.stringify(last?.content ?? [])).digest("hex").slice(0, 12)
}
