/**
 * Answers requests for events. There may be thousands of streams, each open for hours. So the fiber that opens one ends
 * when the stream is live, and only the connection and its entry among the clients remain.
 */
import { type Problem, problem } from "@skein/api/Problem"
import { findSession } from "@skein/core/SessionLookup"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Runtime from "effect/Runtime"
import * as Scope from "effect/Scope"
import type { IncomingMessage, ServerResponse } from "node:http"
import { Feeds } from "./events/Feeds.ts"
import { byLog, byTree, follow } from "./events/follow.ts"
import type { Statuses } from "./events/statuses.ts"
import { refuse } from "./respond.ts"
import { asProblem } from "./routes/toProblem.ts"

const ofTree = /^\/v1\/sessions\/([^/]+)\/events$/

/** What a request wants to stream; undefined if it is not for events. */
const asked = ({ method, url = "" }: IncomingMessage) => {
  const [path = "", query = ""] = url.split("?", 2)
  const session = ofTree.exec(path)?.[1]
  if (method !== "GET" || (session === undefined && path !== "/v1/events")) return undefined
  return { session, from: new URLSearchParams(query).get("from") ?? undefined }
}

/** The feed of a client, in the client's own scope, and the format of its positions. */
const feedOf = Effect.fnUntraced(function*(session: string | undefined) {
  const feeds = yield* Feeds
  if (session === undefined) return { feed: yield* asProblem(feeds.ofAll), numbering: byLog }
  const { rootID } = yield* asProblem(findSession(session))
  return { feed: yield* asProblem(feeds.ofTree(rootID)), numbering: byTree(rootID) }
})

const failed: Problem = problem(500, "InternalError", "Something went wrong in the server. Its log says what.")

/** Makes the function that answers such requests. It returns whether a request was one. */
export const makeStreams = Effect.gen(function*() {
  const lifetime = yield* Effect.scope
  const runtime = yield* Effect.runtime<Feeds | Statuses>()
  const fork = Runtime.runFork(runtime)

  const open = (request: IncomingMessage, response: ServerResponse, session: string | undefined, from?: string) =>
    Effect.gen(function*() {
      const scope = yield* Scope.make()
      const { "last-event-id": last } = request.headers
      const wanted = { from, lastEventID: typeof last === "string" ? last : undefined }
      const following = Effect.flatMap(
        Effect.provideService(feedOf(session), Scope.Scope, scope),
        ({ feed, numbering }) => Effect.catchTag(follow(response, feed, numbering, wanted), "StorageError", asProblem)
      )
      const exit = yield* Effect.exit(following)
      const close = Scope.close(scope, Exit.void)
      if (Exit.isSuccess(exit)) {
        const over = () => {
          exit.value()
          fork(close, { scope: lifetime })
        }
        if (response.destroyed) over()
        else response.once("close", over)
        return
      }
      yield* close
      const failure = Cause.failureOption(exit.cause)
      if (failure._tag === "None") yield* Effect.logError("Events could not be sent", exit.cause)
      if (response.headersSent) response.destroy()
      else refuse(request, response, failure._tag === "None" ? failed : failure.value)
    })

  return (request: IncomingMessage, response: ServerResponse): boolean => {
    const wish = asked(request)
    if (wish === undefined) return false
    fork(open(request, response, wish.session, wish.from), { scope: lifetime })
    return true
  }
})
