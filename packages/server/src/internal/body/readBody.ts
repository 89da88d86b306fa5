/** Reads the body of a request as JSON, within limits. */
import { type Problem, problem } from "@skein/api/Problem"
import { isTextNested } from "@skein/core/Nesting"
import * as Effect from "effect/Effect"
import type { IncomingMessage } from "node:http"
import { boundOf, sizeProblem } from "./bounds.ts"

/** The maximum nesting of objects and lists in a body. */
const deepest = 100

const decoder = new TextDecoder("utf-8", { fatal: true })

const bad = (why: string) => problem(400, "BadBody", why)

const textOf = (bytes: Buffer): Effect.Effect<string, Problem> =>
  Effect.try({ try: () => decoder.decode(bytes), catch: () => bad("The body is not UTF-8.") })

/** The JSON value of a text; undefined if the text is empty. */
const parse = (text: string): Effect.Effect<unknown, Problem> => {
  if (text.trim() === "") return Effect.succeed(undefined)
  if (isTextNested(text, deepest)) return Effect.fail(bad(`The body is nested deeper than ${deepest} levels.`))
  return Effect.try({ try: () => JSON.parse(text) as unknown, catch: () => bad("The body is not JSON.") })
}

const bytesOf = (request: IncomingMessage): Effect.Effect<Buffer, Problem> =>
  Effect.async<Buffer, Problem>((resume) => {
    const chunks: Array<Buffer> = []
    const bound = boundOf(request.url)
    let size = 0
    const onData = (chunk: Buffer) => {
      size += chunk.length
      if (size <= bound) chunks.push(chunk)
      else finish(Effect.fail(sizeProblem(bound)))
    }
    const onEnd = () => finish(Effect.succeed(Buffer.concat(chunks)))
    const onBroken = () => finish(Effect.fail(bad("The body ended before it was complete.")))
    const release = () => {
      request.off("data", onData).off("end", onEnd).off("error", onBroken).off("close", onBroken)
    }
    const finish = (result: Effect.Effect<Buffer, Problem>) => {
      release()
      request.pause()
      resume(result)
    }
    // Nothing more arrives of a body that was already read.
    if (request.readableEnded) {
      return finish(Effect.fail(bad("The body cannot be read. Write the path as it is documented.")))
    }
    request.on("data", onData).on("end", onEnd).on("error", onBroken).on("close", onBroken)
    return Effect.sync(release)
  })

/** Reads the body as text. */
export const readText = (request: IncomingMessage): Effect.Effect<string, Problem> =>
  Effect.flatMap(bytesOf(request), textOf)

/** Reads the body; undefined if it is empty. */
export const readBody = (request: IncomingMessage): Effect.Effect<unknown, Problem> =>
  Effect.flatMap(readText(request), parse)
