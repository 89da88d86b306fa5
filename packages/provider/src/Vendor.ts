/** A vendor offers all models under one `provider/`. A Provider consists of vendors. */
import { type LanguageModel, ModelUnavailable, Provider } from "@skein/core/Provider"
import { didYouMean } from "@skein/domain/Lookup"
import { formatRef, type ModelInfo, type ModelRef } from "@skein/domain/Model"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Redacted from "effect/Redacted"
import type { Scope } from "effect/Scope"
import type { ModelConfigs } from "./Models.ts"

/** The models of one provider. */
export interface Vendor {
  /** The part of a model's name before the slash. */
  readonly id: string
  /** The known models. You can ask for others too. */
  readonly models: ReadonlyArray<ModelInfo>
  /** Whether its models are ready to use with the current setup. */
  readonly available: boolean
  /** Prepares a model. Loads its client on the first call. */
  readonly model: (modelID: string) => Effect.Effect<LanguageModel, ModelUnavailable>
}

/** How to reach a vendor, or another server with the same API. */
export interface VendorOptions {
  /** The part of a model's name before the slash; the vendor's own name by default. */
  readonly id?: string
  readonly apiKey?: Redacted.Redacted | undefined
  /** The variable that the key came from, for messages; by default the vendor's own. */
  readonly keyName?: string | undefined
  /** Another server. It needs no key. */
  readonly baseUrl?: string | undefined
  /** Deadline for the first content, in milliseconds. 10 minutes for a local server, else as the settings say. */
  readonly firstEvent?: number | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly models?: ModelConfigs | undefined
}

/** Makes a Provider of vendors, by their ids. Each is set up when a model of it is first wanted, or all are listed. */
export const toProvider = (
  vendors: ReadonlyMap<string, Effect.Effect<Vendor>>,
  defaultModel: Effect.Effect<ModelRef, ModelUnavailable>
): Context.Tag.Service<typeof Provider> => {
  const byID = new Map(
    [...vendors].map(([id, make]) => [id, once(make)] as const).toSorted(([a], [b]) => a < b ? -1 : 1)
  )
  return {
    resolve: (ref) => {
      const vendor = byID.get(ref.providerID)
      return vendor === undefined
        ? Effect.fail(unknownProvider(ref, [...byID.keys()]))
        : Effect.flatMap(vendor, ({ model }) => model(ref.modelID))
    },
    list: Effect.map(
      Effect.all([...byID.values()]),
      (all) =>
        all.flatMap(({ available, models }) =>
          models.map((info) => ({ ...info, available }))
            .toSorted((a, b) => a.modelID < b.modelID ? -1 : a.modelID > b.modelID ? 1 : 0)
        )
    ),
    defaultModel
  }
}

const once = <A, E>(make: Effect.Effect<A, E>): Effect.Effect<A, E> => {
  let made: Effect.Effect<A> | undefined
  // If two fibers make it at the same time, both get what the first one made.
  return Effect.suspend(() => made ?? Effect.flatMap(make, (first) => made ??= Effect.succeed(first)))
}

const unknownProvider = (ref: ModelRef, ids: ReadonlyArray<string>): ModelUnavailable =>
  new ModelUnavailable({
    model: formatRef(ref),
    reason: "unknown_provider",
    message: `There is no provider ${ref.providerID} for ${formatRef(ref)}.${
      didYouMean(ref.providerID, ids, (id) => `${id}/${ref.modelID}`)
    } Known: ${ids.join(", ")}. Others can be added under "provider" in the config, with a base_url.`
  })

/** One vendor as the only provider. */
export const onlyVendor = (make: Effect.Effect<Vendor, never, Scope>, { modelID }: ModelRef): Layer.Layer<Provider> =>
  Layer.scoped(
    Provider,
    Effect.map(
      make,
      (vendor) =>
        toProvider(new Map([[vendor.id, Effect.succeed(vendor)]]), Effect.succeed({ modelID, providerID: vendor.id }))
    )
  )
