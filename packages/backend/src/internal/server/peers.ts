/** Knows the other servers of a cluster, so that a client whose server goes away comes back at one of them. */
import * as HttpClient from "@effect/platform/HttpClient"
import { directUrl } from "@skein/api/Handshake"
import { direct } from "@skein/client/Direct"
import * as LocalServer from "@skein/client/LocalServer"
import * as SkeinClient from "@skein/client/SkeinClient"
import * as MonotonicClock from "@skein/core/MonotonicClock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import type { ServerTarget } from "../../ServerOptions.ts"
import { isProblem } from "./failure.ts"

/** How often to ask who is in the cluster, in milliseconds. */
const pace = 10_000

/** How long a server may take to answer. */
const patience = "2 seconds"

/** How long a server may take to say who is there, in the background. */
const learningPatience = "10 seconds"

/** The other servers of the cluster of a server. */
interface Peers {
  /** Whether the server is known to be in a cluster. */
  readonly isCluster: () => boolean
  /** Asks a server who is there, unless that was asked lately. */
  readonly learn: (client: SkeinClient.SkeinClient) => Effect.Effect<void>
  /** Learns at the next occasion, because there is another server now. */
  readonly forget: () => void
  /** One that has the same token and version, whichever answers first. */
  readonly find: (like: ServerTarget) => Effect.Effect<Option.Option<ServerTarget>>
  /** One whose storage answers as well. */
  readonly findReady: (like: ServerTarget) => Effect.Effect<Option.Option<ServerTarget>>
  /** Whether any of them runs, so that turns continue. This needs no token. */
  readonly isAnyThere: Effect.Effect<boolean>
}

/** The first that succeeds. */
const firstOf = <A, E, R>(effects: ReadonlyArray<Effect.Effect<A, E, R>>): Effect.Effect<Option.Option<A>, never, R> =>
  effects.length === 0
    ? Effect.succeedNone
    : Effect.option(Effect.timeout(Effect.raceAll(effects), patience))

/** A server that may get the token, because it has proved that it has it. */
const likeAt = (url: string, { token, version }: ServerTarget) =>
  Effect.gen(function*() {
    const proven = yield* yield* LocalServer.provenVersion({ url, token: Redacted.value(token) })
    if (proven !== version) return yield* Option.none()
    // It may answer handshakes and nothing else, because it is about to leave.
    yield* Effect.flatMap(SkeinClient.make({ url, token }), ({ server }) => server.about())
    return { url, token, version }
  })

/** A client that uses TLS never sends its token unencrypted. Behind its proxy, it needs no other address. */
const mayMove = (from: string) => (to: string): boolean => to.startsWith("https:") || !from.startsWith("https:")

const isOk = (url: string) =>
  Effect.scoped(
    Effect.flatMap(
      Effect.flatMap(HttpClient.HttpClient, (http) => direct(http).get(directUrl(url))),
      ({ status }) => status === 200 ? Effect.void : Option.none()
    )
  )

const isThereAt = (url: string) => isOk(`${url}/healthz`)

const readyLikeAt = (url: string, like: ServerTarget) => Effect.zipRight(isOk(`${url}/readyz`), likeAt(url, like))

/** Makes it. Until it has learned, it knows only those that were named. */
export const makePeers = Effect.fnUntraced(function*(named: ReadonlyArray<string>) {
  const services = yield* Effect.context<HttpClient.HttpClient>()
  let urls = named
  let isCluster = false
  let learnedAt = Number.NEGATIVE_INFINITY
  const first = (like: ServerTarget, at: typeof likeAt) =>
    Effect.provide(
      Effect.suspend(() => firstOf(urls.filter(mayMove(like.url)).map((url) => at(url, like)))),
      services
    )
  return {
    isCluster: () => isCluster,
    learn: (client) =>
      Effect.gen(function*() {
        const now = yield* MonotonicClock.now
        if (now - learnedAt < pace) return
        learnedAt = now
        const { runners } = yield* Effect.timeout(client.server.cluster(), learningPatience)
        isCluster = true
        const present = runners.filter(({ state }) => state !== "dead").map(({ url }) => url)
        urls = [...new Set([...named, ...present])]
      }).pipe(
        Effect.catchAll((error) =>
          Effect.sync(() => {
            // It is in none. Who cannot say it now has said it before, or is asked again.
            if (isProblem(error) && error.status === 404) isCluster = false
          })
        )
      ),
    forget: () => void (learnedAt = Number.NEGATIVE_INFINITY),
    find: (like) => first(like, likeAt),
    findReady: (like) => first(like, readyLikeAt),
    isAnyThere: Effect.provide(
      Effect.map(Effect.suspend(() => firstOf(urls.map(isThereAt))), Option.isSome),
      services
    )
  } satisfies Peers
})
