/** Sends a request on to another runner, and gives its answer back as it comes. */
import * as Effect from "effect/Effect"
import { Agent, type IncomingHttpHeaders, type IncomingMessage, request as ask, type ServerResponse } from "node:http"
import type { Sent } from "./sent.ts"
import { carriedHeaders, signatureHeader } from "./signature.ts"

/** The result of forwarding it. */
export type Outcome =
  /** The client has its answer, or is gone. */
  | "answered"
  /** Nobody took the request. */
  | "unreached"
  /** The connection broke before there was an answer: it is not known what the runner has done. */
  | "broken"
  /** Another runner works in the tree by now. */
  | "held"
  /** It does not take this runner for one of its cluster. */
  | "refused"

const agent = new Agent({ keepAlive: true, noDelay: true })

/** Only what is signed is sent on: neither how a client proves who it is, nor how it is connected. */
const headersOf = ({ body, headers }: Sent, signature: string) => ({
  ...carriedHeaders(headers),
  ...(body.length > 0 ? { "content-length": String(body.length) } : {}),
  [signatureHeader]: signature
})

/** Whether nothing of a request can have arrived. */
const isUnreached = (error: NodeJS.ErrnoException): boolean =>
  ["ECONNREFUSED", "EHOSTUNREACH", "ENETUNREACH", "ENOTFOUND"].includes(error.code ?? "")

const opened = (target: string, sent: Sent, signature: string) =>
  ask(new URL(sent.path, target), { method: sent.method, headers: headersOf(sent, signature), agent })

/** What a body means that is not for the client: another runner works in the tree by now, or this one stops. */
const outcomeOf = (body: Buffer): Outcome | undefined => {
  if (body.includes(":HeldElsewhere\"")) return "held"
  if (!body.includes(":ServerLeaving\"")) return undefined
  return body.includes("\"reason\":\"refused\"") ? "unreached" : "broken"
}

/** What an answer means that is not for the client: it is about the connection of the two runners. */
const unansweredBy = ({ statusCode }: IncomingMessage): Outcome | undefined => {
  if (statusCode === 401) return "refused"
  return statusCode === 408 ? "unreached" : undefined
}

const answerHeaders = ({ headers }: IncomingMessage) =>
  Object.fromEntries(
    Object.entries(headers).filter(([name]) => !["connection", "keep-alive", "transfer-encoding"].includes(name))
  )

/** Sends it on, and gives the answer to the client. Interruption cuts the connection to the other runner. */
export const relay = (
  target: string,
  sent: Sent,
  signature: string,
  response: ServerResponse
): Effect.Effect<Outcome> =>
  Effect.async((resume) => {
    const outgoing = opened(target, sent, signature)
    const gone = () => {
      // An answer that was read to its end leaves the connection for the next request.
      if (!response.writableFinished) outgoing.destroy()
      end("answered")
    }
    const end = (outcome: Outcome) => {
      response.off("close", gone)
      resume(Effect.succeed(outcome))
    }
    response.once("close", gone)
    outgoing.once("error", (error) => {
      if (response.headersSent) response.destroy()
      end(response.headersSent ? "answered" : isUnreached(error) ? "unreached" : "broken")
    })
    outgoing.once("response", (incoming) => {
      // The client has the answer of a runner that stops.
      if (response.headersSent) return void incoming.destroy()
      const unanswered = unansweredBy(incoming)
      if (unanswered !== undefined) {
        incoming.resume()
        return end(unanswered)
      }
      const chunks: Array<Buffer> = []
      const cut = () => {
        if (response.headersSent) response.destroy()
        end(response.headersSent ? "answered" : "broken")
      }
      incoming.once("error", cut)
      incoming.once("aborted", cut)
      // Short, and may have to be asked of another runner.
      if (incoming.statusCode === 409 || incoming.statusCode === 503) {
        incoming.on("data", (chunk: Buffer) => chunks.push(chunk))
        incoming.once("end", () => {
          const body = Buffer.concat(chunks)
          const outcome = outcomeOf(body)
          if (outcome !== undefined) return end(outcome)
          if (!response.headersSent) response.writeHead(incoming.statusCode ?? 503, answerHeaders(incoming)).end(body)
        })
        return
      }
      response.writeHead(incoming.statusCode ?? 502, answerHeaders(incoming))
      response.flushHeaders()
      incoming.pipe(response)
    })
    outgoing.end(sent.body)
    return Effect.sync(() => {
      response.off("close", gone)
      outgoing.destroy()
    })
  })

/** A whole answer. */
export interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

/** Sends it on, and gives the whole answer; nothing if there is none. */
export const exchange = (target: string, sent: Sent, signature: string): Effect.Effect<Answer | undefined> =>
  Effect.async((resume) => {
    const outgoing = opened(target, sent, signature)
    outgoing.once("error", () => resume(Effect.succeed(undefined)))
    outgoing.once("response", (incoming) => {
      const chunks: Array<Buffer> = []
      incoming.on("data", (chunk: Buffer) => chunks.push(chunk))
      incoming.once("error", () => resume(Effect.succeed(undefined)))
      incoming.once("end", () =>
        resume(Effect.succeed({
          status: incoming.statusCode ?? 502,
          headers: answerHeaders(incoming),
          body: Buffer.concat(chunks)
        })))
    })
    outgoing.end(sent.body)
    return Effect.sync(() => outgoing.destroy())
  })
