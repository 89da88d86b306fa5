/** Asks all runners what each of them knows alone: the questions that wait for a person. */
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Cluster } from "../Cluster.ts"
import { readBody, refuse } from "./bodies.ts"
import { type Answer, exchange } from "./exchange.ts"
import { giveAnswer } from "./giveAnswer.ts"
import { heldAsks } from "./heldAsks.ts"
import { askState } from "./openAsk.ts"
import { sentOf } from "./requests.ts"
import type { Sent } from "./sent.ts"

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
export const makeAskAll = (
  cluster: typeof Cluster.Service,
  signatureOf: (target: string, sent: Sent) => string,
  largestBody: number
) => {
  const everywhere = Effect.map(
    cluster.others,
    (others): Arr.NonEmptyReadonlyArray<string> => [cluster.url, ...others.map(({ url }) => url)]
  )

  const askAt = (target: string, sent: Sent) =>
    Effect.map(
      Effect.timeoutOption(exchange(target, sent, signatureOf(target, sent)), patience),
      Option.getOrUndefined
    )

  return {
    /**
     * Gives an answer to the runner that asks the question. While its tree moves, nobody does: the question is open in the
     * journal, and its next runner asks it again.
     */
    reply: Effect.fnUntraced(function*(id: string, request: IncomingMessage, response: ServerResponse) {
      const body = yield* readBody(request, response, largestBody)
      if (body === undefined) return
      const sent = sentOf(request, body)
      const given = yield* giveAnswer({
        everywhere,
        giveTo: (target) => askAt(target, sent),
        state: askState(id, body.toString("utf8"))
      })
      if (given === "nobody") {
        return refuse(response, 503, "NoRunner", "No server asks this question now. Try again in a moment.")
      }
      if (given === "taken") {
        return refuse(response, 404, "AskNotFound", `The question ${id} has another answer already: that one counts.`)
      }
      if (given === "stored") return void response.writeHead(204).end()
      const { body: text, headers, status } = given.said
      response.writeHead(status, headers).end(text)
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
      const unreached = targets.filter((_, index) => index > 0 && others[index - 1]?.status !== 200)
      const listed = yield* Effect.forEach(
        others,
        (answer, index) =>
          Effect.map(answer?.status === 200 ? itemsIn(answer) : Effect.succeed([]), (items) => ({
            target: targets[index + 1] ?? "",
            items
          }))
      )
      const items = yield* heldAsks(cluster, yield* itemsIn(own), listed)
      const { "content-length": _, ...headers } = own.headers
      const missing = unreached.length === 0 ? {} : { unreached }
      response.writeHead(200, headers).end(JSON.stringify({ items, ...missing }))
    })
  }
}
