/** Reads a text file that somebody named in config, and says in plain words why it cannot be read. */
import type { PlatformError } from "@effect/platform/Error"
import * as FileSystem from "@effect/platform/FileSystem"
import * as Effect from "effect/Effect"

/** Why a file could not be read, and the line where that is known. */
export interface Unreadable {
  readonly line?: number
  readonly message: string
}

/** How large such a file may be, in bytes. */
const maximumSize = 1024 * 1024

/** Why the file system would not do it. */
export const reason = (error: PlatformError): string => {
  if (error._tag === "BadArgument") return error.message
  switch (error.reason) {
    case "NotFound":
      return "there is no such file"
    case "PermissionDenied":
      return "it may not be read; check its mode and owner"
    default:
      return error.description ?? error.reason
  }
}

/** The bytes of a regular file that is not too large. */
const readBytes = Effect.fnUntraced(function*(path: string) {
  const fs = yield* FileSystem.FileSystem
  const refuse = (message: string) => Effect.fail<Unreadable>({ message })
  const cannot = (error: PlatformError): Unreadable => ({ message: `cannot be read: ${reason(error)}` })
  // Looked at first: to open a pipe would wait for a writer.
  const info = yield* Effect.mapError(fs.stat(path), cannot)
  if (info.type === "Directory") return yield* refuse("this is a directory, and must be a file")
  if (info.type !== "File") return yield* refuse("this is no regular file")
  if (info.size > maximumSize) {
    return yield* refuse(`it is too large: ${Math.ceil(Number(info.size) / 1024)} KiB, and 1024 KiB is the most`)
  }
  return yield* Effect.mapError(fs.readFile(path), cannot)
})

/** The text of a UTF-8 file, without byte order mark. */
export const readText = (path: string) =>
  Effect.flatMap(readBytes(path), (bytes) =>
    Effect.try({
      try: () => new TextDecoder("utf-8", { fatal: true }).decode(bytes),
      catch: (): Unreadable => ({
        line: new TextDecoder().decode(bytes).split("\uFFFD", 1).join().split("\n").length,
        message: "this is not UTF-8; save it in that encoding"
      })
    }))

/** The text of a file of another tool, lines ended by `\n`: what is no UTF-8 in it is replaced, as such tools do. */
export const readLenient = (path: string) =>
  Effect.map(readBytes(path), (bytes) => {
    const encoding = bytes[0] === 0xff && bytes[1] === 0xfe
      ? "utf-16le"
      : bytes[0] === 0xfe && bytes[1] === 0xff
      ? "utf-16be"
      : "utf-8"
    return new TextDecoder(encoding).decode(bytes).replaceAll(/\r\n?/g, "\n")
  })
