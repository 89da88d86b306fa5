/** Asks all runners what each of them knows alone: the questions that wait for a person. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Cluster } from "../Cluster.ts"
import { type Answer, exchange, readAll, type Sent } from "./exchange.ts"
import { refuse, sentOf } from "./requests.ts"

/** How long a runner may take to answer. */
const patience = "3 seconds"

const itemsIn = ({ body }: Answer): Effect.Effect<ReadonlyArray<unknown>> =>
  Effect.map(
    Effect.option(Effect.try((): unknown => JSON.parse(body.toString("utf8")))),
    Option.match({
      onNone: () => [],
      onSome: (parsed) =>
        typeof parsed === "object" && parsed !== null && "items" in parsed && Array.isArray(parsed.items)
          ? parsed.items
          : []
    })
  )

/** Makes the functions that ask all runners, this one first. */
export const makeAskAll = (cluster: typeof Cluster.Service, signatureOf: (sent: Sent) => string) => {
  const everywhere = Effect.map(cluster.others, (others) => [cluster.url, ...others.map(({ url }) => url)])

  const askAt = (target: string, sent: Sent) =>
    Effect.map(
      Effect.timeoutOption(exchange(target, sent, signatureOf(sent)), patience),
      Option.getOrUndefined
    )

  return {
    /** Gives an answer to the runner that asks the question. */
    reply: Effect.fnUntraced(function*(request: IncomingMessage, response: ServerResponse) {
      const body = yield* readAll(request)
      if (body === undefined) return
      const sent = sentOf(request, body)
      let last: Answer | undefined
      for (const target of yield* everywhere) {
        const answer = yield* askAt(target, sent)
        if (answer === undefined) continue
        last = answer
        if (answer.status !== 404) break
      }
      if (last === undefined) return refuse(response, 503, "NoRunner", "No server answers. Try again in a moment.")
      response.writeHead(last.status, last.headers).end(last.body)
    }),
    /** Collects the questions of all of them. */
    list: Effect.fnUntraced(function*(request: IncomingMessage, response: ServerResponse) {
      const sent = sentOf(request, Buffer.alloc(0))
      const targets = yield* everywhere
      const [own, ...others] = yield* Effect.forEach(targets, (target) => askAt(target, sent), {
        concurrency: "unbounded"
      })
      if (own === undefined) {
        return refuse(response, 503, "NoRunner", "This server does not answer. Try again in a moment.")
      }
      if (own.status !== 200) return void response.writeHead(own.status, own.headers).end(own.body)
      const good = others.filter((answer) => answer?.status === 200).filter((answer) => answer !== undefined)
      const items = yield* Effect.forEach([own, ...good], itemsIn)
      const { "content-length": _, ...headers } = own.headers
      response.writeHead(200, headers).end(JSON.stringify({ items: items.flat() }))
    })
  }
}
