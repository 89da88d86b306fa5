/**
 * Sends requests to other runners: those of clients, whose answers are given back as they come, and what runners ask
 * each other. Answers are not signed: another program that listens where a runner was can only say what a server says,
 * and in its form.
 */
import type { SessionID } from "@skein/domain/Id"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { Agent, type IncomingHttpHeaders, type IncomingMessage, request as send, type ServerResponse } from "node:http"
import { carriedHeaders, isStream, type Sent, signatureHeader, signed } from "./requests.ts"

/** The largest answer that is given on as it comes, in bytes. Streams of events have no end. */
const largestAnswer = 256 * 1024 * 1024

const json = /^application\/(?:problem\+)?json(?:\s*;\s*charset=utf-8)?$/i
const eventStream = /^text\/event-stream(?:\s*;\s*charset=utf-8)?$/i

/** The headers that clients get, and their form. All others, such as cookies and policies, are those of this server. */
const passed: ReadonlyArray<readonly [name: string, form: RegExp]> = [
  ["content-type", /^/],
  ["content-length", /^\d{1,15}$/],
  ["content-disposition", /^attachment; filename="[\w.-]{1,100}"$/],
  ["retry-after", /^\d{1,5}$/],
  // Tells a proxy to pass events on at once.
  ["x-accel-buffering", /^no$/]
]

/** Those of the headers of an answer that clients get. */
const passedHeaders = (headers: IncomingHttpHeaders): Readonly<Record<string, string>> =>
  Object.fromEntries(passed.flatMap(([name, form]) => {
    const value = headers[name]
    return typeof value === "string" && form.test(value) ? [[name, value]] : []
  }))

/** How much of what somebody else wrote a message shows, in characters. */
const shown = 200

const quoted = (text: string): string => JSON.stringify(text.slice(0, shown))

/** What is odd about an answer, or how large its body may be, in bytes. */
type Accepted = { readonly odd: string } | { readonly bound: number }

/** Whether an answer has the form of the API. */
const acceptAnswer = (
  { method, path }: Pick<Sent, "method" | "path">,
  { headers, statusCode = 0 }: { readonly headers: IncomingHttpHeaders; readonly statusCode?: number | undefined }
): Accepted => {
  if (statusCode >= 300 && statusCode < 400) {
    return { odd: `it answers with a redirect (${statusCode}) to ${quoted(headers.location ?? "")}` }
  }
  if (statusCode < 200 || statusCode > 599) return { odd: `it answers with the status ${statusCode}` }
  const encoding = headers["content-encoding"] ?? "identity"
  if (encoding !== "identity") return { odd: `it answers with the encoding ${quoted(encoding)}` }
  const type = headers["content-type"]
  if (type === undefined) return { bound: 0 }
  if (json.test(type)) return { bound: largestAnswer }
  if (!eventStream.test(type)) return { odd: `it answers with ${quoted(type)}` }
  return isStream({ method, url: path }) && statusCode === 200
    ? { bound: Number.POSITIVE_INFINITY }
    : { odd: "it answers with a stream of events, which was not asked for" }
}

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
  /** What answers is no server of the cluster, and this is why: it is not known whether there is one. */
  | { readonly odd: string }

/** The largest answer that is read as a whole, in bytes. */
const largestWhole = 16 * 1024 * 1024

/** The largest refusal, in bytes. */
const largestRefusal = 1024 * 1024

const tooLong = "its answer is longer than it may be"

/** What such an answer means. */
export const oddText = (target: string, odd: string): string =>
  `The server ${target} does not answer as a server of this cluster does: ${odd}. Another program may now be using that port.`

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
  send(new URL(sent.path, target), { method: sent.method, headers: headersOf(sent, signature), agent })

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

/** Reads a body that is at most so long. Calls one of these once, or none if the connection breaks. */
const readWhole = (
  incoming: IncomingMessage,
  bound: number,
  { read, tooLarge }: { readonly read: (body: Buffer) => void; readonly tooLarge: () => void }
): void => {
  const chunks: Array<Buffer> = []
  let size = 0
  incoming.on("data", (chunk: Buffer) => {
    size += chunk.length
    if (size <= bound) return void chunks.push(chunk)
    chunks.length = 0
    tooLarge()
    incoming.destroy()
  })
  incoming.once("end", () => read(Buffer.concat(chunks)))
}

