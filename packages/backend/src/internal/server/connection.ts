/** Owns which server is asked: the one that was found, the same one after a restart, or another one of its cluster. */
import * as HttpClient from "@effect/platform/HttpClient"
import * as LocalServer from "@skein/client/LocalServer"
import * as SkeinClient from "@skein/client/SkeinClient"
import { unexpectedText } from "@skein/client/Unexpected"
import * as MonotonicClock from "@skein/core/MonotonicClock"
import type * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as RcMap from "effect/RcMap"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import type { BackendError } from "../../BackendError.ts"
import type { ServerOptions, ServerTarget } from "../../ServerOptions.ts"
import { askAgain, failure, isProblem, isStorageAway, type Loss, lossOf, ofProblem } from "./failure.ts"
import { makePeers } from "./peers.ts"

/** How often to look, in milliseconds. */
const pace = 1_000

/** After how many looks without a sign of life a server is asked for one. Heartbeats of streams come more often. */
const doubt = 3

/**
 * After how many it counts as silent. A server that is busy answers within the others. Looks are counted, and not the
 * time, because a program that was suspended itself has heard nothing meanwhile.
 */
const most = 8

/** What is known about the silence of servers. */
export interface Silence {
  /** Ends once a server has been silent for too long. It is asked for signs of life only meanwhile. */
  readonly of: (url: string) => Effect.Effect<void>
  /** Whether a server was silent for too long, and was not heard since then. */
  readonly isAt: (url: string) => boolean
  /** A server has sent something. */
  readonly heard: (url: string) => void
}

/** Makes it. `isThereAt` asks a server, on another connection, whether it answers anything. */
export const makeSilence = (
  isThereAt: (url: string) => Effect.Effect<boolean>
): Effect.Effect<Silence, never, Scope.Scope> => {
  const looks = new Map<string, number>()
  const heard = (url: string): void => void looks.set(url, 0)
  const watch = (url: string): Effect.Effect<void> =>
    Effect.gen(function*() {
      let isAsked = false
      const ask = Effect.map(isThereAt(url), (isThere) => {
        isAsked = false
        if (isThere) heard(url)
      })
      heard(url)
      for (;;) {
        yield* Effect.sleep(pace)
        const now = (looks.get(url) ?? 0) + 1
        looks.set(url, now)
        if (now >= most) return
        if (now < doubt || isAsked) continue
        isAsked = true
        yield* Effect.fork(ask)
      }
    })
  return Effect.map(
    RcMap.make({ lookup: (url: string) => Effect.forkScoped(Effect.interruptible(watch(url))) }),
    (watched) => ({
      of: (url) => Effect.interruptible(Effect.scoped(Effect.flatMap(RcMap.get(watched, url), Fiber.join))),
      isAt: (url) => (looks.get(url) ?? 0) >= most,
      heard
    })
  )
}

/** A request that has no answer, and what its caller learns if none comes. */
interface Unanswered {
  readonly loss: Loss
  readonly error?: BackendError
  /** Whether no later try will get an answer. */
  readonly isFinal?: boolean
  /** Whether a server had just proved its identity when the request was sent. */
  readonly isReached?: boolean
  /** Whether the server may be there all the same: it refuses no connection, and says nothing. */
  readonly isSilent?: boolean
}

/** A server whose storage does not answer, and what its caller learns if it does not wait for it. */
interface StorageAway {
  readonly storageAway: BackendError
}

