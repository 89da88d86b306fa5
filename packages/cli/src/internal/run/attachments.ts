/** Turns the files that `--file` names into parts of the prompt. */
import type { PlatformError } from "@effect/platform/Error"
import * as FileSystem from "@effect/platform/FileSystem"
import type { PartInput } from "@skein/domain/Part"
import { imageType } from "@skein/tools/FileKind"
import * as Effect from "effect/Effect"
import { isUtf8 } from "node:buffer"
import { basename, resolve } from "node:path"
import { UsageError } from "../../ExitCode.ts"
import { fileReason } from "../fileReason.ts"

/** The maximum size of an attached file, in bytes. */
const longest = 20 * 1024 * 1024

const refuse = (path: string, why: string) => new UsageError({ message: `--file: ${path} ${why}` })

const readText = (path: string, bytes: Buffer): Effect.Effect<string, UsageError> =>
  isUtf8(bytes) && !bytes.includes(0)
    ? Effect.succeed(bytes.toString("utf8"))
    : refuse(
      path,
      "is neither an image (PNG, JPEG, GIF, WebP) nor text in UTF-8. Convert it first, for example with iconv -t utf-8."
    )

const attach = Effect.fnUntraced(function*(directory: string, given: string) {
  const fs = yield* FileSystem.FileSystem
  const path = resolve(directory, given)
  const failed = (error: PlatformError) => {
    const isMissing = error._tag === "SystemError" && error.reason === "NotFound"
    const why = isMissing ? "does not exist" : `cannot be read (${fileReason(error)})`
    return refuse(path, `${why}. Paths are relative to the current directory.`)
  }
  const info = yield* Effect.mapError(fs.stat(path), failed)
  if (info.type !== "File") {
    return yield* refuse(path, `is not a file (${info.type.toLowerCase()}). Name a text file or an image.`)
  }
  if (Number(info.size) > longest) {
    return yield* refuse(path, "is longer than 20 MB. Name it in the prompt instead: the agent reads it in pieces.")
  }
  const read = yield* Effect.mapError(fs.readFile(path), failed)
  const bytes = Buffer.from(read.buffer, read.byteOffset, read.byteLength)
  const mime = imageType(bytes)
  if (mime !== undefined) {
    const url = `data:${mime};base64,${bytes.toString("base64")}`
    return { type: "file", mime, filename: basename(path), url } satisfies PartInput
  }
  const text = yield* readText(path, bytes)
  return { type: "text", text: `The file ${path}:\n\n${text}`, synthetic: true } satisfies PartInput
})

/** Reads the files. Paths are relative to a directory. */
export const attachments = (directory: string, paths: ReadonlyArray<string>) =>
  Effect.forEach(paths, (path) => attach(directory, path))
