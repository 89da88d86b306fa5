/** Reads and writes files of a project, and none that lie elsewhere: names come from what tools noted. */
import type { PlatformError } from "@effect/platform/Error"
import * as FileSystem from "@effect/platform/FileSystem"
import type { SessionHost } from "@skein/tui/SessionHost"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { lstatSync, realpathSync } from "node:fs"
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from "node:path"
import { fileReason, newFile } from "../fileReason.ts"

/** A file whose real place is below a directory. */
const below = (directory: string, name: string): Option.Option<string> =>
  Option.filter(
    Option.liftThrowable(() => {
      const file = resolve(directory, name)
      // A deleted file has no real place; its folder has one.
      return join(realpathSync(dirname(file)), basename(file))
    })(),
    (file) => {
      const way = relative(realpathSync(directory), file)
      return way !== "" && way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way) && !isLink(file)
    }
  )

const isLink = (file: string): boolean => lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink() ?? false

/** Makes what reads and writes them. */
export const makeProjectFiles = Effect.map(
  FileSystem.FileSystem,
  (fileSystem): Pick<SessionHost, "create" | "read" | "write"> => ({
    read: (directory, name) =>
      Option.match(below(directory, name), {
        onNone: () => Effect.succeed(undefined),
        onSome: (file) => Effect.orElseSucceed(fileSystem.readFileString(file), () => undefined)
      }),
    create: (directory, name, pieces) => {
      const file = resolve(directory, name)
      const failed = (error: PlatformError) => ({ message: `${file} cannot be written (${fileReason(error)}).` })
      return newFile(file, failed, (write) => Stream.runForEach(pieces, write)).pipe(
        Effect.as(file),
        Effect.provideService(FileSystem.FileSystem, fileSystem)
      )
    },
    write: (directory, name, text) =>
      Option.match(below(directory, name), {
        onNone: () => Effect.fail({ message: `It is not below ${directory}.` }),
        onSome: (file) => text === undefined ? fileSystem.remove(file) : fileSystem.writeFileString(file, text)
      })
  })
)
