/** The providers that need no setting but a key, and the variables that hold the keys of all providers. */
import type { ProviderConfig } from "@skein/domain/ConfigInfo"
import * as Anthropic from "./Anthropic.ts"
import * as Google from "./Google.ts"
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
  ...Object.fromEntries(fromPresets)
}

/** The variables that may hold a provider's key: the one in the config, else those that are known. */
export const keyNamesOf = (id: string, config: ProviderConfig | undefined): ReadonlyArray<string> =>
  config?.key_env === undefined ? builtIn[id]?.keyNames ?? [] : [config.key_env]
