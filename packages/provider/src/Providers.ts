/** Sets up all providers of a process: OpenAI, Anthropic, Google, the presets, those in the config, and the program's own. */
import { Config, defaults } from "@skein/core/Config"
import { Provider } from "@skein/core/Provider"
import type { ProviderConfig } from "@skein/domain/ConfigInfo"
import type { ModelRef } from "@skein/domain/Model"
import type { ConfigError } from "effect/ConfigError"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as AiSdkPackage from "./AiSdkPackage.ts"
import * as Anthropic from "./Anthropic.ts"
import { builtIn, chooseModel, findKey, packageOf } from "./BuiltIn.ts"
import type { Catalogue } from "./Catalogue.ts"
import * as Google from "./Google.ts"
import { textFrom } from "./internal/vendor.ts"
import type { ModelConfigs } from "./Models.ts"
import * as OpenAi from "./OpenAi.ts"
import * as OpenAiCompatible from "./OpenAiCompatible.ts"
import { toProvider, type Vendor } from "./Vendor.ts"

type VendorEffect = Effect.Effect<Vendor, ConfigError, Scope.Scope>

/** The APIs that a provider may have. */
type Api = NonNullable<ProviderConfig["type"]>

const apiOf = (id: string, config: ProviderConfig): Api =>
  config.type ?? (id === "openai" || id === "anthropic" || id === "google" ? id : "openai-compatible")

/** What the config says of a model comes before what a catalogue says of it. */
const withConfig = (catalogue: ModelConfigs, configs: ModelConfigs = {}): ModelConfigs => ({
  ...catalogue,
  ...Object.fromEntries(Object.entries(configs).map(([name, config]) => [name, { ...catalogue[name], ...config }]))
})

/** Sets up a provider. A provider of your own gets no other provider's key, unless it has OpenAI's API. */
const vendorOf = (
  id: string,
  config: ProviderConfig,
  firstEvent: number | undefined,
  packages: string | undefined,
  catalogue: ModelConfigs
): VendorEffect =>
  Effect.gen(function*() {
    const api = apiOf(id, config)
    const own = yield* findKey(id, config)
    const { key: apiKey, name: keyName } = own.name === undefined && api === "openai"
      ? yield* findKey("openai", config)
      : own
    const baseUrlName = builtIn[id]?.baseUrlName
    const baseUrl = config.base_url ?? (baseUrlName === undefined ? undefined : yield* textFrom(baseUrlName))
    const resource = id === "azure" && baseUrl === undefined ? yield* textFrom("AZURE_RESOURCE_NAME") : undefined
    const signs = yield* Effect.forEach(builtIn[id]?.signs ?? [], textFrom)
    const common = {
      id,
      apiKey,
      keyName,
      firstEvent,
      headers: config.headers,
      models: withConfig(catalogue, config.models)
    }
    const name = packageOf(id, config)
    if (name !== undefined && packages !== undefined) {
      // A package that Skein names reads the variables itself.
      const isNamed = config.package !== undefined || config.key_env !== undefined
      const ready = isNamed || apiKey !== undefined || signs.some((sign) => sign !== undefined)
      return AiSdkPackage.make({
        ...common,
        ...isNamed ? {} : { apiKey: undefined, keyName: ready ? undefined : keyName },
        package: name,
        options: config.options,
        baseUrl: config.base_url,
        directory: packages
      })
    }
    if (id === "azure") {
      // Its deployments have names of their own, and it has the API of OpenAI.
      const url = baseUrl ?? (resource === undefined ? "" : `https://${resource}.openai.azure.com/openai/v1`)
      return yield* OpenAi.make({ ...common, baseUrl: url, api: config.api })
    }
    switch (api) {
      case "openai":
        return yield* OpenAi.make({ ...common, baseUrl, api: config.api })
      case "anthropic":
        return yield* Anthropic.make({ ...common, baseUrl })
      case "google":
        return yield* Google.make({ ...common, baseUrl })
      case "openai-compatible": {
        const preset: OpenAiCompatible.Preset | undefined = presets[id]
        return yield* OpenAiCompatible.make({ ...preset, ...common, baseUrl: baseUrl ?? preset?.baseUrl ?? "" })
      }
    }
  })

const presets: Readonly<Record<string, OpenAiCompatible.Preset>> = OpenAiCompatible.presets

/** What the program adds to the providers of this package. */
export interface ProvidersOptions {
  /** More vendors. Config under their ids does not apply to them. */
  readonly vendors: ReadonlyArray<Vendor>
  /** The directory whose `node_modules` holds the packages that the config names. Without it, no package is loaded. */
  readonly packages?: string
  /** Limits, prices and abilities of models, newer than those of this package. The config overrides them. */
  readonly catalogue?: Catalogue
  /** The default model if no key and no model is set. Its vendor must not need a key. */
  readonly fallback: ModelRef
}

/** `deadlines.first_event` if it was set, even to its default: it then applies to every server, local ones too. */
const chosenFirstEvent = ({ origins, settings }: Context.Tag.Service<Config>): number | undefined => {
  const { first_event } = settings.deadlines
  const origin = origins["deadlines.first_event"] ?? "default"
  return origin === "default" && first_event === defaults.deadlines.first_event ? undefined : first_event
}

/** A variable of the environment is a text, which can always be read. */
const readable = <A, R>(effect: Effect.Effect<A, ConfigError, R>): Effect.Effect<A, never, R> =>
  Effect.orDieWith(effect, (error) => new Error(`The environment cannot be read: ${String(error)}`))

/** All providers, set up from the config and the environment. `chooseModel` picks the default model. */
export const layer = (options: ProvidersOptions): Layer.Layer<Provider, never, Config> =>
  Layer.scoped(
    Provider,
    Effect.gen(function*() {
      const config = yield* Config
      const scope = yield* Effect.scope
      const { catalogue = {}, fallback, packages, vendors } = options
      const configs = config.settings.provider ?? {}
      const firstEvent = chosenFirstEvent(config)
      const make = (id: string) =>
        readable(Scope.extend(vendorOf(id, configs[id] ?? {}, firstEvent, packages, catalogue[id] ?? {}), scope))
      const ids = [...Object.keys(builtIn), ...Object.keys(configs)]
      return toProvider(
        new Map([
          ...ids.map((id) => [id, make(id)] as const),
          ...vendors.map((vendor) => [vendor.id, Effect.succeed(vendor)] as const)
        ]),
        chooseModel(fallback).pipe(
          readable,
          Effect.map(({ model }) => model),
          Effect.provideService(Config, config)
        )
      )
    })
  )
