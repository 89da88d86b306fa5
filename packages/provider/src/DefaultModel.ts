/** Chooses the default model if neither an agent nor the config names one. A single key in the environment is enough. */
import { Config } from "@skein/core/Config"
import type { ProviderConfig } from "@skein/domain/ConfigInfo"
import { type ModelRef, parseRef } from "@skein/domain/Model"
import type { ConfigError } from "effect/ConfigError"
import * as Effect from "effect/Effect"
import { builtIn, findKey } from "./BuiltIn.ts"

/** The default model, and why it was chosen. */
export interface DefaultModel {
  readonly model: ModelRef
  /** The variable whose key chose it. Absent if the config names the model, or if the model needs no key. */
  readonly keyName?: string | undefined
  /** Other variables that hold keys: each would choose another provider. */
  readonly otherKeys: ReadonlyArray<string>
}

/** A provider that is ready to use, with the variable that holds its key, unless it needs none. */
interface Candidate {
  readonly model: ModelRef
  readonly keyName: string | undefined
}

/** The variables whose key is enough to choose a model, in order of precedence. */
export const keyNames: ReadonlyArray<string> = Object.values(builtIn)
  .flatMap((known) => known.defaultModel === undefined ? [] : known.keyNames)

const candidateOf = (
  providerID: string,
  config: ProviderConfig | undefined
): Effect.Effect<ReadonlyArray<Candidate>, ConfigError> =>
  Effect.gen(function*() {
    const known = builtIn[providerID]
    const modelID = known?.defaultModel ?? Object.keys(config?.models ?? {})[0]
    if (modelID === undefined) return []
    const { key, name } = yield* findKey(providerID, config)
    const needsKey = name !== undefined && known?.keyless !== true
    if (needsKey && key === undefined) return []
    return [{ model: { providerID, modelID }, keyName: needsKey ? name : undefined }]
  })

/**
 * Chooses the default model. The config's `model` wins, then the first provider that is ready to use: providers from the
 * config in their order, then OpenAI, Anthropic and Google, then the presets by name. A configured provider without a
 * default model uses the first model that its config lists. If no provider is ready, the model is `fallback`.
 */
export const chooseModel = (fallback: ModelRef): Effect.Effect<DefaultModel, ConfigError, Config> =>
  Effect.gen(function*() {
    const { settings } = yield* Config
    const configured = settings.model === undefined ? undefined : parseRef(settings.model)
    if (configured !== undefined) return { model: configured, otherKeys: [] }
    const configs = settings.provider ?? {}
    // A limit does not choose a provider: any project's files may lower it.
    const named = Object.keys(configs).filter((id) =>
      Object.keys(configs[id] ?? {}).some((key) => key !== "max_requests")
    )
    const ids = new Set([...named, ...Object.keys(builtIn)])
    const [first, ...rest] = (yield* Effect.forEach(ids, (id) => candidateOf(id, configs[id]))).flat()
    if (first === undefined) return { model: fallback, otherKeys: [] }
    return { ...first, otherKeys: rest.flatMap(({ keyName }) => keyName ?? []) }
  })
