/** What `skein models update` does. */
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import * as FileSystem from "@effect/platform/FileSystem"
import * as HttpClient from "@effect/platform/HttpClient"
import { DataDirs } from "@skein/config/DataDirs"
import { reduce } from "@skein/provider/Catalogue"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { dirname } from "node:path"
import type { CommandError } from "../../CommandSpec.ts"
import { ExitCode } from "../../ExitCode.ts"
import { Stdio } from "../../Stdio.ts"
import { UsageError } from "../../UsageError.ts"
import { platform } from "../app.ts"
import { fileReason } from "../fileReason.ts"
import { catalogueFile } from "../providers.ts"

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
    const { models, providers, text: kept } = found.right
    const file = yield* Effect.map(DataDirs, catalogueFile)
    const write = files.makeDirectory(dirname(file), { recursive: true, mode: 0o700 }).pipe(
      Effect.zipRight(files.writeFileString(`${file}.part`, kept)),
      Effect.zipRight(files.rename(`${file}.part`, file)),
      Effect.mapError((error) => new UsageError({ message: `${file} cannot be written: ${fileReason(error)}.` }))
    )
    yield* write
    stdio.out(
      `Stored ${models} models of ${providers} providers in ${file}. Remove the file to use the built-in table.\n`
    )
    return ExitCode.done
  }).pipe(Effect.provide(platform({})))
