/** Sets up all providers of a process: OpenAI, the presets, those in the config, and the program's own. */
import { Config, defaults } from "@skein/core/Config"
import { Provider } from "@skein/core/Provider"
import type { ProviderConfig } from "@skein/domain/ConfigInfo"
import type { ModelRef } from "@skein/domain/Model"
import type { ConfigError } from "effect/ConfigError"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { Scope } from "effect/Scope"
import { chooseModel } from "./DefaultModel.ts"
import { keyFrom, textFrom } from "./internal/environment.ts"
import * as OpenAi from "./OpenAi.ts"
import * as OpenAiCompatible from "./OpenAiCompatible.ts"
import { toProvider, type Vendor } from "./Vendor.ts"

type VendorEffect = Effect.Effect<Vendor, ConfigError, Scope>

const openAi = (id: string, config: ProviderConfig, firstEvent: number | undefined): VendorEffect =>
  Effect.gen(function*() {
    const keyName = config.key_env ?? "OPENAI_API_KEY"
    return yield* OpenAi.make({
      id,
      keyName,
      apiKey: yield* keyFrom(keyName),
      baseUrl: config.base_url ?? (id === "openai" ? yield* textFrom("OPENAI_BASE_URL") : undefined),
      api: config.api,
      firstEvent,
      headers: config.headers,
      models: config.models
    })
  })

const compatible = (
  id: string,
  config: ProviderConfig,
  firstEvent: number | undefined,
  preset?: OpenAiCompatible.Preset
): VendorEffect =>
  Effect.gen(function*() {
    const keyName = config.key_env ?? preset?.keyName
    return yield* OpenAiCompatible.make({
      ...preset,
      id,
      keyName,
      apiKey: keyName === undefined ? undefined : yield* keyFrom(keyName),
      baseUrl: config.base_url ?? (preset === undefined ? "" : (yield* textFrom(preset.baseUrlName)) ?? preset.baseUrl),
      firstEvent,
      headers: config.headers,
      models: config.models
    })
  })

/** What the program adds to the providers of this package. */
export interface ProvidersOptions {
  /** More vendors. Config under their ids does not apply to them. */
  readonly vendors: ReadonlyArray<Vendor>
  /** The default model if no key and no model is set. Its vendor must not need a key. */
  readonly fallback: ModelRef
}

const vendors = (
  configs: Readonly<Record<string, ProviderConfig>>,
  firstEvent: number | undefined,
  own: ReadonlyArray<Vendor>
): Effect.Effect<
  ReadonlyArray<Vendor>,
  ConfigError,
  Scope
> => {
  const presets: Readonly<Record<string, OpenAiCompatible.Preset>> = OpenAiCompatible.presets
  const ids = new Set(["openai", ...Object.keys(presets), ...Object.keys(configs)])
  for (const { id } of own) ids.delete(id)
  return Effect.map(
    Effect.forEach(ids, (id) => {
      const config = configs[id] ?? {}
      const type = config.type ?? (id === "openai" ? "openai" : "openai-compatible")
      return type === "openai" ? openAi(id, config, firstEvent) : compatible(id, config, firstEvent, presets[id])
    }),
    (made) => [...made, ...own]
  )
}

/** `deadlines.first_event` if it was set, even to its default: it then applies to every server, local ones too. */
const chosenFirstEvent = ({ origins, settings }: Context.Tag.Service<Config>): number | undefined => {
  const { first_event } = settings.deadlines
  const origin = origins["deadlines.first_event"] ?? "default"
  return origin === "default" && first_event === defaults.deadlines.first_event ? undefined : first_event
}

/** All providers, set up from the config and the environment. `chooseModel` picks the default model. */
export const layer = (options: ProvidersOptions): Layer.Layer<Provider, ConfigError, Config> =>
  Layer.scoped(
    Provider,
    Effect.gen(function*() {
      const config = yield* Config
      const made = yield* vendors(config.settings.provider ?? {}, chosenFirstEvent(config), options.vendors)
      const { model } = yield* chooseModel(options.fallback)
      return toProvider(made, Effect.succeed(model))
    })
  )
