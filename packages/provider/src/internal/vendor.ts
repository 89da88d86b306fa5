/**
 * Makes vendors that use HTTP: keys, names, limits, and a client that loads with the first model. An empty variable of
 * the environment counts as unset.
 */
import { type LanguageModel, ModelUnavailable } from "@skein/core/Provider"
import { formatRef, type ModelInfo } from "@skein/domain/Model"
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as Hash from "effect/Hash"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import type { Scope } from "effect/Scope"
import { known, lookup, type ModelConfigs } from "../Models.ts"
import type { Vendor } from "../Vendor.ts"
import { isLocal } from "./errors.ts"
import { makeSend, type Send } from "./http.ts"
import type { Fields } from "./json.ts"

/** A trimmed text. */
export const textFrom = (name: string): Config.Config<string | undefined> =>
  Config.map(Config.option(Config.string(name)), (value) => {
    const text = Option.getOrElse(value, () => "").trim()
    return text === "" ? undefined : text
  })

/** A key, redacted from the start. */
export const keyFrom = (name: string): Config.Config<Redacted.Redacted | undefined> =>
  Config.map(textFrom(name), (value) => value === undefined ? undefined : Redacted.make(value))

/** Whether a base URL leads to the provider's own server. */
export const isOfficial = (baseUrl: string, official: string): boolean =>
  baseUrl === official || (URL.canParse(baseUrl) && new URL(baseUrl).host === new URL(official).host)

/** Adds the version to a base URL without one: other clients of some APIs take the URL without it. */
export const withVersion = (baseUrl: string, version: string): string =>
  /\/v\d\w*\/*$/.test(baseUrl) || !URL.canParse(baseUrl) ? baseUrl : `${baseUrl.replace(/\/+$/, "")}/${version}`

/** What all HTTP vendors have in common. */
interface HttpVendorOptions {
  readonly id: string
  readonly baseUrl: string
  readonly apiKey: Redacted.Redacted | undefined
  /** The variable that can override the base URL. */
  readonly baseUrlName?: string | undefined
  /** Deadline for the first content, in milliseconds. 10 minutes for a local server, else as the settings say. */
  readonly firstEvent?: number | undefined
  /** The variable that holds the key. */
  readonly keyName: string | undefined
  /** Whether the server needs a key. */
  readonly needsKey: boolean
  readonly headers: Readonly<Record<string, string>>
  readonly models: ModelConfigs
  /** The default model if only the key is set: listed even if the table does not have it. */
  readonly defaultModel?: string | undefined
  /** Loads the client, which sends its requests through this pool. */
  readonly load: (send: Send) => Promise<(setup: ModelSetup) => LanguageModel>
}

/** What the client needs to make a model. */
export interface ModelSetup {
  readonly info: ModelInfo
  readonly limitKey: string
  readonly secrets: ReadonlyArray<Redacted.Redacted>
  readonly keyName?: string
  readonly baseUrl: string
  readonly baseUrlName: string | undefined
  readonly firstEvent: number | undefined
}

/** A local server sends nothing until it has read the whole prompt, which can take minutes (ms). */
export const localFirstEvent = 10 * 60_000

/** A vendor whose sockets close with the scope. */
export const makeHttpVendor = (options: HttpVendorOptions): Effect.Effect<Vendor, never, Scope> =>
  Effect.map(makeSend, (send) => {
    const { apiKey, baseUrl, baseUrlName, id, keyName, models, needsKey } = options
    const reachable = isHttp(baseUrl)
    const available = reachable && (apiKey !== undefined || !needsKey)
    const made = new Map<string, LanguageModel>()
    const secrets = [
      ...apiKey === undefined ? [] : [apiKey],
      ...Object.values(options.headers).map((value) => Redacted.make(value))
    ]
    const fingerprint = apiKey === undefined ? "no-key" : fingerprintOf(apiKey)

    const badHeader = badHeaderOf(options)
    const load = Effect.promise(() => options.load(send))
    const setup = (modelID: string): ModelSetup => {
      const info = lookup(id, modelID, models)
      const limitKey = `${formatRef(info)}/${fingerprint}`
      const firstEvent = options.firstEvent ?? (isLocal(baseUrl) ? localFirstEvent : undefined)
      return { info, limitKey, secrets, baseUrl, baseUrlName, firstEvent, ...keyName === undefined ? {} : { keyName } }
    }

    return {
      id,
      models: known(id, options.defaultModel === undefined ? models : { [options.defaultModel]: {}, ...models }),
      available,
      model: (modelID) =>
        Effect.suspend(() => {
          const ready = made.get(modelID)
          if (ready !== undefined) return Effect.succeed(ready)
          if (!reachable) return Effect.fail(badUrl(id, modelID, baseUrl))
          if (!available) return Effect.fail(noKey(id, modelID, keyName))
          if (badHeader !== undefined) return Effect.fail(badConfig(id, modelID, badHeader))
          return Effect.map(load, (make) => {
            // Another fiber may have made the model meanwhile.
            const model = made.get(modelID) ?? make(setup(modelID))
            made.set(modelID, model)
            return model
          })
        })
    }
  })

/** Why a key or a header could not be sent. */
const badHeaderOf = ({ apiKey, headers, id, keyName }: HttpVendorOptions): string | undefined => {
  const keyAt = apiKey === undefined ? -1 : Redacted.value(apiKey).search(/[^\x20-\x7e]/)
  if (keyAt >= 0) {
    return `The key ${
      keyName === undefined ? `of the provider ${id}` : `in ${keyName}`
    } holds a character at position ${
      keyAt + 1
    } that no header may have, such as a line break or a letter that is not ASCII. Set ${
      keyName ?? "it"
    } again, to the key alone.`
  }
  const [name] = Object.entries(headers).find(([, value]) => /[^\t\x20-\x7e\x80-\xff]/.test(value)) ?? []
  return name === undefined
    ? undefined
    : `The header ${name} of the provider ${id} holds a character that no header may have, such as a line break. Set it again without that.`
}

const badConfig = (providerID: string, modelID: string, message: string): ModelUnavailable =>
  new ModelUnavailable({ model: formatRef({ providerID, modelID }), reason: "bad_config", message })

const isHttp = (text: string): boolean => /^https?:\/\//i.test(text) && URL.canParse(text)

const badUrl = (providerID: string, modelID: string, baseUrl: string): ModelUnavailable =>
  new ModelUnavailable({
    model: formatRef({ providerID, modelID }),
    reason: "bad_config",
    message: baseUrl === ""
      ? `The provider ${providerID} has no base_url: give it one in your config, such as http://127.0.0.1:8000/v1${
        providerID === "azure" ? ", or set AZURE_RESOURCE_NAME" : ""
      }. One that the project's config gives it counts once you trust that: skein trust.`
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

/** Tells keys apart without revealing them. Not node:crypto, because loading it would delay every start. */
export const fingerprintOf = (key: Redacted.Redacted): string =>
  (Hash.string(Redacted.value(key)) >>> 0).toString(16).padStart(8, "0")

/** Stands for a missing or unreadable count. A sum with it is negative, which counts as unknown. */
export const noCount = -1e15

/** The counts with these names that are numbers. */
export const numbersIn = (counts: Fields, names: ReadonlyArray<string>): Fields =>
  Object.fromEntries(names.flatMap((name) => typeof counts[name] === "number" ? [[name, counts[name]]] : []))

/** A count that must be there. */
export const countIn = (counts: Fields, name: string): number => {
  const count = counts[name]
  return typeof count === "number" ? count : noCount
}
