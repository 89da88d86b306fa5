/** Reads what comes on standard input as a part of the prompt. */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import { isUtf8 } from "node:buffer"
import { fstatSync } from "node:fs"
import type { Streams } from "../../Stdio.ts"
import { UsageError } from "../../UsageError.ts"

/** The longest prompt, in bytes: far more than any model reads. */
const longest = 32 * 1024 * 1024

/**
 * How long to wait for the first byte of a socket where there is a prompt already, in milliseconds. A program that starts
 * this one may leave it a socket that it never writes to or closes; a pipe of a shell is always closed in the end.
 */
const grace = 250

const tooLong = new UsageError({
  message: "Standard input is longer than 32 MB. Put it into a file, and name the file in the prompt."
})

const notText = new UsageError({
  message:
    "Standard input is not text in UTF-8. Convert it first, for example with iconv -t utf-8, or attach an image with --file."
})

/** What was read as text: like a file that is attached, it must be some. */
const asText = (bytes: Buffer): Effect.Effect<string, UsageError> =>
  isUtf8(bytes) && !bytes.includes(0) ? Effect.succeed(bytes.toString("utf8")) : notText

/** Reads to the end; `began` is done as soon as there is anything, or the end. */
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
    // A closed descriptor has nothing to say either.
    input.once("end", onEnd).once("error", onEnd)
    return Effect.sync(() => {
      input.off("data", onData).off("end", onEnd).off("error", onEnd)
      input.pause()
    })
  })

/** What is on standard input; empty where it is a terminal. */
export const readStdin = (stdio: Streams, hasPrompt: boolean): Effect.Effect<string, UsageError> =>
  Effect.gen(function*() {
    // An input that is no terminal and has nothing to read is /dev/null or similar.
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
