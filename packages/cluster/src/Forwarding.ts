/**
 * Sends requests about a tree to the runner that works in it, so that any runner takes any request. A request about no tree,
 * or about one in which nobody works, is answered where it came.
 */
import { findSession, findTaskOrRun } from "@skein/core/SessionLookup"
import { SessionStorage } from "@skein/core/SessionStorage"
import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"
import * as Option from "effect/Option"
import type { IncomingMessage, ServerResponse } from "node:http"
import { Cluster } from "./Cluster.ts"
import { makeAskAll } from "./internal/askAll.ts"
import { readAll, type Sent } from "./internal/exchange.ts"
import { makeFollow } from "./internal/follow.ts"
import { refuse, sentOf, type Subject, subjectOf } from "./internal/requests.ts"
import { isSigned, signed } from "./internal/signature.ts"

/** What a server needs to be a runner of a cluster. */
export interface Forwarding {
  /** Whether a request comes from another runner, which has authenticated its client. */
  readonly isTrusted: (request: IncomingMessage) => boolean
  /** Answers a request; `local` answers it here. */
  readonly route: (request: IncomingMessage, response: ServerResponse, local: () => void) => void
}

type Tree = Extract<Subject, { readonly _tag: "Tree" }>

/** The tree that a request is about; undefined if it names none that is stored. */
const rootOf = ({ id, noun }: Tree) =>
  (noun === "tasks" ? Effect.flatMap(findTaskOrRun(id), ({ taskID }) => findSession(taskID)) : findSession(id)).pipe(
    Effect.map(({ rootID }) => rootID),
    Effect.option,
    Effect.map(Option.getOrUndefined)
  )

/** Makes it, for as many requests as come until the scope closes. */
export const makeForwarding = Effect.gen(function*() {
  const cluster = yield* Cluster
  const clock = yield* Effect.clock
  const run = yield* FiberSet.makeRuntime<SessionStorage>()
  const signatureOf = ({ method, path }: Sent) => signed(cluster.secret, clock.unsafeCurrentTimeMillis(), method, path)
  const follow = makeFollow(cluster, signatureOf)
  const askAll = makeAskAll(cluster, signatureOf)

  const toHolder = Effect.fnUntraced(
    function*(tree: Tree, request: IncomingMessage, response: ServerResponse, local: () => void) {
      const rootID = yield* rootOf(tree)
      const holder = rootID === undefined ? undefined : yield* cluster.holder(rootID)
      if (rootID === undefined || holder === undefined || holder === cluster.url) return local()
      const body = yield* readAll(request)
      if (body !== undefined) yield* follow(rootID, sentOf(request, body), response)
    }
  )

  const answered = (
    response: ServerResponse,
    answering: Effect.Effect<void, { readonly message: string }, SessionStorage>
  ) =>
    void run(
      Effect.catchAll(
        answering,
        ({ message }) => Effect.sync(() => refuse(response, 503, "StorageUnavailable", message))
      )
    )

  const isTrusted = (request: IncomingMessage) => isSigned(cluster.secret, clock.unsafeCurrentTimeMillis(), request)

  return {
    isTrusted,
    route: (request, response, local) => {
      const subject = isTrusted(request) ? { _tag: "Other" } as const : subjectOf(request)
      switch (subject._tag) {
        case "Tree":
          return answered(response, toHolder(subject, request, response, local))
        case "Reply":
          return answered(response, askAll.reply(request, response))
        case "Asks":
          return answered(response, askAll.list(request, response))
        case "Other":
          return local()
      }
    }
  } satisfies Forwarding
})
