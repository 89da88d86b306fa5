/** Lists and reads the files in a skill's folder, except those that are only linked there. */
import type * as FileSystem from "@effect/platform/FileSystem"
import type { SkillInfo } from "@skein/core/Instructions"
import * as Effect from "effect/Effect"
import { isUtf8 } from "node:buffer"
import { join, relative, resolve, sep } from "node:path"
import { isBinary } from "../../FileKind.ts"
import { cannot, refuse } from "../refusal.ts"
import { wholeFile } from "./wholeFile.ts"

/** How many files are listed, and how deeply they are searched for. */
const most = { files: 100, depth: 5 }

/** The maximum size of a file, in bytes. */
const longest = 1024 * 1024

const isInside = (folder: string, path: string): boolean => {
  const below = relative(folder, path)
  return below !== "" && below !== ".." && !below.startsWith(`..${sep}`)
}

/** The files of a skill as sorted paths below its folder, without hidden ones, up to the limit. */
export const filesOf = Effect.fnUntraced(function*(fs: FileSystem.FileSystem, folder: string) {
  const found: Array<string> = []
  let isCut = false
  const walk = (directory: string, depth: number): Effect.Effect<void> =>
    Effect.gen(function*() {
      const names = yield* Effect.orElseSucceed(fs.readDirectory(directory), () => [])
      for (const name of names.toSorted()) {
        if (name.startsWith(".") || name === "node_modules") continue
        const path = join(directory, name)
        const real = yield* Effect.orElseSucceed(fs.realPath(path), () => "")
        if (real !== path) continue
        const type = yield* Effect.orElseSucceed(
          Effect.map(fs.stat(path), (info) => info.type),
          () => "Unknown" as const
        )
        if (type === "Directory" && depth < most.depth) yield* walk(path, depth + 1)
        if (type !== "File" || path === join(top, "SKILL.md")) continue
        isCut ||= found.length >= most.files
        if (isCut) return
        found.push(relative(top, path).split(sep).join("/"))
      }
    })
  const top = yield* Effect.orElseSucceed(fs.realPath(folder), () => folder)
  yield* walk(top, 1)
  return isCut ? [...found, "(and more)"] : found
})

/** The contents of a file in a skill's folder. */
export const readBeside = Effect.fnUntraced(
  function*(fs: FileSystem.FileSystem, { folder, name }: SkillInfo, file: string) {
    const failed = cannot("read", file)
    if (file.includes("\0")) return yield* refuse("bad_path", "A path must not contain a NUL character. Leave it out.")
    const top = yield* Effect.mapError(fs.realPath(folder), failed)
    const path = yield* Effect.mapError(fs.realPath(resolve(top, file)), failed)
    if (!isInside(top, path)) {
      return yield* refuse("outside", `${file} is not in the folder of the skill ${name}. Use read for other files.`)
    }
    const found = yield* Effect.mapError(wholeFile(path, longest), failed)
    if (found.type === "large" || (found.type === "file" && found.bytes.length > longest)) {
      return yield* refuse("too_large", `${file} is longer than 1 MiB. Use read, which shows files in pieces.`)
    }
    if (found.type !== "file") {
      return yield* refuse("not_a_file", `${file} is not a file. Name one of the skill's files.`)
    }
    const { bytes } = found
    return isBinary(bytes) || !isUtf8(bytes)
      ? yield* refuse("binary", `${file} is not text in UTF-8, so it is not shown.`)
      : bytes.toString("utf8")
  }
)
