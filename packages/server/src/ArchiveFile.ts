/** Reads files that are larger than memory: each chunk is in the same buffer, so that nothing waits to be collected. */
import type { PlatformError } from "@effect/platform/Error"
import * as FileSystem from "@effect/platform/FileSystem"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"

const chunk = 64 * 1024

/** The bytes of a file, as often as they are run. A chunk is only good until the next one is taken. */
export const chunksOf = (path: string): Stream.Stream<Uint8Array, PlatformError, FileSystem.FileSystem> =>
  Stream.unwrapScoped(Effect.gen(function*() {
    const fs = yield* FileSystem.FileSystem
    const file = yield* fs.open(path, { flag: "r" })
    const buffer = new Uint8Array(chunk)
    return Stream.repeatEffectOption(
      Effect.flatMap(
        Effect.mapError(file.read(buffer), Option.some),
        (size) =>
          size === FileSystem.Size(0) ? Effect.fail(Option.none()) : Effect.succeed(buffer.subarray(0, Number(size)))
      )
    )
  }))
