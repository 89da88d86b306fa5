/** Reads standard input as a part of the prompt. */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import { isUtf8 } from "node:buffer"
import { fstatSync } from "node:fs"
import type { Streams } from "../../Stdio.ts"
import { UsageError } from "../../UsageError.ts"

/** The maximum size of a prompt, in bytes: far more than any model reads. */
const longest = 32 * 1024 * 1024

/**
 * How long to wait for the first byte of a socket if there is already a prompt, in milliseconds. A parent process may
 * pass a socket that it never writes to or closes, while a shell always closes its pipes.
 */
const grace = 250

const tooLong = new UsageError({
  message: "Standard input is longer than 32 MB. Put it into a file, and name the file in the prompt."
})

const notText = new UsageError({
  message:
    "Standard input is not text in UTF-8. Convert it first, for example with iconv -t utf-8, or attach an image with --file."
})

/** The input as text. Like an attached file, it must not be binary. */
const asText = (bytes: Buffer): Effect.Effect<string, UsageError> =>
  isUtf8(bytes) && !bytes.includes(0) ? Effect.succeed(bytes.toString("utf8")) : notText

/** Reads to the end. `began` completes with the first byte, or at the end. */
const readAll = (stdio: Streams, began: Deferred.Deferred<void>) =>
  Effect.async<string, UsageError>((resume) => {
    const input = stdio.input()
    const chunks: Array<Buffer> = []
    let size = 0
    const onData = (chunk: Buffer) => {
      Deferred.unsafeDone(began, Effect.void)
      chunks.push(chunk)
      size += chunk.length
      if (size > longest) resume(tooLong)
    }
    const onEnd = () => {
      Deferred.unsafeDone(began, Effect.void)
      resume(Effect.suspend(() => asText(Buffer.concat(chunks))))
    }
    input.on("data", onData)
    // A closed descriptor has no input either.
    input.once("end", onEnd).once("error", onEnd)
    return Effect.sync(() => {
      input.off("data", onData).off("end", onEnd).off("error", onEnd)
      input.pause()
    })
  })

/** The text on standard input; empty if it is a terminal. */
export const readStdin = (stdio: Streams, hasPrompt: boolean): Effect.Effect<string, UsageError> =>
  Effect.gen(function*() {
    // An input that is neither a terminal nor readable is /dev/null or similar.
    const kind = stdio.isTerminal.input ? undefined : fstatSync(0)
    if (kind === undefined || kind.isCharacterDevice()) return ""
    const began = yield* Deferred.make<void>()
    const all = readAll(stdio, began)
    if (!hasPrompt || !kind.isSocket()) return yield* all
    const silence = Deferred.await(began).pipe(
      Effect.timeoutTo({ duration: grace, onTimeout: () => true, onSuccess: () => false }),
      Effect.flatMap((isSilent) => isSilent ? Effect.succeed("") : Effect.never)
    )
    return yield* Effect.raceFirst(all, silence)
  })
