import type * as FileSystem from "@effect/platform/FileSystem"
import { publicPaths } from "@skein/api/Api"
import { importPath } from "@skein/api/ArchiveRoutes"
import { type Problem, problem } from "@skein/api/Problem"
import { isTextNested } from "@skein/core/Nesting"
import { StorageError } from "@skein/core/StorageError"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as fs from "node:fs"
import type { IncomingMessage } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { chunksOf } from "../ArchiveFile.ts"
import { largestBody, requestPatience } from "../ServerOptions.ts"

/**
 * The largest body of a request that needs no token, in bytes. To read and check one of megabytes would hold up the server
 * for all others, and anybody may send it.
 */
const largestPublicBody = 4 * 1024

const pathOf = (url = ""): string => url.split("?", 1)[0] ?? ""

/** Whether a request contains an archive, which its route reads itself. */
export const bringsArchive = (url?: string): boolean => pathOf(url) === importPath

/** The maximum body of a request to this URL, in bytes. An archive is only limited by the disk. */
export const boundOf = (url?: string): number => {
  if (publicPaths.has(pathOf(url))) return largestPublicBody
  return bringsArchive(url) ? Infinity : largestBody
}

const sizeText = (bytes: number): string => bytes < 1024 * 1024 ? `${bytes / 1024} KB` : `${bytes / 1024 / 1024} MB`

/** The error for a larger body. */
export const sizeProblem = (bound: number) =>
  problem(413, "BodyTooLarge", `The body is larger than ${sizeText(bound)}. Send less.`)

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

/** Gives each chunk of the body to `take`, which says what is wrong with it, if anything is. */
const eachChunk = (
  request: IncomingMessage,
  take: (chunk: Buffer) => Problem | undefined
): Effect.Effect<void, Problem> =>
  Effect.async<void, Problem>((resume) => {
    const bound = boundOf(request.url)
    let size = 0
    const onData = (chunk: Buffer) => {
      size += chunk.length
      const fault = size > bound ? sizeProblem(bound) : take(chunk)
      if (fault !== undefined) finish(Effect.fail(fault))
    }
    const onEnd = () => finish(Effect.void)
    const onBroken = () => finish(Effect.fail(bad("The body ended before it was complete.")))
    const release = () => {
      request.off("data", onData).off("end", onEnd).off("error", onBroken).off("close", onBroken)
    }
    const finish = (result: Effect.Effect<void, Problem>) => {
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

/** Reads the body; undefined if it is empty. */
export const readBody = (request: IncomingMessage): Effect.Effect<unknown, Problem> =>
  Effect.suspend(() => {
    const chunks: Array<Buffer> = []
    return eachChunk(request, (chunk) => void chunks.push(chunk)).pipe(
      Effect.flatMap(() => textOf(Buffer.concat(chunks))),
      Effect.flatMap(parse)
    )
  })

const noRoom = (cause: unknown) =>
  problem(
    503,
    "NoRoom",
    `The server cannot keep the body in a file (${String(cause)}). Free some space there, then send it again.`
  )

const unreadable = (cause: unknown) =>
  new StorageError({
    operation: "import",
    reason: "other",
    message: `The body cannot be read again (${String(cause)}).`
  })

/** Receives the body into a file, which can be read more than once until the scope closes. */
export const receive = (
  request: IncomingMessage
): Effect.Effect<Stream.Stream<Uint8Array, StorageError, FileSystem.FileSystem>, Problem, Scope.Scope> =>
  Effect.gen(function*() {
    const directory = yield* Effect.acquireRelease(
      Effect.try({ try: () => fs.mkdtempSync(join(tmpdir(), "skein-body-")), catch: noRoom }),
      (made) => Effect.sync(() => fs.rmSync(made, { recursive: true, force: true }))
    )
    const file = join(directory, "body")
    const descriptor = yield* Effect.acquireRelease(
      Effect.try({ try: () => fs.openSync(file, "wx", 0o600), catch: noRoom }),
      (opened) => Effect.sync(() => fs.closeSync(opened))
    )
    // Before, it waits for its turn; afterwards, for the storage.
    yield* Effect.acquireUseRelease(
      Effect.sync(() => request.socket.setTimeout(requestPatience)),
      () =>
        eachChunk(request, (chunk) =>
          Either.getOrUndefined(Either.flip(Either.try({
            try: () => fs.writeSync(descriptor, chunk),
            catch: noRoom
          })))),
      () => Effect.sync(() => request.socket.setTimeout(0))
    )
    return Stream.mapError(chunksOf(file), unreadable)
  })
