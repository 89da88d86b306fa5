/** `skein models`: lists the models, and takes newer limits and prices of them. */
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import * as FileSystem from "@effect/platform/FileSystem"
import * as HttpClient from "@effect/platform/HttpClient"
import { DataDirs } from "@skein/config/DataDirs"
import { Config } from "@skein/core/Config"
import { Provider } from "@skein/core/Provider"
import { didYouMean } from "@skein/domain/Lookup"
import { formatRef } from "@skein/domain/Model"
import { builtIn } from "@skein/provider/BuiltIn"
import { reduce } from "@skein/provider/Catalogue"
import { localModels } from "@skein/provider/LocalModels"
import { formatCount } from "@skein/view/Numbers"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import { dirname } from "node:path"
import { command, group } from "../CommandSpec.ts"
import { UsageError } from "../ExitCode.ts"
import { settleIn } from "../internal/app.ts"
import { fileReason } from "../internal/fileReason.ts"
import { directoryFlags, listingFlags } from "../internal/flags.ts"
import { printList, remark } from "../internal/print.ts"
import { catalogueFile, providers } from "../internal/providers.ts"
import { Stdio } from "../Stdio.ts"

/** Lists the known models, and whether there is a key for each; also those of servers that run on this machine. */
const list = command({
  name: "list",
  summary: "Lists the models, or those of one provider, and which are ready to use",
  operands: "[PROVIDER]",
  flags: { ...listingFlags, ...directoryFlags },
  run: ({ flags, operands: [only] }) =>
    Effect.gen(function*() {
      const { origins, settings, warnings } = yield* settleIn(flags.dir)
      yield* remark(warnings.filter(({ kind }) => kind === "broken"))
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
      yield* printList(flags, {
        items: models.map((model) => ({ ...model, default: formatRef(model) === usual })),
        columns: {
          "MODEL": (model) => model.default ? `${formatRef(model)} (default)` : formatRef(model),
          "READY": ({ available }) => available ? "yes" : "no key",
          "CONTEXT": ({ limit }) => limit === undefined ? "unknown" : formatCount(limit.context),
          "PRICE (IN / OUT, PER MILLION TOKENS)": ({ price }) =>
            price === undefined ? "unknown" : `$${price.input} / $${price.output}`
        },
        empty: "There are no models."
      })
    })
})

/** The longest catalogue, in bytes. */
const most = 64 * 1024 * 1024

const download = (url: string) =>
  HttpClient.get(url).pipe(
    Effect.flatMap((response) =>
      response.status === 200 ? response.text : Effect.fail({ message: `it answered ${response.status}` })
    ),
    Effect.timeoutFail({ duration: "60 seconds", onTimeout: () => ({ message: "it did not answer within 60 s" }) }),
    Effect.mapError(({ message }) => new UsageError({ message: `${url} cannot be downloaded: ${message}.` })),
    Effect.scoped,
    Effect.provide(FetchHttpClient.layer)
  )

/** Stores a catalogue from a file or a URL. Nothing else ever downloads one. */
const update = command({
  name: "update",
  summary: "Stores newer limits and prices of models, from a file or a URL",
  details: "The catalogue has the format of https://models.dev/api.json. Skein downloads nothing by itself.",
  operands: "FILE|URL",
  flags: {},
  run: ({ operands: [source = ""] }) =>
    Effect.gen(function*() {
      const files = yield* FileSystem.FileSystem
      const refused = (why: string) => new UsageError({ message: `${source} is no catalogue of models: ${why}.` })
      const text = yield* /^https?:\/\//i.test(source)
        ? download(source)
        : Effect.mapError(
          files.readFileString(source),
          (error) => new UsageError({ message: `${source} cannot be read: ${fileReason(error)}.` })
        )
      if (text.length > most) return yield* refused(`it is longer than ${most} bytes`)
      const found = reduce(text)
      if (Either.isLeft(found)) return yield* refused(found.left.split("\n", 1)[0] ?? "")
      const { text: kept, ...count } = found.right
      const file = yield* Effect.map(DataDirs, catalogueFile)
      yield* files.makeDirectory(dirname(file), { recursive: true, mode: 0o700 }).pipe(
        Effect.zipRight(files.writeFileString(`${file}.part`, kept)),
        Effect.zipRight(files.rename(`${file}.part`, file)),
        Effect.mapError((error) => new UsageError({ message: `${file} cannot be written: ${fileReason(error)}.` }))
      )
      const { out } = yield* Stdio
      out(
        `Stored ${count.models} models of ${count.providers} providers in ${file}. Remove the file to use the built-in table.\n`
      )
    })
})

/** Lists the models, and takes newer limits and prices. */
export const models = group([list, update], { operands: "[PROVIDER]" })
