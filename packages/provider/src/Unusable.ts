/** Explains why a provider cannot be used, without sending a request. */
import { sessionVendor } from "@skein/core/ModelSize"
import type { ProviderConfig } from "@skein/domain/ConfigInfo"
import { type Preset, presets } from "./OpenAiCompatible.ts"

const known: Readonly<Record<string, Pick<Preset, "baseUrlName" | "keyName" | "keyless">>> = {
  openai: { baseUrlName: "OPENAI_BASE_URL", keyName: "OPENAI_API_KEY" },
  ...presets
}

/**
 * Why a provider cannot be used; undefined if it can. `own` are the ids of the program's own vendors, which are always
 * usable. `config` is the user's config of the provider. A local server without a key is usable only if the user
 * configured it, because nobody knows whether it runs.
 */
export const unusable =
  (variables: Readonly<Record<string, string | undefined>>, own: ReadonlyArray<string>) =>
  (providerID: string, config: ProviderConfig | undefined): string | undefined => {
    if (own.includes(providerID) || providerID === sessionVendor) return undefined
    const has = (name: string) => (variables[name] ?? "").trim() !== ""
    const preset = known[providerID]
    if (preset === undefined && config === undefined) return `there is no provider ${JSON.stringify(providerID)}`
    const keyName = config?.key_env ?? preset?.keyName
    if (keyName === undefined || has(keyName)) return undefined
    if (preset?.keyless !== true) return `${providerID} needs a key: set ${keyName}`
    return config !== undefined || has(preset.baseUrlName)
      ? undefined
      : `${providerID} is a server that may not run: set ${preset.baseUrlName}, or name it under provider in your own config`
  }

/** The variables that hold the keys of providers. */
export const keyNames: ReadonlyArray<string> = Object.values(known).flatMap(({ keyName }) => keyName ?? [])
