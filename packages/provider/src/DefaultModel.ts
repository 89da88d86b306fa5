/** Decides which model answers where neither an agent nor the config names one: a single key in the environment is enough. */
import { Config } from "@skein/core/Config"
import type { ProviderConfig } from "@skein/domain/ConfigInfo"
import { type ModelRef, parseRef } from "@skein/domain/Model"
import type { ConfigError } from "effect/ConfigError"
import * as Effect from "effect/Effect"
import { keyFrom } from "./internal/environment.ts"
import * as OpenAi from "./OpenAi.ts"
import { type Preset, presets } from "./OpenAiCompatible.ts"

/** The model of agents that name none, and why it is that one. */
export interface DefaultModel {
  readonly model: ModelRef
  /** The variable whose key chose it; absent where the config names it, where it needs no key, or where nothing is set. */
  readonly keyName?: string | undefined
  /** Other variables with keys that would have chosen another provider. */
  readonly otherKeys: ReadonlyArray<string>
}

interface Candidate {
  readonly model: ModelRef
  readonly keyName: string | undefined
  readonly needsKey: boolean
}

const builtIn: Readonly<Record<string, Pick<Preset, "keyName" | "defaultModel" | "keyless">>> = {
  openai: { keyName: "OPENAI_API_KEY", defaultModel: OpenAi.defaultModel.modelID },
  ...presets
}

/** The variables that may hold a key which chooses a model by itself, in the order in which they are looked at. */
export const keyNames: ReadonlyArray<string> = Object.values(builtIn)
  .flatMap(({ defaultModel, keyName }) => defaultModel === undefined ? [] : [keyName])

const candidateOf = (providerID: string, config: ProviderConfig | undefined): ReadonlyArray<Candidate> => {
  const known = builtIn[providerID]
  const modelID = known?.defaultModel ?? Object.keys(config?.models ?? {})[0]
  const keyName = config?.key_env ?? known?.keyName
  if (modelID === undefined) return []
  return [{ model: { providerID, modelID }, keyName, needsKey: keyName !== undefined && known?.keyless !== true }]
}

/**
 * Chooses the model: that of the config, else the default of the first provider that can be asked. Providers of the config
 * come first, in their order, then OpenAI, then the other presets by name. A provider of the config without a default has
 * the first model that the config lists for it. Without any, it is `fallback`.
 */
export const chooseModel = (fallback: ModelRef): Effect.Effect<DefaultModel, ConfigError, Config> =>
  Effect.gen(function*() {
    const { settings } = yield* Config
    const configured = settings.model === undefined ? undefined : parseRef(settings.model)
    if (configured !== undefined) return { model: configured, otherKeys: [] }
    const configs = settings.provider ?? {}
    const ids = new Set([...Object.keys(configs), ...Object.keys(builtIn)])
    const found = yield* Effect.filter(
      [...ids].flatMap((id) => candidateOf(id, configs[id])),
      ({ keyName, needsKey }) =>
        needsKey && keyName !== undefined
          ? Effect.map(keyFrom(keyName), (key) => key !== undefined)
          : Effect.succeed(true)
    )
    const [first, ...rest] = found
    if (first === undefined) return { model: fallback, otherKeys: [] }
    const otherKeys = rest.flatMap(({ keyName, needsKey }) => needsKey && keyName !== undefined ? [keyName] : [])
    return { model: first.model, keyName: first.needsKey ? first.keyName : undefined, otherKeys }
  })
