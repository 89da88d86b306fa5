/**
 * Sends requests about a tree to the runner that works in it, and requests about a directory to one that has it, so that any
 * runner takes any request. Any other request, or one about a tree in which nobody works, is answered where it came.
 */
import { findSession, findTaskOrRun } from "@skein/core/SessionLookup"
import { SessionStorage } from "@skein/core/SessionStorage"
import type { SessionID } from "@skein/domain/Id"
import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"
import * as Option from "effect/Option"
import type { IncomingMessage, ServerResponse } from "node:http"
import { Cluster } from "./Cluster.ts"
import { makeAskAll } from "./internal/asks.ts"
import { type Asked, askedBy } from "./internal/exchange.ts"
import { makeFollow, makeToDirectory } from "./internal/follow.ts"
import {
  awaitsWork,
  beginsWork,
  isStream,
  makeSignatureCheck,
  needsDirectory,
  peekBody,
  readBody,
  refuse,
  type Sent,
  sentOf,
  type SignatureCheck,
  signed,
  type Subject,
  subjectOf,
  waitsForTurn
} from "./internal/requests.ts"
import { isThere, makeSilence } from "./internal/silence.ts"

/** How often to look where the trees are. */
const pace = "500 millis"

/**
 * Makes the function that adds a stream of events, and looks until the scope closes. A stream that is sent from here is cut once
 * its tree is on another runner: its client comes back, and gets text there as it is written, and not only what is stored.
 */
const makeLocalStreams = (cluster: Pick<typeof Cluster.Service, "holder" | "url">) =>
  Effect.gen(function*() {
    const open = new Map<SessionID, Set<ServerResponse>>()

    const look = (rootID: SessionID, streams: ReadonlySet<ServerResponse>) =>
      Effect.map(
        // A database that does not answer proves nothing.
        Effect.orElseSucceed(cluster.holder(rootID), () => undefined),
        (holder) => {
          if (holder === undefined || holder === cluster.url) return
          for (const stream of streams) stream.destroy()
        }
      )
    const all = Effect.suspend(() => Effect.forEach([...open], ([rootID, streams]) => look(rootID, streams)))
    yield* Effect.forkScoped(Effect.forever(Effect.zipRight(Effect.sleep(pace), all)))

    return (rootID: SessionID, response: ServerResponse): void => {
      const streams = open.get(rootID) ?? new Set()
      open.set(rootID, streams.add(response))
      response.once("close", () => {
        streams.delete(response)
        if (streams.size === 0 && open.get(rootID) === streams) open.delete(rootID)
      })
    }
  })

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

const answerAsked = (cluster: typeof Cluster.Service, asked: Asked, response: ServerResponse) =>
  Effect.map(cluster.answer(asked), (answer) =>
    answer === undefined
      ? refuse(response, 409, "Refused", "This server does not take the tree.")
      : void response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(answer)))

/** Makes what answers another runner here, once the body is known to be the one that it signed. */
const makeAnswerRunner = (cluster: typeof Cluster.Service, isBody: SignatureCheck["isBody"], largestBody: number) =>
  Effect.fnUntraced(function*(request: IncomingMessage, response: ServerResponse, local: () => void) {
    const body = yield* peekBody(request, response, largestBody)
    if (body === undefined) return
    if (!isBody(request, body)) {
      return refuse(response, 401, "BadSignature", "This is not the body that was signed. It was changed on the way.")
    }
    const asked = askedBy(request)
    if (asked === undefined) return local()
    yield* answerAsked(cluster, asked, response)
  })

/** Makes it, for as many requests as come until the scope closes. Bodies of more than `largestBody` bytes are refused. */
export const makeForwarding = Effect.fnUntraced(function*({ largestBody }: { readonly largestBody: number }) {
  const cluster = yield* Cluster
  const run = yield* FiberSet.makeRuntime<SessionStorage>()
  const signatureOf = (target: string, sent: Sent) => signed(cluster.secret, target, cluster.time(), sent)
  const { isBody, isSigned } = makeSignatureCheck(cluster)
  const follow = makeFollow(cluster, signatureOf, yield* makeSilence(isThere))
  const askAll = makeAskAll(cluster, signatureOf, largestBody)
  const toDirectory = yield* makeToDirectory(cluster, signatureOf, largestBody)
  const watch = yield* makeLocalStreams(cluster)

  /** Whether a tree that is here may be elsewhere before a request is answered. */
  const mayGo = ({ method = "", url = "" }: IncomingMessage, rootID: SessionID): Effect.Effect<boolean> => {
    const asked = { method, path: url }
    if (waitsForTurn(asked) || (method !== "GET" && cluster.isMoving(rootID))) return Effect.succeed(true)
    return beginsWork(asked) && !cluster.isUsed(rootID) ? cluster.isFull : Effect.succeed(false)
  }

  const answerRunner = makeAnswerRunner(cluster, isBody, largestBody)

  const toHolder = Effect.fnUntraced(
    function*(tree: Tree, request: IncomingMessage, response: ServerResponse, local: () => void) {
      const rootID = yield* rootOf(tree)
      const holder = rootID === undefined ? undefined : yield* cluster.holder(rootID)
      if (rootID === undefined) return local()
      const isHere = holder === cluster.url && !(yield* mayGo(request, rootID))
      const { method = "GET", url = "/" } = request
      const asked = { method, path: url }
      const isReading = method === "GET" && !awaitsWork(asked) && !needsDirectory(asked)
      const isRead = holder === undefined && isReading && !(yield* cluster.hasLeft(rootID))
      if (isHere || isRead) {
        if (isStream(request)) watch(rootID, response)
        return local()
      }
      // Another runner may take up a tree that nobody works in right now. So even this one is asked as others are.
      const body = yield* readBody(request, response, largestBody)
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

  return {
    isTrusted: isSigned,
    route: (request, response, local) => {
      if (isSigned(request)) return answered(response, answerRunner(request, response, local))
      const subject = subjectOf(request)
      switch (subject._tag) {
        case "Tree":
          return answered(response, toHolder(subject, request, response, local))
        case "Reply":
          return answered(response, askAll.reply(subject.id, request, response))
        case "Asks":
          return answered(response, askAll.list(request, response))
        case "Directory":
          return answered(response, toDirectory(subject.directory, request, response, local))
        case "Other":
          return local()
      }
    }
  } satisfies Forwarding
})
