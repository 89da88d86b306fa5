/** Owns the connection to a server: sends requests, finds a restarted server again, and gives up after a while. */
import * as HttpClient from "@effect/platform/HttpClient"
import * as SkeinClient from "@skein/client/SkeinClient"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import type { BackendError } from "../../BackendError.ts"
import type { ServerOptions, ServerTarget } from "../../ServerOptions.ts"
import { failure, isProblem, type Loss, lossOf, ofProblem } from "./failure.ts"

/** How long a server may be unreachable, in milliseconds. By then it was restarted, or never will be. */
const usualPatience = 30_000

/** How long to wait before the next try, in milliseconds. */
const pace = 250

/** A connection that lasted longer than this, in milliseconds, counts as established. */
const lasting = 60_000

/** Whether a request may be repeated if it is unknown whether it arrived. */
export type Again = "may be sent again" | "is sent once"

/** A connection to a server. */
export interface Link {
  readonly where: () => ServerTarget
  /** Sends a request. While the server is unreachable, repeats it if that is allowed. */
  readonly call: <A, E>(
    again: Again,
    use: (client: SkeinClient.SkeinClient) => Effect.Effect<A, E>
  ) => Effect.Effect<A, BackendError>
  /** Finds the server again; none while no server proves to be it. */
  readonly locate: Effect.Effect<Option.Option<SkeinClient.ClientOptions>>
  /** How long a server may be unreachable, in milliseconds. */
  readonly patience: number
}

const gone = ({ url }: ServerTarget, patience: number): BackendError =>
  failure(
    "ServerGone",
    `The server at ${url} has not answered for ${
      patience / 1000
    } s. Nothing that it stored is lost: start it again with `
      + "`skein serve`, or continue without it."
  )

const unsure = ({ url }: ServerTarget): BackendError =>
  failure(
    "ServerGone",
    `The connection to the server at ${url} broke before it answered. Look whether it did what was asked, then try again.`
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
      error instanceof Error ? error.message.split("\n", 1).join("") : String(error)
    }).`
  )

/** Makes it. */
export const makeLink = Effect.fnUntraced(function*({ locate, patience = usualPatience, server }: ServerOptions) {
  const services = yield* Effect.context<HttpClient.HttpClient>()
  /** Whether a request has given up. Later ones check immediately whether the server is back. */
  let isGone = false
  /** Whether the server has answered or proved its identity since a connection was last lost. */
  let isProven = true
  let target = server
  let client: SkeinClient.SkeinClient = yield* SkeinClient.make(target)

  /**
   * Finds the server again, and returns whether it was found. Another program may use its port now, and must not get
   * the token.
   */
  const relocate: Effect.Effect<boolean> = Effect.gen(function*() {
    if (locate === undefined) return true
    const found = Option.getOrUndefined(yield* locate)
    isProven = found !== undefined
    if (found === undefined) return false
    if (found.url === target.url && found.token === target.token) return true
    target = found
    client = yield* SkeinClient.make(found)
    return true
  }).pipe(Effect.provide(services))

  const attempt = <A, E>(use: (client: SkeinClient.SkeinClient) => Effect.Effect<A, E>) =>
    Effect.suspend(() => use(client)).pipe(
      Effect.mapError((error): BackendError | { readonly loss: Loss } => {
        if (isProblem(error)) return error.status === 401 ? refusedToken(target) : ofProblem(error)
        const loss = lossOf(error)
        return loss === undefined ? odd(target, error) : { loss }
      }),
      Effect.either
    )

  const call = <A, E>(
    again: Again,
    use: (client: SkeinClient.SkeinClient) => Effect.Effect<A, E>
  ): Effect.Effect<A, BackendError> =>
    Effect.gen(function*() {
      let lostAt: number | undefined
      let mayBeStale = locate !== undefined
      for (;;) {
        const began = yield* Clock.currentTimeMillis
        const isThere = isProven || (yield* relocate)
        const result = isThere ? yield* attempt(use) : Either.left({ loss: { isUnsent: true } })
        if (Either.isRight(result)) {
          isGone = false
          return result.right
        }
        const failed = result.left
        if (!("loss" in failed)) {
          if (!mayBeStale || failed._tag !== "ServerRefused") return yield* Effect.fail(failed)
          // A new server may have a new token as well.
          mayBeStale = false
          if (!(yield* relocate)) return yield* Effect.fail(failed)
          continue
        }
        isProven = locate === undefined
        if (again === "is sent once" && !failed.loss.isUnsent) return yield* Effect.fail(unsure(target))
        const now = yield* Clock.currentTimeMillis
        if (isGone && lostAt !== undefined) return yield* Effect.fail(gone(target, patience))
        if (lostAt === undefined || now - began > lasting) lostAt = now
        else if (now - lostAt >= patience) {
          isGone = true
          return yield* Effect.fail(gone(target, patience))
        }
        yield* Effect.sleep(pace)
      }
    })

  return {
    where: () => target,
    call,
    locate: Effect.map(relocate, (isThere) => isThere ? Option.some(target) : Option.none()),
    patience
  } satisfies Link
})
