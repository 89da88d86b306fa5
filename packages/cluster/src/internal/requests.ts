/** Decides what a request is about, and whether it may be made twice. */
import * as Effect from "effect/Effect"
import { randomUUID } from "node:crypto"
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Sent } from "./sent.ts"

const tree = /^\/v1\/(sessions|tasks)\/([^/?]+)(?:[/?]|$)/
const reply = /^\/v1\/asks\/([^/?]+)\/reply(?:\?|$)/
const asks = /^\/v1\/asks(?:\?|$)/
const prompt = /\/prompt(?:\?|$)/

const events = /\/events(?:\?|$)/

/** Whether it stays open, and sends events. */
export const isStream = ({ method, url = "" }: IncomingMessage): boolean => method === "GET" && events.test(url)

/** Requests that do no harm if they are made twice. A prompt gets a key, so that it is stored once. */
const repeatable = /\/(?:prompt|interrupt|resume|stop)(?:\?|$)/

/** What a request is about. */
export type Subject =
  | { readonly _tag: "Tree"; readonly noun: string; readonly id: string }
  | { readonly _tag: "Reply"; readonly id: string }
  | { readonly _tag: "Asks" }
  | { readonly _tag: "Other" }

/** Finds out what a request is about. */
export const subjectOf = ({ method, url = "" }: IncomingMessage): Subject => {
  const [, noun, id] = tree.exec(url) ?? []
  if (noun !== undefined && id !== undefined) return { _tag: "Tree", noun, id }
  const [, ask] = reply.exec(url) ?? []
  if (method === "POST" && ask !== undefined) return { _tag: "Reply", id: decodeURIComponent(ask) }
  return method === "GET" && asks.test(url) ? { _tag: "Asks" } : { _tag: "Other" }
}

/** Whether it may be made again if nobody knows whether it was made. */
export const isRepeatable = ({ method, path }: Sent): boolean => method === "GET" || repeatable.test(path)

/** What can be done with a tree without its directory. */
const bodiless = /\/(?:stop|interrupt|fork)(?:\?|$)/

/** Whether it lets agents work, so that the directory of the tree must be there. */
export const needsDirectory = ({ method, path }: Sent): boolean => method === "POST" && !bodiless.test(path)

const beginning = /\/(?:prompt|resume)(?:\?|$)/

/** Whether it makes agents of a tree work that have nothing to do now. */
export const beginsWork = ({ method, path }: Pick<Sent, "method" | "path">): boolean =>
  method === "POST" && beginning.test(path)

const waiting = /\/(?:turns\/[^/?]+|rest)(?:\?|$)/
const waitingPrompt = /\/prompt\?(?:.*&)?wait=true(?:&|$)/

/** Whether it is answered only once a turn has ended. */
export const waitsForTurn = ({ method, path }: Pick<Sent, "method" | "path">): boolean =>
  method === "GET" ? waiting.test(path) : method === "POST" && waitingPrompt.test(path)

/** Whether it waits for work in the tree, and so for its host. */
export const awaitsWork = ({ method, path }: Pick<Sent, "method" | "path">): boolean =>
  method === "GET" && waiting.test(path)

/** A request as it is sent on. */
export const sentOf = ({ headers, method = "GET", url = "/" }: IncomingMessage, body: Buffer): Sent => ({
  method,
  path: url,
  headers: method === "POST" && prompt.test(url) && headers["idempotency-key"] === undefined
    ? { ...headers, "idempotency-key": `cluster-${randomUUID()}` }
    : headers,
  body
})

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
