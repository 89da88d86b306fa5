/** What `skein models` does. */
import { Config } from "@skein/core/Config"
import { Provider } from "@skein/core/Provider"
import { didYouMean } from "@skein/domain/Lookup"
import { formatRef, type ModelInfo } from "@skein/domain/Model"
import { builtIn } from "@skein/provider/BuiltIn"
import { localModels } from "@skein/provider/LocalModels"
import { formatCount } from "@skein/view/Numbers"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { CommandError } from "../../CommandSpec.ts"
import type { Stdio } from "../../Stdio.ts"
import { UsageError } from "../../UsageError.ts"
import { platform, settle } from "../app.ts"
import { directoryOf } from "../place.ts"
import { providers } from "../providers.ts"
import { printList } from "./print.ts"
import { remark } from "./remarks.ts"

const priceOf = ({ price }: ModelInfo): string => price === undefined ? "unknown" : `$${price.input} / $${price.output}`

/** Lists the known models, and whether there is a key for each; also those of servers that run on this machine. */
export const listModels = ({ flags, operands: [only] }: {
  readonly flags: { readonly format: "default" | "json"; readonly full: boolean; readonly dir: string | undefined }
  readonly operands: ReadonlyArray<string>
}): Effect.Effect<number, CommandError, Stdio> =>
  Effect.gen(function*() {
    const { origins, settings, warnings } = yield* Effect.flatMap(directoryOf(flags.dir), (directory) =>
      settle(directory))
    yield* remark(warnings.filter(({ kind }) =>
      kind === "broken"
    ))
    const provider = yield* Effect.provide(
      Provider,
      Layer.provide(providers, Layer.succeed(Config, { settings, origins }))
    )
    const listed = yield* provider.list
    const running = yield* localModels(settings.provider ?? {})
    const names = new Set(listed.map(formatRef))
    const all = [
      ...listed,
      ...running.filter((model) => !names.has(formatRef(model))).map((model) => ({ ...model, available: true }))
    ]
    const models = only === undefined ? all : all.filter(({ providerID }) => providerID === only)
    if (only !== undefined && models.length === 0) {
      const ids = [...new Set([...Object.keys(builtIn), ...all.map(({ providerID }) => providerID)])]
      return yield* new UsageError({
        message: ids.includes(only)
          ? `No models of ${only} are known. Name one all the same: -m ${only}/MODEL.`
          : `There is no provider ${JSON.stringify(only)}.${didYouMean(only, ids)} Providers: ${ids.join(", ")}.`
      })
    }
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
