/** Requests between servers: what they are, how they are signed for one receiver, and how their bodies are bounded. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { createHash, createHmac, randomBytes, randomUUID, timingSafeEqual } from "node:crypto"
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http"

/** The header of a request that another runner has sent on. */
export const signatureHeader = "skein-cluster"

/** The headers that are sent on. All of them are signed, so nobody on the way can add or change one. */
const carried = [
  "accept",
  "b3",
  "content-encoding",
  "content-type",
  "idempotency-key",
  "last-event-id",
  "traceparent",
  "tracestate"
] as const

/** Those of the headers that are sent on. */
export const carriedHeaders = (headers: IncomingHttpHeaders): Readonly<Record<string, string>> =>
  Object.fromEntries(carried.flatMap((name) => {
    const value = headers[name]
    return typeof value === "string" ? [[name, value]] : []
  }))

/** How long a request may be on its way, in milliseconds. */
const tolerance = 60_000

/** How far the times of two runners may be apart: both take theirs from the database. */
const slack = 2_000

const hashOf = (body: Buffer): string => createHash("sha256").update(body).digest("hex")

/** What a request says. */
interface Content {
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  /** The hash of its body. */
  readonly hash: string
}

const sign = (
  secret: Redacted.Redacted,
  target: string,
  time: number,
  nonce: string,
  { hash, headers, method, path }: Content
): string =>
  createHmac("sha256", Redacted.value(secret))
    .update(JSON.stringify([target, time, nonce, method, path, hash, carriedHeaders(headers)]))
    .digest("hex")

/** The header of a request to the runner at `target`. */
export const signed = (secret: Redacted.Redacted, target: string, time: number, sent: Sent): string => {
  const nonce = randomBytes(16).toString("hex")
  const hash = hashOf(sent.body)
  return `${time}.${nonce}.${hash}.${sign(secret, target, time, nonce, { ...sent, hash })}`
}

const form = /^(?<time>[1-9]\d{0,14})\.(?<nonce>[0-9a-f]{32})\.(?<hash>[0-9a-f]{64})\.(?<proof>[0-9a-f]{64})$/

/** Checks the requests that reach a runner. */
export interface SignatureCheck {
  /** Whether another runner has signed it, for this one, and it came for the first time. Asked again, it says the same. */
  readonly isSigned: (request: IncomingMessage) => boolean
  /** Whether this is the body that was signed. */
  readonly isBody: (request: IncomingMessage, body: Buffer) => boolean
}

/** Makes it for the runner at `url`. `time` is that of the database. */
export const makeSignatureCheck = (
  { secret, time: now, url }: {
    readonly secret: Redacted.Redacted
    readonly url: string
    readonly time: () => number
  }
): SignatureCheck => {
  const began = now()
  /** When each nonce came, the oldest first. */
  const seen = new Map<string, number>()
  /** The hash of the body of each request that was accepted; none of one that was not. */
  const known = new WeakMap<IncomingMessage, string | undefined>()

  const isFirst = (nonce: string): boolean => {
    const present = now()
    for (const [each, came] of seen) {
      if (present - came <= 2 * tolerance) break
      seen.delete(each)
    }
    if (seen.has(nonce)) return false
    seen.set(nonce, present)
    return true
  }

  const accepted = ({ headers, method = "", url: path = "" }: IncomingMessage): string | undefined => {
    const given = headers[signatureHeader]
    const { hash, nonce, proof, time: written } = form.exec(typeof given === "string" ? given : "")?.groups ?? {}
    if (
      hash === undefined || nonce === undefined || proof === undefined || headers["transfer-encoding"] !== undefined
    ) {
      return undefined
    }
    const time = Number(written)
    // What was signed before this runner began may have been accepted by the one before it.
    if (Math.abs(now() - time) > tolerance || time < began - slack) return undefined
    const expected = sign(secret, url, time, nonce, { method, path, headers, hash })
    return timingSafeEqual(Buffer.from(proof), Buffer.from(expected)) && isFirst(nonce) ? hash : undefined
  }

  const look = (request: IncomingMessage): string | undefined => {
    if (!known.has(request)) known.set(request, accepted(request))
    return known.get(request)
  }

  return {
    isSigned: (request) => look(request) !== undefined,
    isBody: (request, body) => look(request) === hashOf(body)
  }
}

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

