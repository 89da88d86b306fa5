/** The providers that need nothing but a key: which of them can be used, why not, and which model answers by default. */
import { Config } from "@skein/core/Config"
import { sessionVendor } from "@skein/core/ModelChoice"
import type { ProviderConfig } from "@skein/domain/ConfigInfo"
import { type ModelRef, parseRef } from "@skein/domain/Model"
import type { ConfigError } from "effect/ConfigError"
import * as Effect from "effect/Effect"
import type * as Redacted from "effect/Redacted"
import * as Anthropic from "./Anthropic.ts"
import * as Google from "./Google.ts"
import { keyFrom } from "./internal/vendor.ts"
import * as OpenAi from "./OpenAi.ts"
import { type Preset, presets } from "./OpenAiCompatible.ts"

/** What is known of a provider before its client is loaded. */
export interface BuiltIn {
  /** The variables that may hold the key; the first one that is set wins. */
  readonly keyNames: readonly [string, ...ReadonlyArray<string>]
  readonly baseUrlName: string
  /** The default model if only the key is set. */
  readonly defaultModel?: string | undefined
  /** Whether it answers without a key. */
  readonly keyless?: boolean | undefined
  /** The package of the AI SDK that serves it, which reads the variables itself. */
  readonly package?: string
  /** How to name its models, where none can be the default: each account has its own. */
  readonly naming?: string
  /** Variables that set it up as well as a key, and that other programs need too. */
  readonly signs?: ReadonlyArray<string>
}

const fromPresets: ReadonlyArray<readonly [string, BuiltIn]> = Object.entries<Preset>(presets).map(
  ([id, { baseUrlName, defaultModel, keyName, keyless }]) => [
    id,
    { keyNames: [keyName], baseUrlName, defaultModel, keyless }
  ]
)

/** All of them, in the order in which their keys choose the default model. */
export const builtIn: Readonly<Record<string, BuiltIn>> = {
  openai: {
    keyNames: ["OPENAI_API_KEY"],
    baseUrlName: "OPENAI_BASE_URL",
    defaultModel: OpenAi.defaultModel.modelID
  },
  anthropic: { ...Anthropic.variables, defaultModel: Anthropic.defaultModel.modelID },
  google: { ...Google.variables, defaultModel: Google.defaultModel.modelID },
  azure: {
    keyNames: ["AZURE_OPENAI_API_KEY", "AZURE_API_KEY"],
    baseUrlName: "AZURE_OPENAI_BASE_URL",
    naming: "azure/YOUR-DEPLOYMENT"
  },
  bedrock: {
    keyNames: ["AWS_BEARER_TOKEN_BEDROCK"],
    signs: ["AWS_ACCESS_KEY_ID"],
    baseUrlName: "BEDROCK_BASE_URL",
    naming: "bedrock/us.anthropic.claude-sonnet-5-5, or another model or inference profile",
    package: "@ai-sdk/amazon-bedrock"
  },
  vertex: {
    keyNames: ["GOOGLE_VERTEX_API_KEY"],
    signs: ["GOOGLE_VERTEX_PROJECT"],
    baseUrlName: "VERTEX_BASE_URL",
    naming: "vertex/gemini-3.8-flash, or another model",
    package: "@ai-sdk/google-vertex"
  },
  ...Object.fromEntries(fromPresets)
}

/** The package of the AI SDK that serves a provider, if one does. */
export const packageOf = (id: string, config: ProviderConfig | undefined): string | undefined =>
  config?.package ?? (config?.base_url === undefined && config?.type === undefined ? builtIn[id]?.package : undefined)

/** The variables that may hold a provider's key: the one in the config, else those that are known. */
export const keyNamesOf = (id: string, config: ProviderConfig | undefined): ReadonlyArray<string> =>
  config?.key_env === undefined ? builtIn[id]?.keyNames ?? [] : [config.key_env]

/** The variable that holds a provider's key, or that should hold it, and the key if it is set. */
interface ProviderKey {
  readonly name: string | undefined
  readonly key: Redacted.Redacted | undefined
}

/** The first key that is set, and its variable; the first variable if none is. */
export const findKey = (
  id: string,
  config: ProviderConfig | undefined
): Effect.Effect<ProviderKey, ConfigError> =>
  Effect.gen(function*() {
    const names = keyNamesOf(id, config)
    for (const name of names) {
      const key = yield* keyFrom(name)
      if (key !== undefined) return { name, key }
    }
    return { name: names[0], key: undefined }
  })

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

/** How to name a model of each provider whose key is set, and that has no default model. */
export const namings: Effect.Effect<ReadonlyArray<string>> = Effect.map(
  Effect.forEach(
    Object.entries(builtIn),
    ([id, { naming }]) =>
      naming === undefined ? Effect.succeed([]) : findKey(id, undefined).pipe(
        Effect.map(({ key, name }) => key === undefined ? [] : [`${name} is set: name a model with -m ${naming}.`]),
        Effect.orElseSucceed((): ReadonlyArray<string> => [])
      )
  ),
  (found) => found.flat()
)

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

/**
 * Why a provider cannot be used; undefined if it can. `own` are the ids of the program's own vendors, which are always
 * usable. `config` is the user's config of the provider. A local server without a key is usable only if the user
 * configured it, because Skein cannot tell whether it runs.
 */
export const unusable =
  (variables: Readonly<Record<string, string | undefined>>, own: ReadonlyArray<string>) =>
  (providerID: string, config: ProviderConfig | undefined): string | undefined => {
    if (own.includes(providerID) || providerID === sessionVendor) return undefined
    const has = (name: string) => (variables[name] ?? "").trim() !== ""
    const known = builtIn[providerID]
    if (known === undefined && config === undefined) return `there is no provider ${JSON.stringify(providerID)}`
    const names = keyNamesOf(providerID, config)
    if (names.length === 0 || [...names, ...known?.signs ?? []].some(has)) return undefined
    if (known?.keyless !== true) return `${providerID} needs a key: set ${names[0]}`
    return config !== undefined || has(known.baseUrlName)
      ? undefined
      : `${providerID} is a server that may not run: set ${known.baseUrlName}, or name it under provider in your own config`
  }

/** The variables that hold the keys of providers. */
export const allKeyNames: ReadonlyArray<string> = Object.values(builtIn).flatMap((known) => known.keyNames)
