/** Makes vendors that speak HTTP: keys, names and limits, and an SDK that is loaded when the first model is asked for. */
import type { LanguageModelV3, SharedV3ProviderOptions } from "@ai-sdk/provider"
import { type LanguageModel, type ModelRequest, ModelUnavailable } from "@skein/core/Provider"
import { formatRef } from "@skein/domain/Model"
import * as Effect from "effect/Effect"
import * as Hash from "effect/Hash"
import * as Redacted from "effect/Redacted"
import type { Scope } from "effect/Scope"
import * as LanguageModelAdapter from "../LanguageModelAdapter.ts"
import { known, lookup, type ModelConfigs } from "../Models.ts"
import type { Vendor } from "../Vendor.ts"
import { type Fetch, makeFetch } from "./http.ts"
import type { PromptStyle } from "./prompt.ts"

/** What all HTTP vendors have in common. */
export interface HttpVendorOptions {
  readonly id: string
  readonly baseUrl: string
  readonly apiKey: Redacted.Redacted | undefined
  /** The variable that holds the key. */
  readonly keyName: string | undefined
  /** Whether nothing works without a key. */
  readonly needsKey: boolean
  readonly headers: Readonly<Record<string, string>>
  readonly models: ModelConfigs
  readonly providerOptions: (request: ModelRequest) => SharedV3ProviderOptions | undefined
  /** Loads the SDK. */
  readonly load: (fetch: Fetch) => Promise<Sdk>
}

/** What an SDK is good for once it is loaded. */
interface Sdk {
  readonly create: (modelID: string) => LanguageModelV3
  readonly style?: PromptStyle
}

/** A vendor whose sockets are closed with the scope. */
export const makeHttpVendor = (options: HttpVendorOptions): Effect.Effect<Vendor, never, Scope> =>
  Effect.map(makeFetch, (fetch) => {
    const { apiKey, baseUrl, id, keyName, models, needsKey } = options
    const reachable = isHttp(baseUrl)
    const available = reachable && (apiKey !== undefined || !needsKey)
    const made = new Map<string, LanguageModel>()
    const secrets = [
      ...apiKey === undefined ? [] : [apiKey],
      ...Object.values(options.headers).map((value) => Redacted.make(value))
    ]
    const fingerprint = apiKey === undefined ? "no-key" : fingerprintOf(apiKey)

    const load = Effect.promise(() => options.load(fetch))
    const make = (modelID: string, { create, style = {} }: Sdk): LanguageModel => {
      const info = lookup(id, modelID, models)
      return LanguageModelAdapter.make({
        model: create(modelID),
        info,
        limitKey: `${formatRef(info)}/${fingerprint}`,
        secrets,
        ...keyName === undefined ? {} : { keyName },
        style,
        providerOptions: options.providerOptions
      })
    }

    return {
      id,
      models: known(id, models),
      available,
      model: (modelID) =>
        Effect.suspend(() => {
          const ready = made.get(modelID)
          if (ready !== undefined) return Effect.succeed(ready)
          if (!reachable) return Effect.fail(badUrl(id, modelID, baseUrl))
          if (!available) return Effect.fail(noKey(id, modelID, keyName))
          return Effect.map(load, (sdk) => {
            // Another fiber may have been faster while the SDK was loading.
            const model = made.get(modelID) ?? make(modelID, sdk)
            made.set(modelID, model)
            return model
          })
        })
    }
  })

const isHttp = (text: string): boolean => /^https?:\/\//i.test(text) && URL.canParse(text)

const badUrl = (providerID: string, modelID: string, baseUrl: string): ModelUnavailable =>
  new ModelUnavailable({
    model: formatRef({ providerID, modelID }),
    reason: "bad_config",
    message: baseUrl === ""
      ? `The provider ${providerID} has no base_url: give it one in the config, such as http://127.0.0.1:8000/v1.`
      : `The base URL of the provider ${providerID} is ${
        JSON.stringify(baseUrl)
      }, which is not one: it must be like https://host/v1.`
  })

const noKey = (providerID: string, modelID: string, keyName: string | undefined): ModelUnavailable => {
  const model = formatRef({ providerID, modelID })
  return new ModelUnavailable({
    model,
    reason: "no_key",
    message: `${model} needs a key: ${
      keyName === undefined
        ? `name the variable that holds it as key_env of the provider ${providerID} in the config`
        : `set the environment variable ${keyName}`
    }, or choose another model.`
  })
}

/** Enough to tell keys apart, and far too little to find one; loading node:crypto for it would delay every start. */
const fingerprintOf = (key: Redacted.Redacted): string =>
  (Hash.string(Redacted.value(key)) >>> 0).toString(16).padStart(8, "0")