/** A request that a client has sent, with its whole body. */
export interface Sent {
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

const tree = /^\/v1\/(sessions|tasks)\/([^/?]+)(?:[/?]|$)/
const reply = /^\/v1\/asks\/([^/?]+)\/reply(?:\?|$)/
const asks = /^\/v1\/asks(?:\?|$)/
const project = /^\/v1\/(?:agents|commands|skills|models|instructions|config)(?:[/?])/
const prompt = /\/prompt(?:\?|$)/

const events = /\/events(?:\?|$)/

/** The session whose project a request reads; undefined if it reads none, or that of a directory. */
const projectSession = ({ method, path }: Pick<Sent, "method" | "path">): string | undefined =>
  method === "GET" && project.test(path)
    ? new URL(path, "http://localhost").searchParams.get("session") ?? undefined
    : undefined

const decodeName = Option.liftThrowable(decodeURIComponent)

const begin = /^\/v1\/sessions(?:\?|$)/

/** The directory whose project, or whose project's sessions, a request reads. */
const projectDirectory = ({ method, path }: Pick<Sent, "method" | "path">): string | undefined =>
  method === "GET" && (project.test(path) || begin.test(path))
    ? new URL(path, "http://localhost").searchParams.get("directory") ?? undefined
    : undefined

/** Whether it stays open, and sends events. */
export const isStream = ({ method, url = "" }: Pick<IncomingMessage, "method" | "url">): boolean =>
  method === "GET" && events.test(url)

/** Requests that do no harm if they are made twice. A prompt gets a key, so that it is stored once. */
const repeatable = /\/(?:prompt|interrupt|resume|stop)(?:\?|$)/

/** What a request is about. */
export type Subject =
  | { readonly _tag: "Tree"; readonly noun: string; readonly id: string }
  | { readonly _tag: "Reply"; readonly id: string }
  | { readonly _tag: "Asks" }
  /** Where undefined, the directory is in the body. */
  | { readonly _tag: "Directory"; readonly directory: string | undefined }
  | { readonly _tag: "Other" }

/** Finds out what a request is about. */
export const subjectOf = ({ method, url = "" }: IncomingMessage): Subject => {
  const [, noun, id] = tree.exec(url) ?? []
  if (noun !== undefined && id !== undefined) return { _tag: "Tree", noun, id }
  const session = projectSession({ method: method ?? "", path: url })
  if (session !== undefined) return { _tag: "Tree", noun: "sessions", id: session }
  const directory = projectDirectory({ method: method ?? "", path: url })
  if (directory !== undefined) return { _tag: "Directory", directory }
  if (method === "POST" && begin.test(url)) return { _tag: "Directory", directory: undefined }
  const [, ask] = reply.exec(url) ?? []
  // No question has a name that cannot be decoded: the route says so.
  const asked = ask === undefined ? undefined : Option.getOrUndefined(decodeName(ask))
  if (method === "POST" && asked !== undefined) return { _tag: "Reply", id: asked }
  return method === "GET" && asks.test(url) ? { _tag: "Asks" } : { _tag: "Other" }
}

/** Whether it may be made again if Skein cannot tell whether it was made. */
export const isRepeatable = ({ method, path }: Sent): boolean => method === "GET" || repeatable.test(path)

/** What can be done with a tree without its directory. */
const bodiless = /\/(?:stop|interrupt|fork)(?:\?|$)/

/** Whether it lets agents work, or reads their project, so that the directory of the tree must be there. */
export const needsDirectory = (sent: Pick<Sent, "method" | "path">): boolean =>
  (sent.method === "POST" && !bodiless.test(sent.path)) || projectSession(sent) !== undefined

const beginning = /\/(?:prompt|resume)(?:\?|$)/

/** Whether it makes agents of a tree work that have nothing to do now. */
export const beginsWork = ({ method, path }: Pick<Sent, "method" | "path">): boolean =>
  method === "POST" && beginning.test(path)

const waiting = /\/(?:turns\/[^/?]+|rest)(?:\?|$)/
const waitingPrompt = /\/prompt\?(?:.*&)?wait=true(?:&|$)/

/** Whether it waits for work in the tree, and so for its host. */
export const awaitsWork = ({ method, path }: Pick<Sent, "method" | "path">): boolean =>
  method === "GET" && waiting.test(path)

/** Whether it is answered only once a turn has ended. */
export const waitsForTurn = (sent: Pick<Sent, "method" | "path">): boolean =>
  awaitsWork(sent) || (sent.method === "POST" && waitingPrompt.test(sent.path))

/** A request as it is sent on. */
export const sentOf = ({ headers, method = "GET", url = "/" }: IncomingMessage, body: Buffer): Sent => ({
  method,
  path: url,
  headers: method === "POST" && prompt.test(url) && headers["idempotency-key"] === undefined
    ? { ...headers, "idempotency-key": `cluster-${randomUUID()}` }
    : headers,
  body
})
