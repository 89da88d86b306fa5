/** The client for the Chat Completions API: one request, typed events, typed errors. */
import type { LanguageModel, ModelEvent } from "@skein/core/Provider"
import { formatRef } from "@skein/domain/Model"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import type { IncomingMessage } from "node:http"
import { makeRedactor } from "../../Redactor.ts"
import { Refusal, Unaskable } from "../errors.ts"
import { makeEventStream } from "../eventStream.ts"
import { type Place, type RefusedCall, refusedCall, toModelError } from "../failure.ts"
import { isNotStream, readNotStream } from "../fetch.ts"
import { type Call, errorLimit, isSuccess, type Send } from "../http.ts"
import type { ModelSetup } from "../vendor.ts"
import { ChatAnswer } from "./chatAnswer.ts"
import { type Dialect, makeWriter } from "./chatBody.ts"

/** How to reach a model. */
export interface ChatModelOptions extends ModelSetup {
  readonly send: Send
  readonly apiKey: Redacted.Redacted | undefined
  readonly headers: Readonly<Record<string, string>>
  readonly dialect: Dialect
}

/** Makes a model of such a server. */
export const make = (options: ChatModelOptions): LanguageModel => {
  const { apiKey, dialect, info, limitKey, send } = options
  const url = new URL(options.baseUrl)
  url.pathname = `${url.pathname.replace(/\/+$/, "")}/chat/completions`
  const headers = {
    "content-type": "application/json",
    accept: "text/event-stream",
    "user-agent": "skein",
    ...apiKey === undefined ? {} : { authorization: `Bearer ${Redacted.value(apiKey)}` },
    ...Object.fromEntries(Object.entries(options.headers).map(([name, value]) => [name.toLowerCase(), value]))
  }
  const place: Place = {
    model: formatRef(info),
    baseUrl: options.baseUrl,
    baseUrlName: options.baseUrlName,
    key: options.keyName,
    redact: makeRedactor(options.secrets)
  }
  const write = makeWriter(info.modelID, dialect)
  return {
    info,
    limitKey,
    firstEvent: options.firstEvent,
    stream: (request, emit) =>
      Effect.try({
        try: () => write(request),
        catch: (cause) => cause instanceof Unaskable ? cause : new Unaskable(String(cause))
      }).pipe(
        Effect.flatMap((body) =>
          Effect.async<void, unknown>((resume) => {
            const call = { url, method: "POST", headers, body }
            return Effect.sync(
              exchange(
                send,
                call,
                new ChatAnswer(request.origin.step, emit, request.bounds, dialect),
                (cause) => request.tools.length === 0 ? undefined : refusedCall(cause, place.redact),
                emit,
                resume
              )
            )
          })
        ),
        Effect.catchAll((cause) => Effect.flatMap(toModelError(cause, place), Effect.fail))
      )
  }
}

/** How long to wait for the end of the stream after the answer says that it is done, in milliseconds. */
const patience = 100

/** Runs one request. Returns what aborts it. */
const exchange = (
  send: Send,
  call: Call,
  answer: ChatAnswer,
  refusedIn: (cause: unknown) => RefusedCall | undefined,
  emit: (event: ModelEvent) => void,
  resume: (end: Effect.Effect<void, unknown>) => void
): () => void => {
  let settled = false
  const fail = (cause: unknown): void => {
    if (settled) return resume(Effect.void)
    close()
    const refused = refusedIn(cause)
    if (refused !== undefined) {
      settled = true
      answer.endWith(refused)
    }
    resume(refused === undefined ? Effect.fail(cause) : Effect.void)
  }
  const finish = (incoming: IncomingMessage): void => {
    const cause = answer.failure ?? answer.end()
    if (cause !== undefined) return fail(cause)
    settled = true
    // The end is usually in the same packet. If the stream ends properly, the next request can reuse the socket.
    queueMicrotask(() => {
      if (!incoming.complete) closeAfter(patience)
    })
  }
  const { close, closeAfter } = send(call, {
    connected: () => emit({ type: "connected" }),
    failed: fail,
    answered: (incoming) => {
      if (!isSuccess(incoming)) return readRefusal(incoming, fail)
      if (isNotStream(incoming)) return readNotStream(call.url, incoming, fail)
      const read = makeEventStream(answer.take, answer.longestEvent, answer.tooLong)
      incoming.on("data", (bytes: Buffer) => {
        // After the end, data could continue forever.
        if (settled) close()
        else if (!read(bytes)) finish(incoming)
      })
      incoming.on("end", () => {
        if (!settled) finish(incoming)
        resume(Effect.void)
      })
      incoming.on("error", fail)
    }
  })
  return close
}

const readRefusal = (incoming: IncomingMessage, fail: (cause: Refusal) => void): void => {
  const pieces: Array<Buffer> = []
  let size = 0
  const tell = () => fail(new Refusal(incoming, Buffer.concat(pieces).toString()))
  incoming.on("data", (bytes: Buffer) => {
    pieces.push(bytes)
    size += bytes.length
    if (size >= errorLimit) tell()
  })
  incoming.on("end", tell)
  // The part that arrived is enough.
  incoming.on("error", tell)
}
