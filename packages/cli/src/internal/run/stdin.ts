/** Reads what comes on standard input as a part of the prompt. */
import * as Effect from "effect/Effect"
import { fstatSync } from "node:fs"
import { UsageError } from "../../UsageError.ts"
import type { Streams } from "./presenter.ts"

/** The longest prompt, in bytes: far more than any model reads. */
const longest = 32 * 1024 * 1024

/**
 * How long to wait for the first byte of a socket where there is a prompt already, in milliseconds. A program that starts
 * this one may leave it a socket that it never writes to or closes; a pipe of a shell is always closed in the end.
 */
const grace = 250

/** What is on standard input; empty where it is a terminal. */
export const readStdin = (stdio: Streams, hasPrompt: boolean): Effect.Effect<string, UsageError> => {
  if (stdio.isTerminal.input) return Effect.succeed("")
  const all = Effect.async<string, UsageError>((resume) => {
    const chunks: Array<Buffer> = []
    let size = 0
    const onData = (chunk: Buffer) => {
      chunks.push(chunk)
      size += chunk.length
      if (size > longest) {
        stdio.input.destroy()
        resume(new UsageError({ message: "Standard input is longer than 32 MB. Put it into a file, and name the file in the prompt." }))
      }
    }
    const done = () => resume(Effect.sync(() => Buffer.concat(chunks).toString("utf8").toWellFormed()))
    stdio.input.on("data", onData)
    stdio.input.once("end", done)
    // A closed descriptor has nothing to say either.
    stdio.input.once("error", done)
    return Effect.sync(() => {
      stdio.input.off("data", onData)
      stdio.input.off("end", done)
      stdio.input.pause()
    })
  })
  if (!hasPrompt || !isSocket(stdio)) return all
  const first = Effect.async<void>((resume) => {
    const done = () => resume(Effect.void)
    stdio.input.once("readable", done)
    return Effect.sync(() => void stdio.input.off("readable", done))
  })
  return Effect.flatMap(
    Effect.timeoutOption(first, grace),
    (came) => came._tag === "Some" ? all : Effect.sync(() => {
      stdio.input.destroy()
      return ""
    })
  )
}

const isSocket = (stdio: Streams): boolean => fstatSync(stdio.input.fd ?? 0).isSocket()
