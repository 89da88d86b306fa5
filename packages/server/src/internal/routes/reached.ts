/**
 * Knows which requests have reached their route. What does not fit a schema afterwards is an answer, and so a fault of the
 * server; before that, it is the request.
 */
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import type * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import type { HttpServerRequest } from "@effect/platform/HttpServerRequest"
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import type { IncomingMessage } from "node:http"

type Item = HttpApiBuilder.Handlers.Item<unknown, unknown>

const requests = new WeakSet<IncomingMessage>()

/** Whether a request was well-formed, and was passed to its route. */
export const hasReached = (request: HttpServerRequest): boolean =>
  requests.has(NodeHttpServerRequest.toIncomingMessage(request))

const noted = (item: Item): Item => ({
  ...item,
  handler: (asked) =>
    Effect.suspend(() => {
      if ("request" in asked) requests.add(NodeHttpServerRequest.toIncomingMessage(asked.request))
      return item.handler(asked)
    })
})

/** The same routes, which note the requests that reach them. */
export const noting = <Routes extends { readonly handlers: Chunk.Chunk<Item> }>(routes: Routes): Routes =>
  Object.create(routes, { handlers: { value: Chunk.map(routes.handlers, noted) } }) as Routes

/** Fails if that ever changes. */
export const answeredBefore = Effect.dieMessage("Events are answered before a route is looked for")
