/** What `skein models` does. */
import { Config } from "@skein/core/Config"
import { Provider } from "@skein/core/Provider"
import { formatRef, type ModelInfo } from "@skein/domain/Model"
import { localModels } from "@skein/provider/LocalModels"
import { formatCount } from "@skein/view/Numbers"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { CommandError } from "../../CommandSpec.ts"
import type { Stdio } from "../../Stdio.ts"
import { platform, settle } from "../app.ts"
import { directoryOf } from "../place.ts"
import { providers } from "../providers.ts"
import { printList } from "./print.ts"

const priceOf = ({ price }: ModelInfo): string => price === undefined ? "unknown" : `$${price.input} / $${price.output}`

/** Lists the known models, and whether there is a key for each; also those of servers that run on this machine. */
export const listModels = ({ flags }: {
  readonly flags: { readonly format: "default" | "json"; readonly full: boolean; readonly dir: string | undefined }
}): Effect.Effect<number, CommandError, Stdio> =>
  Effect.gen(function*() {
    const { origins, settings } = yield* Effect.flatMap(directoryOf(flags.dir), (directory) => settle(directory))
    const provider = yield* Effect.provide(
      Provider,
      Layer.provide(providers, Layer.succeed(Config, { settings, origins }))
    )
    const listed = yield* provider.list
    const running = yield* localModels(settings.provider ?? {})
    const names = new Set(listed.map(formatRef))
    const models = [
      ...listed,
      ...running.filter((model) => !names.has(formatRef(model))).map((model) => ({ ...model, available: true }))
    ]
    const usual = formatRef(yield* provider.defaultModel)
    return yield* printList({
      format: flags.format,
      full: flags.full,
      json: models.map((model) => ({ ...model, default: formatRef(model) === usual })),
      head: ["MODEL", "READY", "CONTEXT", "PRICE (IN / OUT, PER MILLION TOKENS)"],
      rows: models.map((model) => [
        formatRef(model) === usual ? `${formatRef(model)} (default)` : formatRef(model),
        model.available ? "yes" : "no key",
        model.limit === undefined ? "unknown" : formatCount(model.limit.context),
        priceOf(model)
      ]),
      empty: "There are no models."
    })
  }).pipe(Effect.provide(platform({})))