/** Which server is asked. */
export interface Connection {
  readonly where: () => ServerTarget
  /** Sends a request once, if the server is the right one. */
  readonly attempt: <A, E>(
    use: (client: SkeinClient.SkeinClient) => Effect.Effect<A, E>
  ) => Effect.Effect<Either.Either<A, BackendError | StorageAway | Unanswered>>
  /** Finds the server again, or else another one of its cluster, and returns whether that was found. */
  readonly relocate: Effect.Effect<boolean>
  /** Why no server that was not found will be found: the one at the address has had another token for a while. */
  readonly refusal: Effect.Effect<Option.Option<BackendError>>
  /** Goes to another server of its cluster whose storage answers, if there is one. */
  readonly evade: Effect.Effect<void>
  /** From now on the server has to prove its identity before it is asked. */
  readonly lost: () => void
  /** Asks the server who else is in its cluster, unless that was asked lately. */
  readonly learn: Effect.Effect<void>
  /** Whether the server answers, and is the one that it was. */
  readonly isThere: Effect.Effect<boolean>
  /** Whether any server of the cluster runs. */
  readonly isAnyThere: Effect.Effect<boolean>
  /** Whether the server is known to be in a cluster. */
  readonly isCluster: () => boolean
  /** What is known about servers that have fallen silent. */
  readonly silence: Silence
}

/** How long its own server may take to be found before others are asked as well. */
const ownServerTimeout = "2 seconds"

/**
 * For how long a server must have another token until that counts, in milliseconds: one that was started again says in its
 * file which one it has, a moment after it answers.
 */
const settling = 2_000

const otherToken = ({ url }: ServerTarget): BackendError =>
  failure(
    "ServerRefused",
    `The token of the server at ${url} has changed, so this program can no longer use it. Start this program again with SKEIN_TOKEN set to the new token, or unset it to use the token in the server's file. What the server was asked before continues there.`,
    { reason: "token" }
  )

const refusedToken = ({ url }: ServerTarget): BackendError =>
  failure(
    "ServerRefused",
    `The server at ${url} refuses the token. Set SKEIN_TOKEN to its token, or leave it unset to take the one of its file.`
  )

const odd = ({ url }: ServerTarget, error: unknown): BackendError =>
  failure(
    "ServerRefused",
    `The server at ${url} does not answer as expected (${
      error instanceof Error ? unexpectedText(error) : String(error)
    }).`
  )

/** What the failure of a request means. */
const meaningOf = (
  error: unknown,
  target: ServerTarget,
  isCluster: boolean
): BackendError | StorageAway | Unanswered => {
  if (isProblem(error)) {
    if (error.status === 401) return refusedToken(target)
    if (isStorageAway(error)) return { storageAway: ofProblem(error) }
    const loss = askAgain(error, isCluster)
    return loss === undefined ? ofProblem(error) : { loss, error: ofProblem(error) }
  }
  const loss = lossOf(error)
  return loss === undefined ? odd(target, error) : { loss }
}

/** Says that a server answers anything: it may do so on a connection of its own while others wait. */
const answersAt = (url: string): Effect.Effect<boolean, never, HttpClient.HttpClient> =>
  HttpClient.get(`${url}/healthz`).pipe(
    Effect.map((response) => !SkeinClient.isOfProxy(response)),
    Effect.scoped,
    Effect.orElseSucceed(() => false)
  )

class FallenSilent extends Data.TaggedError("FallenSilent") {}

/** Gives a request up if its server falls silent, also one that is sent while an interrupted caller finishes. */
const unlessSilent = <A, E>(silence: Silence, url: string, request: Effect.Effect<A, E>) =>
  Effect.raceFirst(Effect.interruptible(request), Effect.zipRight(silence.of(url), new FallenSilent()))

/** Finds a server. Its own comes first, unless it is silent or takes long: others need not wait for it then. */
const search = Effect.fnUntraced(function*(
  locate: NonNullable<ServerOptions["locate"]>,
  peers: Effect.Effect.Success<ReturnType<typeof makePeers>>,
  target: ServerTarget,
  isSilent: boolean
) {
  const own = yield* Effect.fork(locate)
  const soon = isSilent ? Option.none() : yield* Effect.timeoutOption(Fiber.join(own), ownServerTimeout)
  const found = Option.flatten(soon)
  if (Option.isSome(found)) return found
  const other = yield* peers.find(target)
  return Option.isSome(other) ? other : yield* Fiber.join(own)
})

