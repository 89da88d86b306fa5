/** Reads bodies of requests before they are sent on or checked, and refuses what is too large. */
import * as Effect from "effect/Effect"
import type { IncomingMessage, ServerResponse } from "node:http"

/** Answers with a problem; ends an answer that has begun. */
export const refuse = (response: ServerResponse, status: number, title: string, detail: string): void => {
  if (response.headersSent) return void response.destroy()
  const problem = JSON.stringify({ type: `urn:skein:${title}`, title, status, detail })
  response.writeHead(status, { "Content-Type": "application/problem+json" }).end(problem)
}

const tooLarge = (request: IncomingMessage, response: ServerResponse, largest: number): void => {
  response.once("finish", () => request.destroy()).setHeader("Connection", "close")
  refuse(response, 413, "BodyTooLarge", `The body is larger than ${largest / 1024 / 1024} MB. Send less.`)
}

/**
 * Reads the body of another runner's request, whose length it says, and leaves it there to be read again. Undefined if there
 * is nothing to do: the runner is gone, or has the refusal of a body of more than `largest` bytes.
 */
export const peekBody = (
  request: IncomingMessage,
  response: ServerResponse,
  largest: number
): Effect.Effect<Buffer | undefined> =>
  Effect.async((resume) => {
    const length = Number(request.headers["content-length"] ?? 0)
    const chunks: Array<Buffer> = []
    let size = 0
    const done = (body: Buffer | undefined) => {
      request.off("readable", read).off("error", nothing).off("close", nothing)
      resume(Effect.succeed(body))
    }
    const nothing = () => done(undefined)
    const read = () => {
      // Reading past the end would end it, and then nothing could be put back.
      while (size < length) {
        const chunk: Buffer | null = request.read()
        if (chunk === null) return
        chunks.push(chunk)
        size += chunk.length
      }
      const body = Buffer.concat(chunks)
      request.unshift(body)
      done(body)
    }
    if (length === 0) return resume(Effect.succeed(Buffer.alloc(0)))
    if (length > largest) {
      tooLarge(request, response, largest)
      return resume(Effect.succeed(undefined))
    }
    request.on("readable", read).once("error", nothing).once("close", nothing)
  })

/**
 * Reads the body of a client's request, and refuses one of more than `largest` bytes. Undefined if there is nothing to send
 * on: the client is gone, or has this refusal.
 */
export const readBody = (
  request: IncomingMessage,
  response: ServerResponse,
  largest: number
): Effect.Effect<Buffer | undefined> =>
  Effect.async((resume) => {
    let chunks: Array<Buffer> = []
    let size = 0
    const nothing = () => resume(Effect.succeed(undefined))
    const read = (chunk: Buffer) => {
      chunks.push(chunk)
      size += chunk.length
      if (size <= largest) return
      chunks = []
      request.off("data", read).pause()
      tooLarge(request, response, largest)
      nothing()
    }
    request.on("data", read)
    request.once("end", () => resume(Effect.succeed(Buffer.concat(chunks))))
    request.once("error", nothing).once("close", nothing)
  })
