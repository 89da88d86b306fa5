/** Decides which providers the program has, and which model answers if no key is set: the one that needs no network. */
import type { ProviderCheck } from "@skein/config/ConfigFiles"
import { DataDirs } from "@skein/config/DataDirs"
import { surveyRef, vendor } from "@skein/offline/Offline"
import * as DefaultModel from "@skein/provider/DefaultModel"
import * as Providers from "@skein/provider/Providers"
import { unusable } from "@skein/provider/Unusable"
import { environment } from "@skein/tools/Environment"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

/** The model that answers if no key is set. It is not an AI. */
export const fallback = surveyRef

/** All providers: those that talk to a server, and the one that needs none. */
export const providers = Layer.unwrapEffect(
  Effect.map(DataDirs, ({ config }) => Providers.layer({ vendors: [vendor], fallback, packages: config }))
)

/** The model of agents that name none, and the reason for the choice. */
export const chooseModel = DefaultModel.chooseModel(fallback)

/** The providers whose models may be named in files of other programs. */
export const providerCheck: Effect.Effect<ProviderCheck> = Effect.map(
  environment,
  (variables) => unusable(variables, [vendor.id])
)
