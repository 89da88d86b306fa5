/** Finds and reads text files that config names, and explains failures in plain words. */
import type { PlatformError } from "@effect/platform/Error"
import * as FileSystem from "@effect/platform/FileSystem"
import * as Effect from "effect/Effect"
import { basename, join, relative, sep } from "node:path"
import type { ConfigIssue } from "../ConfigError.ts"

/** Why a file could not be read, and the line if it is known. */
interface Unreadable {
  readonly line?: number
  readonly message: string
}

/** The maximum size of such a file, in bytes. */
const maximumSize = 1024 * 1024

/** The reason of a file system error. */
export const reason = (error: PlatformError): string => {
  if (error._tag === "BadArgument") return error.message
  switch (error.reason) {
    case "NotFound":
      return "there is no such file"
    case "PermissionDenied":
      return "permission denied; check its mode and owner"
    default:
      return error.description ?? error.reason
  }
}

/** The bytes of a regular file within the size limit. */
const readBytes = Effect.fnUntraced(function*(path: string) {
  const fs = yield* FileSystem.FileSystem
  const refuse = (message: string) => Effect.fail<Unreadable>({ message })
  const cannot = (error: PlatformError): Unreadable => ({ message: `cannot be read: ${reason(error)}` })
  // Checked first, because opening a pipe would wait for a writer.
  const info = yield* Effect.mapError(fs.stat(path), cannot)
  if (info.type === "Directory") return yield* refuse("this is a directory, and must be a file")
  if (info.type !== "File") return yield* refuse("this is not a regular file")
  if (info.size > maximumSize) {
    return yield* refuse(`it is too large: ${Math.ceil(Number(info.size) / 1024)} KiB; the limit is 1024 KiB`)
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

/** The text of another tool's file, with `\n` as line end: invalid UTF-8 is replaced, as such tools do. */
export const readLenient = (path: string) =>
  Effect.map(readBytes(path), (bytes) => {
    const encoding = bytes[0] === 0xff && bytes[1] === 0xfe
      ? "utf-16le"
      : bytes[0] === 0xfe && bytes[1] === 0xff
      ? "utf-16be"
      : "utf-8"
    return new TextDecoder(encoding).decode(bytes).replaceAll(/\r\n?/g, "\n")
  })

/**
 * The Markdown files below a directory, by name. Each directory is read once, under its real name, so that cyclic links
 * end.
 */
export const listMarkdown = Effect.fnUntraced(function*(
  top: string,
  { deep, issues, seen, what }: {
    /** Whether nested directories count, with the path as a part of the name. */
    readonly deep: boolean
    /** What such a file defines. */
    readonly what: string
    /** The directories that were read before. */
    readonly seen: Set<string>
    /** Receives what cannot be read. */
    readonly issues: Array<ConfigIssue>
  }
) {
  const fs = yield* FileSystem.FileSystem
  const found: Array<{ readonly path: string; readonly name: string }> = []
  const links: Array<string> = []
  const kind = (path: string) =>
    Effect.orElseSucceed(Effect.map(fs.stat(path), ({ type }) => type), () => "File" as const)

  const walk = (directory: string, name: string): Effect.Effect<void, never, never> =>
    Effect.gen(function*() {
      const real = yield* Effect.orElseSucceed(fs.realPath(directory), () => directory)
      if (seen.has(real)) return
      seen.add(real)
      const names = yield* Effect.catchAll(fs.readDirectory(directory), (error) => {
        issues.push({ file: directory, message: `cannot be listed: ${reason(error)}` })
        return Effect.succeed<Array<string>>([])
      })
      for (const each of names.toSorted()) {
        if (each.startsWith(".")) continue
        const path = join(directory, each)
        // A directory with such a name is a mistake, which reading it will report.
        if (each.endsWith(".md")) found.push({ path, name: `${name}${basename(each, ".md")}` })
        else if (deep && (yield* kind(path)) === "Directory") {
          const target = yield* Effect.orElseSucceed(fs.realPath(path), () => path)
          if (target === join(real, each)) yield* walk(path, `${name}${each}/`)
          else links.push(path)
        }
      }
    })

  if ((yield* kind(top)) !== "Directory") {
    issues.push({ file: top, message: `this must be a directory, with a file for each ${what}` })
    return found
  }
  yield* walk(top, "")
  for (let link = links.shift(); link !== undefined; link = links.shift()) {
    yield* walk(link, `${relative(top, link).split(sep).join("/")}/`)
  }
  return found
})
