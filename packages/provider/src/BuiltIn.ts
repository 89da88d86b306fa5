/** The providers that need no setting but a key, and the variables that hold the keys of all providers. */
import type { ProviderConfig } from "@skein/domain/ConfigInfo"
import type { ConfigError } from "effect/ConfigError"
import * as Effect from "effect/Effect"
import type * as Redacted from "effect/Redacted"
import * as Anthropic from "./Anthropic.ts"
import * as Google from "./Google.ts"
import { keyFrom } from "./internal/environment.ts"
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
  azure: { keyNames: ["AZURE_OPENAI_API_KEY", "AZURE_API_KEY"], baseUrlName: "AZURE_OPENAI_BASE_URL" },
  bedrock: {
    keyNames: ["AWS_BEARER_TOKEN_BEDROCK"],
    signs: ["AWS_ACCESS_KEY_ID"],
    baseUrlName: "BEDROCK_BASE_URL",
    package: "@ai-sdk/amazon-bedrock"
  },
  vertex: {
    keyNames: ["GOOGLE_VERTEX_API_KEY"],
    signs: ["GOOGLE_VERTEX_PROJECT"],
    baseUrlName: "VERTEX_BASE_URL",
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
