/** Implements the routes for files of the program other than sessions. */
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import { Api } from "@skein/api/Api"
import type { Prune } from "@skein/api/Input"
import type { Pruned } from "@skein/api/Output"
import { type Problem, problem } from "@skein/api/Problem"
import { pageOf } from "@skein/core/Page"
import { Session } from "@skein/core/Session"
import { restingTrees } from "@skein/core/SessionLookup"
import { SessionStorage } from "@skein/core/SessionStorage"
import { receiptLifetime } from "@skein/core/Write"
import type { SessionID } from "@skein/domain/Id"
import { isAtRest } from "@skein/domain/SessionInfo"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { HostRefused, ServerHost } from "../../ServerOptions.ts"
import { ServerState } from "../ServerState.ts"
import { checkDirectory, placeOf } from "./checkDirectory.ts"
import { reused } from "./once.ts"
import { noting } from "./reached.ts"
import { asProblem, ordered } from "./toProblem.ts"

/** Carries it out, unless this process has done so under that key. It continues if its client disconnects. */
const pruneOnce = <R>(
  { content, key }: { readonly key: string | undefined; readonly content: unknown },
  prune: Effect.Effect<typeof Pruned.Type, Problem, R>
): Effect.Effect<typeof Pruned.Type, Problem, R | ServerState> =>
  key === undefined ? prune : Effect.gen(function*() {
    const { prunes, scope } = yield* ServerState
    const now = yield* Clock.currentTimeMillis
    for (const [each, { begun }] of prunes) if (begun <= now - receiptLifetime) prunes.delete(each)
    const text = JSON.stringify(content)
    const known = prunes.get(key)
    if (known !== undefined) {
      return yield* known.content === text ? Deferred.await(known.answer) : Effect.fail(reused)
    }
    const answer = yield* Deferred.make<typeof Pruned.Type, Problem>()
    prunes.set(key, { content: text, begun: now, answer })
    const ended = Effect.onExit(prune, (exit) =>
      Effect.sync(() => {
        // What failed may be tried again.
        if (Exit.isFailure(exit)) prunes.delete(key)
        Deferred.unsafeDone(answer, exit)
      }))
    yield* Effect.forkIn(ended, scope)
    return yield* Deferred.await(answer)
  })

const notOffered = problem(404, "NotOffered", "This server has no files of config, and so nothing to answer.")

/** Asks the program, if it gives access to files. */
const ask = <A>(use: (host: ServerHost) => Effect.Effect<A, HostRefused>) =>
  Effect.flatMap(
    ServerState,
    ({ options: { host } }) => host === undefined ? Effect.fail(notOffered) : asProblem(use(host))
  )

const listed = <A>(use: (host: ServerHost) => Effect.Effect<A, HostRefused>) =>
  Effect.map(ask(use), (items) => ({ items }))

const tokenNeeded = problem(
  403,
  "TokenNeeded",
  "Trust lets a project's files run commands on this machine. Give it with the token of the server, or with `skein trust allow`."
)

/** Removes idle trees, except for those that a process resumes at this moment. */
const removeResting = Effect.fnUntraced(function*(since: number, projectID: string | undefined, dryRun: boolean) {
  const storage = yield* SessionStorage
  const session = yield* Session
  const trees = yield* asProblem(restingTrees(since, projectID))
  const removed: Array<SessionID> = []
  const below = new Set<SessionID>()
  for (const { root: { id: rootID } } of trees) {
    const { rows } = yield* asProblem(storage.sessions({ rootID }))
    const atWork = yield* Effect.exists(rows, ({ id }) => Effect.map(session.status(id), (status) => !isAtRest(status)))
    if (atWork) continue
    const isGone = dryRun || (yield* asProblem(
      session.remove(rootID).pipe(
        Effect.as(true),
        Effect.catchIf(
          (error) => error._tag === "SessionNotFound" || error.reason === "held",
          () => Effect.succeed(false)
        )
      )
    ))
    if (!isGone) continue
    removed.push(rootID)
    for (const { id } of rows) below.add(id)
  }
  return { removed, below }
})

const prune = Effect.fnUntraced(function*({ dryRun = false, olderThan, projectID }: typeof Prune.Type) {
  const now = yield* Clock.currentTimeMillis
  const { below, removed } = olderThan === undefined
    ? { below: new Set<SessionID>(), removed: [] }
    : yield* removeResting(now - olderThan, projectID, dryRun)
  const forgotten = yield* ask((host) => host.forget({ dryRun, removed: below }))
  return { dryRun, sessions: removed, ...forgotten }
})

/** The routes for files. */
export const hostRoutes = HttpApiBuilder.group(Api, "host", (handlers) =>
  handlers
    .handle(
      "config",
      ({ urlParams }) => Effect.flatMap(placeOf(urlParams), (place) => ask((host) => host.config(place)))
    )
    .handle("configSchema", () => ask(({ configSchema }) => configSchema))
    .handle(
      "trust",
      ({ urlParams }) =>
        Effect.flatMap(checkDirectory(urlParams.directory), (place) =>
          Effect.flatMap(ask((host) => host.trust(place)), (items) => ordered(items, urlParams)))
    )
    .handle("allowTrust", ({ payload: { directory, ids }, request }) =>
      Effect.gen(function*() {
        const { hasToken } = yield* ServerState
        if (!hasToken(NodeHttpServerRequest.toIncomingMessage(request))) {
          return yield* Effect.fail(tokenNeeded)
        }
        const place = yield* checkDirectory(directory)
        return yield* listed((host) =>
          host.allowTrust(place, ids)
        )
      }))
    .handle("revokeTrust", ({ payload: { ids } }) => listed((host) => host.revokeTrust(ids)))
    .handle("worktrees", ({ urlParams }) =>
      Effect.flatMap(
        ask(({ worktrees }) => worktrees),
        (items) => asProblem(pageOf(items, urlParams, ({ directory }) => directory))
      ))
    .handle("cleanWorktrees", ({ payload }) => listed((host) => host.cleanWorktrees(payload)))
    .handle("prune", ({ headers, payload }) =>
      pruneOnce({ key: headers["idempotency-key"], content: payload }, prune(payload)))
    .pipe(noting))
