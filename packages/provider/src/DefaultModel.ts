/** Chooses the default model if neither an agent nor the config names one. A single key in the environment is enough. */
import { Config } from "@skein/core/Config"
import type { ProviderConfig } from "@skein/domain/ConfigInfo"
import { type ModelRef, parseRef } from "@skein/domain/Model"
import type { ConfigError } from "effect/ConfigError"
import * as Effect from "effect/Effect"
import { keyFrom } from "./internal/environment.ts"
import * as OpenAi from "./OpenAi.ts"
import { type Preset, presets } from "./OpenAiCompatible.ts"

/** The default model, and why it was chosen. */
export interface DefaultModel {
  readonly model: ModelRef
  /** The variable whose key chose it. Absent if the config names the model, or if the model needs no key. */
  readonly keyName?: string | undefined
  /** Other variables that hold keys: each would choose another provider. */
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

/** The variables whose key is enough to choose a model, in order of precedence. */
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
 * Chooses the default model. The config's `model` wins, then the first provider that is ready to use: providers from the
 * config in their order, then OpenAI, then the other presets by name. A configured provider without a default model uses
 * the first model that its config lists. If no provider is ready, the model is `fallback`.
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
