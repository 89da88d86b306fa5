/** Keeps what a person chose for all sessions: which model answers, and that this was asked. */
import * as FileSystem from "@effect/platform/FileSystem"
import { DataDirs } from "@skein/config/DataDirs"
import type { SessionHost } from "@skein/tui/SessionHost"
import * as Effect from "effect/Effect"
import { join } from "node:path"

/** Makes what keeps it. */
export const makeKeptChoices: Effect.Effect<
  Pick<SessionHost, "keepModel" | "mayOfferModels">,
  never,
  DataDirs | FileSystem.FileSystem
> = Effect.gen(function*() {
  const fileSystem = yield* FileSystem.FileSystem
  const context = yield* Effect.context<DataDirs | FileSystem.FileSystem>()
  const { data } = yield* DataDirs
  return {
    mayOfferModels: fileSystem.makeDirectory(data, { recursive: true, mode: 0o700 }).pipe(
      Effect.zipRight(fileSystem.writeFileString(join(data, "models-offered"), "", { flag: "wx", mode: 0o600 })),
      Effect.isSuccess
    ),
    keepModel: (name) =>
      Effect.gen(function*() {
        const { setValue, userFile } = yield* Effect.promise(() => import("@skein/config/EditConfig"))
        const file = yield* userFile
        yield* setValue(file, ["model"], name)
        return file
      }).pipe(Effect.provide(context))
  }
})
