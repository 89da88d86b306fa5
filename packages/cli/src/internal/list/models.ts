/** What `skein models` does. */
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import * as FileSystem from "@effect/platform/FileSystem"
import * as HttpClient from "@effect/platform/HttpClient"
import { DataDirs } from "@skein/config/DataDirs"
import { Config } from "@skein/core/Config"
import { Provider } from "@skein/core/Provider"
import { didYouMean } from "@skein/domain/Lookup"
import { formatRef, type ModelInfo } from "@skein/domain/Model"
import { builtIn } from "@skein/provider/BuiltIn"
import { reduce } from "@skein/provider/Catalogue"
import { localModels } from "@skein/provider/LocalModels"
import { formatCount } from "@skein/view/Numbers"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import { dirname } from "node:path"
import type { CommandError } from "../../CommandSpec.ts"
import { ExitCode } from "../../ExitCode.ts"
import { Stdio } from "../../Stdio.ts"
import { UsageError } from "../../UsageError.ts"
import { platform, settle } from "../app.ts"
import { fileReason } from "../fileReason.ts"
import { directoryOf } from "../place.ts"
import { catalogueFile, providers } from "../providers.ts"
import { printList, remark } from "./print.ts"

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

const isUrl = (source: string): boolean => /^https?:\/\//i.test(source)

/** Stores a catalogue from a file or a URL. Nothing else ever downloads one. */
export const updateModels = (
  { operands: [source = ""] }: { readonly operands: ReadonlyArray<string> }
): Effect.Effect<number, CommandError, Stdio> =>
  Effect.gen(function*() {
    const stdio = yield* Stdio
    const files = yield* FileSystem.FileSystem
    const refused = (why: string) => new UsageError({ message: `${source} is no catalogue of models: ${why}.` })
    const text = yield* isUrl(source)
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
    const write = files.makeDirectory(dirname(file), { recursive: true, mode: 0o700 }).pipe(
      Effect.zipRight(files.writeFileString(`${file}.part`, kept)),
      Effect.zipRight(files.rename(`${file}.part`, file)),
      Effect.mapError((error) => new UsageError({ message: `${file} cannot be written: ${fileReason(error)}.` }))
    )
    yield* write
    stdio.out(
      `Stored ${count.models} models of ${count.providers} providers in ${file}. Remove the file to use the built-in table.\n`
    )
    return ExitCode.done
  }).pipe(Effect.provide(platform({})))
