/** Owns the files that keep texts that are too long for a model. */
import type { PlatformError } from "@effect/platform/Error"
import * as FileSystem from "@effect/platform/FileSystem"
import * as Path from "@effect/platform/Path"
import { Spill } from "@skein/core/Spill"
import type { SessionID } from "@skein/domain/Id"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

/** Files that only this user can read, in one directory for each session. */
export class SpillFiles extends Context.Tag("@skein/tools/SpillFiles")<SpillFiles, {
  /** The directory of a session's files, absolute. It may not exist. Its session may read it without asking. */
  readonly directory: (session: SessionID) => string
  /** Makes an empty file (mode 0600) and returns its path. The name is one of Skein's ids, never text of a model. */
  readonly create: (session: SessionID, name: string) => Effect.Effect<string, PlatformError>
}>() {
  /** Keeps files in `spill/` in the data directory (absolute). */
  static readonly layer = (
    dataDirectory: string
  ): Layer.Layer<SpillFiles, never, FileSystem.FileSystem | Path.Path> =>
    Layer.effect(
      SpillFiles,
      Effect.gen(function*() {
        const fs = yield* FileSystem.FileSystem
        const path = yield* Path.Path
        const top = path.resolve(dataDirectory, "spill")
        const directory = (session: SessionID) => path.join(top, plain(session))
        const create = Effect.fn("SpillFiles.create")(function*(session: SessionID, name: string) {
          const file = path.join(directory(session), plain(name))
          yield* fs.makeDirectory(directory(session), { recursive: true, mode: 0o700 })
          yield* fs.writeFile(file, new Uint8Array(), { mode: 0o600 })
          return file
        })
        return { directory, create }
      })
    )

  /** The port for long texts, over these files. */
  static readonly layerSpill: Layer.Layer<Spill, never, SpillFiles | FileSystem.FileSystem> = Layer.effect(
    Spill,
    Effect.gen(function*() {
      const fs = yield* FileSystem.FileSystem
      const files = yield* SpillFiles
      return {
        keep: (session, name, text) =>
          files.create(session, name).pipe(
            Effect.tap((file) => fs.writeFileString(file, text)),
            Effect.catchAll((error) =>
              Effect.as(Effect.logWarning(`A long text of ${session} could not be kept`, error), undefined)
            )
          )
      }
    })
  )
}

/** A name that cannot lead out of its directory, whatever it was made from. */
const plain = (name: string): string => name.replace(/^\.+|[^A-Za-z0-9_.-]/g, "_").slice(0, 100) || "_"
