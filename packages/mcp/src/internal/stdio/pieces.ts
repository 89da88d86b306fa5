/**
 * Reads a stream piece by piece; what nobody asks for stays in the pipe, so that its writer waits. The shell of
 * `@skein/tools` reads its output in the same way: these packages do not import each other, and the core knows no streams.
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Readable } from "node:stream"

/** The next piece of a stream; none at its end. One reader at a time. */
export const pieces = (stream: Readable): Effect.Effect<Option.Option<Buffer>> => {
  let waiting = () => {}
  for (const event of ["readable", "end", "error", "close"]) stream.on(event, () => waiting())
  return Effect.async((resume) => {
    const read = () => {
      const bytes: Buffer | null = stream.read()
      if (bytes === null && !stream.readableEnded && !stream.destroyed) return
      waiting = () => {}
      resume(Effect.succeed(Option.fromNullable(bytes)))
    }
    waiting = read
    read()
    return Effect.sync(() => {
      waiting = () => {}
    })
  })
}