/** Makes what finds out why a server was not found: it has another token, or takes the question and says nothing. */
const makeRefusal = (where: () => ServerTarget, services: Context.Context<HttpClient.HttpClient>) => {
  /** Since when the server at the address is known to have another token. */
  let refusedSince: number | undefined
  let isSilent = false
  const refusal: Connection["refusal"] = Effect.gen(function*() {
    const target = where()
    const why = yield* Effect.either(LocalServer.prove({ url: target.url, token: Redacted.value(target.token) }))
    isSilent = Either.isLeft(why) && why.left.reason === "unreachable" && why.left.code === undefined
    if (Either.isRight(why) || why.left.reason !== "other_token") {
      refusedSince = undefined
      return Option.none()
    }
    const now = yield* MonotonicClock.now
    refusedSince ??= now
    return now - refusedSince < settling ? Option.none() : Option.some(otherToken(target))
  }).pipe(Effect.provide(services))
  return { refusal, isSilent: () => isSilent }
}

/** Makes it. */
export const makeConnection = Effect.fnUntraced(function*(
  { locate, others = [], server }: Pick<ServerOptions, "locate" | "others" | "server">
) {
  const services = yield* Effect.context<HttpClient.HttpClient>()
  const peers = yield* makePeers(others)
  const silence = yield* makeSilence((url) => Effect.provide(answersAt(url), services))
  /** Whether the server has answered or proved its identity since a connection was last lost. */
  let isProven = true
  let target = server
  let client: SkeinClient.SkeinClient = yield* SkeinClient.make(target)

  const turnTo = Effect.fnUntraced(function*(found: ServerTarget) {
    if (found.url === target.url && found.token === target.token) return
    target = found
    client = yield* SkeinClient.make(found)
    peers.forget()
  })

  /** Another program may use the port of a server now, and must not get the token. */
  const relocate: Effect.Effect<boolean> = Effect.gen(function*() {
    if (locate === undefined) return true
    const found = Option.getOrUndefined(yield* search(locate, peers, target, silence.isAt(target.url)))
    isProven = found !== undefined
    if (found === undefined) return false
    silence.heard(found.url)
    yield* turnTo(found)
    return true
  }).pipe(Effect.provide(services))

  const { isSilent, refusal } = makeRefusal(() => target, services)

  const unlocated = Effect.map(refusal, (error): Unanswered => ({
    loss: { isUnsent: true },
    isSilent: isSilent(),
    ...(Option.isSome(error) ? { error: error.value, isFinal: true } : {})
  }))

  const evade: Effect.Effect<void> = Effect.suspend(() =>
    locate === undefined
      ? Effect.void
      : Effect.flatMap(peers.findReady(target), Option.match({ onNone: () => Effect.void, onSome: turnTo }))
  ).pipe(Effect.provide(services))

  return {
    where: () => target,
    attempt: (use) =>
      Effect.gen(function*() {
        const isReached = !isProven
        if (isReached && !(yield* relocate)) return Either.left(yield* unlocated)
        return yield* Effect.either(
          Effect.mapError(
            Effect.suspend(() => unlessSilent(silence, target.url, use(client))),
            (error) => {
              if (error instanceof FallenSilent) return { loss: { isUnsent: false }, isSilent: true }
              const meaning = meaningOf(error, target, peers.isCluster())
              return "loss" in meaning ? { ...meaning, isReached } : meaning
            }
          )
        )
      }),
    relocate,
    refusal,
    evade,
    lost: () => void (isProven = locate === undefined),
    // Nothing is to be learned from a server that is away, or that another program may have replaced.
    learn: Effect.suspend(() => isProven ? peers.learn(client) : Effect.void),
    isThere: Effect.provide(
      Effect.suspend(() => LocalServer.isGenuine({ url: target.url, token: Redacted.value(target.token) })),
      services
    ),
    isAnyThere: peers.isAnyThere,
    isCluster: peers.isCluster,
    silence
  } satisfies Connection
})
