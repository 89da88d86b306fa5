/** Models of any provider package of the AI SDK that the user has installed. */
import type { LanguageModelV3 } from "@ai-sdk/provider"
import { type LanguageModel, ModelUnavailable } from "@skein/core/Provider"
import { formatRef } from "@skein/domain/Model"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { loadInstalled } from "./internal/installed.ts"
import { type Fields, fields } from "./internal/json.ts"
import { fingerprintOf } from "./internal/vendor.ts"
import * as LanguageModelAdapter from "./LanguageModelAdapter.ts"
import { known, lookup, type ModelConfigs } from "./Models.ts"
import type { Vendor } from "./Vendor.ts"

/** A package, and what to set it up with. */
export interface AiSdkPackageOptions {
  /** The part of a model's name before the slash. */
  readonly id: string
  /** The name of the package, or the absolute path of a module. */
  readonly package: string
  /** The directory whose `node_modules` holds the package. */
  readonly directory: string
  readonly apiKey?: Redacted.Redacted | undefined
  /** The variable that holds the key. If set, requests without a key are refused. */
  readonly keyName?: string | undefined
  readonly baseUrl?: string | undefined
  readonly firstEvent?: number | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly models?: ModelConfigs | undefined
  /** Passed on as they are. */
  readonly options?: Readonly<Record<string, unknown>> | undefined
}

const secretNames = /key|token|secret|passw|credential|auth/i

/** All values that may be secret. */
const secretsOf = ({ apiKey, headers = {}, options = {} }: AiSdkPackageOptions): ReadonlyArray<Redacted.Redacted> => [
  ...apiKey === undefined ? [] : [apiKey],
  ...[
    ...Object.values(headers),
    ...Object.entries(options).flatMap(([name, value]) =>
      typeof value === "string" && secretNames.test(name) ? [value] : []
    )
  ].map((value) => Redacted.make(value))
]

/** What a package makes of a model's name. */
type MakeModel = (modelID: string) => unknown

/** The function that makes models; a text says what is wrong with the package. */
const toMakeModel = (exported: Fields, options: AiSdkPackageOptions): MakeModel | string => {
  const { apiKey, baseUrl, headers, id } = options
  const create = Object.entries(exported).find(([name, value]) =>
    /^create[A-Z]/.test(name) && typeof value === "function"
  )?.[1]
  if (typeof create !== "function") return "it exports no function whose name begins with create"
  const sdk: unknown = create({
    name: id,
    ...apiKey === undefined ? {} : { apiKey: Redacted.value(apiKey) },
    ...baseUrl === undefined ? {} : { baseURL: baseUrl },
    ...headers === undefined ? {} : { headers },
    ...options.options
  })
  const make = typeof sdk === "function" ? sdk : fields(sdk)?.["languageModel"]
  return typeof make === "function" ? (modelID) => Reflect.apply(make, sdk, [modelID]) : "it makes no language models"
}

const isV3 = (model: unknown): model is LanguageModelV3 =>
  (fields(model) ?? (typeof model === "function" ? model : {}) as Fields)["specificationVersion"] === "v3"

/** The vendor of a package's models. The package is loaded with the first model. */
export const make = (options: AiSdkPackageOptions): Vendor => {
  const { apiKey, directory, id, keyName, models = {}, package: name } = options
  const available = keyName === undefined || apiKey !== undefined
  const made = new Map<string, LanguageModel>()
  const refuse = (modelID: string, message: string, reason: "bad_config" | "no_key" = "bad_config") =>
    new ModelUnavailable({ model: formatRef({ providerID: id, modelID }), reason, message })
  const adapt = (model: LanguageModelV3, modelID: string): LanguageModel => {
    const info = lookup(id, modelID, models)
    return LanguageModelAdapter.make({
      model,
      info,
      limitKey: `${formatRef(info)}/${apiKey === undefined ? "no-key" : fingerprintOf(apiKey)}`,
      secrets: secretsOf(options),
      firstEvent: options.firstEvent,
      ...keyName === undefined ? {} : { keyName },
      ...options.baseUrl === undefined ? {} : { baseUrl: options.baseUrl }
    })
  }
  const load = Effect.fnUntraced(function*(modelID: string) {
    const fault = (why: unknown) =>
      refuse(
        modelID,
        `The package ${name} of the provider ${id} cannot be used: ${why instanceof Error ? why.message : why}.`
      )
    const exported = yield* Effect.tryPromise({ try: () => loadInstalled(name, directory), catch: fault })
    if (exported === undefined) {
      return yield* refuse(
        modelID,
        `The provider ${id} needs the package ${name}, which is not installed: npm install --prefix ${directory} ${name}. Choose its release for AI SDK 6.`
      )
    }
    const result = yield* Effect.try({
      try: () => {
        const makeModel = toMakeModel(exported, options)
        return typeof makeModel === "string" ? makeModel : { model: makeModel(modelID) }
      },
      catch: fault
    })
    if (typeof result === "string") return yield* fault(result)
    if (!isV3(result.model)) {
      return yield* fault("its models are not of version 3; install its release for AI SDK 6")
    }
    return adapt(result.model, modelID)
  })
  return {
    id,
    models: known(id, models),
    available,
    model: (modelID) =>
      Effect.suspend(() => {
        const ready = made.get(modelID)
        if (ready !== undefined) return Effect.succeed(ready)
        if (!available) {
          const needs = `${
            formatRef({ providerID: id, modelID })
          } needs a key: set the environment variable ${keyName}.`
          return Effect.fail(refuse(modelID, needs, "no_key"))
        }
        return Effect.tap(load(modelID), (model) => Effect.sync(() => made.set(modelID, model)))
      })
  }
}
