/** Writes a long output to a file while it arrives, up to a limit. */
import type { PlatformError } from "@effect/platform/Error"
import type * as FileSystem from "@effect/platform/FileSystem"
import * as Effect from "effect/Effect"
import * as Scope from "effect/Scope"

/** How much of an output is kept, in bytes. */
const maximumSpill = 64 * 1024 * 1024

/**
 * A writer that creates its file at the first write, and closes it with the scope. A failure costs the file, not the
 * command.
 */
export const makeSpillWriter = Effect.fnUntraced(function*(
  fs: FileSystem.FileSystem,
  create: Effect.Effect<string, PlatformError>
) {
  // Not the caller's scope, which closes in reverse order: the file must outlive its writers.
  const scope = yield* Effect.acquireRelease(Scope.make(), (own, exit) => Scope.close(own, exit))
  let state: "new" | "open" | "full" | "failed" = "new"
  let path = ""
  let written = 0
  let file: FileSystem.File | undefined

  const append = Effect.fnUntraced(function*(bytes: Buffer) {
    if (file === undefined) {
      path = yield* create
      file = yield* Scope.extend(fs.open(path, { flag: "a", mode: 0o600 }), scope)
      state = "open"
    }
    const kept = bytes.subarray(0, maximumSpill - written)
    if (kept.length > 0) yield* file.writeAll(kept)
    written += kept.length
    if (written === maximumSpill) state = "full"
  })

  return {
    /** Adds bytes. Bytes over the limit are dropped. */
    write: (bytes: Buffer): Effect.Effect<void> =>
      bytes.length === 0 || state === "full" || state === "failed"
        ? Effect.void
        : append(bytes).pipe(
          Effect.catchAll((error) => {
            state = "failed"
            return Effect.logWarning("A long output could not be kept", error)
          }),
          // A write that continued after its file was closed could hit another file.
          Effect.uninterruptible
        ),
    /** What happened to the bytes that are not shown. */
    note: (left: number): string => {
      const where = path === ""
        ? "They could not be kept: write less, or to a file of your own."
        : state === "failed"
        ? `The first ${written} bytes of the output are in ${path}; no more could be written there.`
        : state === "full"
        ? `The first ${
          maximumSpill / 1024 / 1024
        } MB of the output are in ${path}; read it with offset and limit, or grep it.`
        : `The whole output is in ${path}; read it with offset and limit, or grep it.`
      return `[${left} bytes are left out here. ${where}]`
    }
  }
})
