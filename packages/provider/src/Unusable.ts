/** Explains why a provider cannot be used, without sending a request. */
import { sessionVendor } from "@skein/core/ModelChoice"
import type { ProviderConfig } from "@skein/domain/ConfigInfo"
import { builtIn, keyNamesOf } from "./BuiltIn.ts"

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
export const keyNames: ReadonlyArray<string> = Object.values(builtIn).flatMap((known) => known.keyNames)
