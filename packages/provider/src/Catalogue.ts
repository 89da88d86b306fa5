/** A catalogue of models in the format of models.dev: limits, prices and abilities that are newer than this release. */
import { costSaid } from "@skein/domain/Usage"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { ModelConfigs } from "./Models.ts"

const amount = Schema.optional(Schema.NonNegative)

/** What is read of a model; prices are in USD per million tokens. */
const Model = Schema.Struct({
  name: Schema.optional(Schema.String),
  tool_call: Schema.optional(Schema.Boolean),
  reasoning: Schema.optional(Schema.Boolean),
  modalities: Schema.optional(Schema.Struct({ input: Schema.Array(Schema.String) })),
  limit: Schema.optional(Schema.Struct({ context: Schema.NonNegative, output: Schema.NonNegative })),
  cost: Schema.optional(Schema.Struct({
    input: Schema.NonNegative,
    output: Schema.NonNegative,
    cache_read: amount,
    cache_write: amount,
    /** Another price beyond 200,000 tokens of input. */
    context_over_200k: Schema.optional(Schema.Unknown)
  }))
})
type Model = typeof Model.Type

const Providers = Schema.parseJson(Schema.Record({
  key: Schema.String,
  value: Schema.Struct({ models: Schema.Record({ key: Schema.String, value: Schema.Unknown }) })
}))

/** The known models of each provider, by the names that Skein has for them. */
export type Catalogue = Readonly<Record<string, ModelConfigs>>

/** Providers that have another name in catalogues. */
const names: Readonly<Record<string, string>> = {
  "amazon-bedrock": "bedrock",
  "fireworks-ai": "fireworks",
  "google-vertex": "vertex",
  "google-vertex-anthropic": "vertex",
  moonshotai: "moonshot",
  togetherai: "together"
}

const whole = (count: number): number => Math.max(1, Math.round(count))

/** The listed price holds up to here, so the limit does not go beyond. */
const priced = 200_000

const toConfig = ({ cost, limit, modalities, name, reasoning, tool_call: tools }: Model): ModelConfigs[string] => {
  const most = cost?.context_over_200k === undefined ? Number.POSITIVE_INFINITY : priced + (limit?.output ?? 0)
  const price = (value: number | undefined): string | undefined => costSaid(value)
  const cacheRead = price(cost?.cache_read)
  const cacheWrite = price(cost?.cache_write)
  return {
    ...name === undefined ? {} : { name },
    ...limit === undefined || limit.context === 0 || limit.output === 0
      ? {}
      : { limit: { context: whole(Math.min(limit.context, most)), output: whole(limit.output) } },
    ...cost === undefined ? {} : {
      price: {
        input: price(cost.input) ?? "unknown",
        output: price(cost.output) ?? "unknown",
        ...cacheRead === undefined ? {} : { cacheRead },
        ...cacheWrite === undefined ? {} : { cacheWrite }
      }
    },
    abilities: {
      tools: tools ?? true,
      reasoning: reasoning ?? false,
      images: modalities?.input.includes("image") ?? false
    }
  }
}

const decodeModel = Schema.decodeUnknownOption(Model)

/** The providers of a catalogue, each with the models whose description can be read. */
const providersIn = (text: string) =>
  Either.map(
    Schema.decodeUnknownEither(Providers)(text),
    (providers) =>
      Object.entries(providers).map(([id, { models }]) =>
        [
          id,
          Object.entries(models).flatMap(([modelID, model]) =>
            Option.match(decodeModel(model), { onNone: () => [], onSome: (found) => [[modelID, found] as const] })
          )
        ] as const
      )
  )

/** What a catalogue says of models; empty if it cannot be read. */
export const read = (text: string): Catalogue => {
  const catalogue: Record<string, ModelConfigs> = {}
  for (const [id, models] of Either.getOrElse(providersIn(text), () => [])) {
    const known = names[id] ?? id
    const configs = Object.fromEntries(models.map(([modelID, model]) => [modelID, toConfig(model)]))
    catalogue[known] = { ...catalogue[known], ...configs }
  }
  return catalogue
}

/** The text to store of a catalogue, and what it has; or why it is none. */
export const reduce = (text: string) =>
  Either.flatMap(Either.mapLeft(providersIn(text), ({ message }) => message), (providers) => {
    const count = providers.reduce((sum, [, models]) => sum + models.length, 0)
    if (count === 0) return Either.left("it has no models")
    const kept = Object.fromEntries(providers.map(([id, models]) => [id, { models: Object.fromEntries(models) }]))
    return Either.right({ text: JSON.stringify(kept), providers: providers.length, models: count })
  })
