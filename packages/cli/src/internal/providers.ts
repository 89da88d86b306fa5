/** Decides which providers the program has, and which model answers if no key is set: the one that needs no network. */
import type { ConfigOptions, ProviderCheck } from "@skein/config/ConfigFiles"
import { DataDirs } from "@skein/config/DataDirs"
import { Config } from "@skein/core/Config"
import { surveyRef, vendor } from "@skein/offline/Offline"
import * as DefaultModel from "@skein/provider/BuiltIn"
import { unusable } from "@skein/provider/BuiltIn"
import type { Catalogue } from "@skein/provider/Catalogue"
import * as Providers from "@skein/provider/Providers"
import { environment } from "@skein/tools/Environment"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"

/** The model that answers if no key is set. It is not an AI. */
export const fallback = surveyRef

/** Where `skein models update` keeps the catalogue. */
export const catalogueFile = ({ data }: Context.Tag.Service<DataDirs>): string => join(data, "models.json")

/** The stored catalogue. Mostly there is none, and then nothing of it is loaded. */
const catalogue = (dirs: Context.Tag.Service<DataDirs>): Effect.Effect<Catalogue> => {
  const file = catalogueFile(dirs)
  if (!existsSync(file)) return Effect.succeed({})
  return Effect.tryPromise(() => import("@skein/provider/Catalogue")).pipe(
    Effect.flatMap(({ read }) => Effect.try(() => read(readFileSync(file, "utf8")))),
    Effect.catchAll((error) =>
      Effect.as(Effect.logWarning(`The catalogue of models ${file} cannot be read and does not count`, error), {})
    )
  )
}

/** All providers: those that talk to a server, and the one that needs none. */
export const providers = Layer.unwrapEffect(
  Effect.flatMap(
    DataDirs,
    (dirs) =>
      Effect.map(
        catalogue(dirs),
        (known) => Providers.layer({ vendors: [vendor], fallback, packages: dirs.config, catalogue: known })
      )
  )
)

/** The model of agents that name none, and the reason for the choice. */
export const chooseModel = DefaultModel.chooseModel(fallback)

/** The providers whose models may be named in files of other programs. */
export const providerCheck: Effect.Effect<ProviderCheck> = Effect.map(
  environment,
  (variables) => unusable(variables, [vendor.id])
)

/** How this program reads the config of a directory. */
export const configOf = (directory: string): Effect.Effect<ConfigOptions> =>
  Effect.map(providerCheck, (whyNot) => ({
    directory,
    whyNot,
    vendors: (settings) =>
      chooseModel.pipe(
        Effect.provideService(Config, { settings, origins: {} }),
        Effect.map(({ model }) => [model.providerID]),
        Effect.orElseSucceed(() => [])
      )
  }))