/** Gives a body of at most so many bytes to a client as it comes. A longer one is cut off. */
const pass = (incoming: IncomingMessage, response: ServerResponse, bound: number): void => {
  let size = 0
  incoming.on("data", (chunk: Buffer) => {
    size += chunk.length
    if (size <= bound) return
    incoming.destroy()
    response.destroy()
  })
  response.flushHeaders()
  incoming.pipe(response)
}

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
      const cut = () => {
        if (response.headersSent) response.destroy()
        end(response.headersSent ? "answered" : "broken")
      }
      incoming.once("error", cut)
      incoming.once("aborted", cut)
      const accepted = acceptAnswer(sent, incoming)
      if ("odd" in accepted) {
        end(accepted)
        return void incoming.destroy()
      }
      // Short, and may have to be asked of another runner.
      if (incoming.statusCode === 409 || incoming.statusCode === 503) {
        return readWhole(incoming, Math.min(accepted.bound, largestRefusal), {
          tooLarge: () => end({ odd: tooLong }),
          read: (body) => {
            const outcome = outcomeOf(body)
            if (outcome !== undefined) return end(outcome)
            if (response.headersSent) return
            response.writeHead(incoming.statusCode ?? 503, passedHeaders(incoming.headers)).end(body)
          }
        })
      }
      response.writeHead(incoming.statusCode ?? 502, passedHeaders(incoming.headers))
      pass(incoming, response, accepted.bound)
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
  /** Those that a client may get. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
}

/** Sends it on, and gives the whole answer; nothing if there is none that a server gives. */
export const exchange = (target: string, sent: Sent, signature: string): Effect.Effect<Answer | undefined> =>
  Effect.async<Answer | { readonly odd: string } | undefined>((resume) => {
    const outgoing = opened(target, sent, signature)
    const end = (answer: Answer | { readonly odd: string } | undefined) => resume(Effect.succeed(answer))
    outgoing.once("error", () => end(undefined))
    outgoing.once("response", (incoming) => {
      incoming.once("error", () => end(undefined))
      const accepted = acceptAnswer(sent, incoming)
      if ("odd" in accepted) {
        end(accepted)
        return void incoming.destroy()
      }
      readWhole(incoming, Math.min(accepted.bound, largestWhole), {
        tooLarge: () => end({ odd: tooLong }),
        read: (body) => end({ status: incoming.statusCode ?? 502, headers: passedHeaders(incoming.headers), body })
      })
    })
    outgoing.end(sent.body)
    return Effect.sync(() => outgoing.destroy())
  }).pipe(
    Effect.flatMap((answer) =>
      answer !== undefined && "odd" in answer
        ? Effect.as(Effect.logWarning(oddText(target, answer.odd)), undefined)
        : Effect.succeed(answer)
    )
  )

/** What a runner says about a tree in which nobody works: whether it may take it up, and how many more agents can work there. */
const Room = Schema.Struct({ may: Schema.Boolean, room: Schema.Number })

const decode = Schema.decodeUnknownOption(Schema.parseJson(Room))

/** How long a runner may take to answer. One that is frozen must not delay a prompt for long. */
const patience = "1 second"

/** How long it may take to make the agents of a tree work. */
const takingPatience = "10 seconds"

const path = /^\/v1\/cluster\/(room|offer|take)\/(ses_[^/?]+)(?:\/(\d{1,9}))?$/

/** What another runner asks: how much room there is for a tree, to keep so much for it, or to take it up. */
export type Asked =
  | { readonly _tag: "Room"; readonly rootID: SessionID }
  | { readonly _tag: "Offer"; readonly rootID: SessionID; readonly slots: number }
  | { readonly _tag: "Take"; readonly rootID: SessionID }

/** What it asks with a request; undefined if the request is one of a client. */
export const askedBy = ({ method, url = "" }: IncomingMessage): Asked | undefined => {
  const [, what, id, slots = "0"] = path.exec(url) ?? []
  if (id === undefined) return undefined
  const rootID = id as SessionID
  if (method === "GET") return what === "room" ? { _tag: "Room", rootID } : undefined
  if (method !== "POST" || what === "room") return undefined
  return what === "take" ? { _tag: "Take", rootID } : { _tag: "Offer", rootID, slots: Number(slots) }
}

/** Makes the functions that ask the runner at an address. */
export const makePeers = ({ secret, time }: { readonly secret: Redacted.Redacted; readonly time: () => number }) => {
  const ask = (url: string, method: string, to: string, within: Duration.DurationInput) => {
    const sent = { method, path: `/v1/cluster/${to}`, headers: {}, body: Buffer.alloc(0) }
    return exchange(url, sent, signed(secret, url, time(), sent)).pipe(
      Effect.timeoutOption(within),
      Effect.map((answered) => {
        const answer = Option.getOrUndefined(answered)
        return answer?.status === 200 ? answer.body.toString("utf8") : undefined
      })
    )
  }

  return {
    /** How many more agents can work there; undefined if it may not take up the tree, or does not answer. */
    room: (url: string, rootID: SessionID): Effect.Effect<number | undefined> =>
      Effect.map(ask(url, "GET", `room/${rootID}`, patience), (body) =>
        Option.match(decode(body), {
          onNone: () => undefined,
          onSome: ({ may, room }) => may ? room : undefined
        })),
    /** Has it keep so many slots for a tree that may come; whether it does. */
    offer: (url: string, rootID: SessionID, slots: number): Effect.Effect<boolean> =>
      Effect.map(ask(url, "POST", `offer/${rootID}/${slots}`, patience), (body) => body !== undefined),
    /** Has it take up a tree that it has kept slots for. Ends when the tree works there, or does not. */
    take: (url: string, rootID: SessionID): Effect.Effect<boolean> =>
      Effect.map(ask(url, "POST", `take/${rootID}`, takingPatience), (body) => body !== undefined)
  }
}

/** What asks other runners. */
export type Peers = ReturnType<typeof makePeers>
