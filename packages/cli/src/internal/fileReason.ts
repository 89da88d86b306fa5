/** Writes new files piece by piece, and says in plain words why the file system refused something. */
import type { PlatformError } from "@effect/platform/Error"
import * as FileSystem from "@effect/platform/FileSystem"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"

const reasons: Readonly<Record<string, string>> = {
  AlreadyExists: "it already exists",
  BadResource: "it is a directory, or not a regular file",
  NotFound: "there is no such file or directory",
  PermissionDenied: "permission denied"
}

/** Such as `permission denied`. */
export const fileReason = (error: PlatformError): string =>
  error._tag === "BadArgument" ? error.message : reasons[error.reason] ?? error.description ?? error.reason

/** Makes a file that only the user may read. If it cannot be completed, it is removed; one that is there stays as it is. */
export const newFile = <A, E, E2, R>(
  path: string,
  failed: (error: PlatformError) => E,
  use: (write: (piece: Uint8Array) => Effect.Effect<void, E>) => Effect.Effect<A, E2, R>
): Effect.Effect<A, E | E2, R | FileSystem.FileSystem> =>
  Effect.gen(function*() {
    const fs = yield* FileSystem.FileSystem
    const file = yield* Effect.mapError(fs.open(path, { flag: "wx", mode: 0o600 }), failed)
    return yield* Effect.onExit(
      use((piece) => Effect.mapError(file.writeAll(piece), failed)),
      (exit) => Exit.isSuccess(exit) ? Effect.void : Effect.exit(fs.remove(path))
    )
  }).pipe(Effect.scoped)
