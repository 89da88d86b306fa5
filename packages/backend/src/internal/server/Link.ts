/** Owns the requests to a server: repeats them while it is away, also at another one of its cluster, and gives up after a while. */
import type * as SkeinClient from "@skein/client/SkeinClient"
import * as MonotonicClock from "@skein/core/MonotonicClock"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import type { BackendError } from "../../BackendError.ts"
import type { ServerOptions, ServerTarget } from "../../ServerOptions.ts"
import { type Connection, makeConnection } from "./connection.ts"
import { failure } from "./failure.ts"

/** How long a server may be unreachable, in milliseconds. By then it was restarted, or never will be. */
const usualPatience = 30_000

/** How long to wait before the next try, in milliseconds. */
const pace = 250

/** How often to look who is in the cluster, in milliseconds. */
const learningPace = 5_000

/**
 * A connection that lasted longer than this, in milliseconds, counts as established. A server that has just proved its
 * identity is certainly there; otherwise the time may have passed while connecting.
 */
const lasting = { proven: 1_000, unknown: 60_000 }

/** Whether a request may be repeated if it is unknown whether it arrived. One that waits for a turn waits longer. */
type Again = "may be sent again" | "is sent once" | "waits for a turn"

type Call = <A, E>(
  again: Again,
  use: (client: SkeinClient.SkeinClient) => Effect.Effect<A, E>
) => Effect.Effect<A, BackendError>

/** A connection to a server. */
export interface Link extends Pick<Connection, "isThere" | "silence" | "where"> {
  /**
   * Sends a request. If the server is unreachable, repeats it if that is allowed, also at another server of its cluster.
   * What waits for a turn waits while a server of the cluster runs, which may be continuing the turn, while a server
   * waits for its storage, after which it continues the turn, and while its server is only silent. A request to a server
   * that falls silent counts as lost, however long its answer may take.
   */
  readonly call: Call
  /** Learns until the scope closes which other servers are in the cluster. */
  readonly learning: Effect.Effect<void, never, Scope.Scope>
  /**
   * Finds the server again, or another one of its cluster; none while no server proves to have the token. Fails once it is
   * known that the server has another one.
   */
  readonly locate: Effect.Effect<Option.Option<SkeinClient.ClientOptions>, BackendError>
  /** How long a server may be unreachable, in milliseconds. */
  readonly patience: number
}

const gone = ({ url }: ServerTarget, patience: number, isCluster: boolean): BackendError =>
  failure(
    "ServerGone",
    `The server at ${url} has not answered for ${
      patience / 1000
    } s. Nothing that it stored is lost: start it again with `
      + `\`skein serve${isCluster ? " --cluster" : ""}\`, or continue without it.`
  )

const unsure = ({ url }: ServerTarget): BackendError =>
  failure(
    "ServerGone",
    `The connection to the server at ${url} broke before it answered. It may have been done. Check before you retry.`
  )

const makeCall = (
  { attempt, evade, isAnyThere, isCluster, lost, relocate, where }: Connection,
  { locate, patience }: { readonly locate: ServerOptions["locate"]; readonly patience: number }
): Call => {
  /** Whether a request has given up. Later ones check immediately whether the server is back. */
  let isGone = false
  return (again, use) =>
    Effect.gen(function*() {
      let lostAt: number | undefined
      let mayBeStale = locate !== undefined
      for (;;) {
        const began = yield* MonotonicClock.now
        const result = yield* attempt(use)
        if (Either.isRight(result)) {
          isGone = false
          return result.right
        }
        const failed = result.left
        if ("storageAway" in failed) {
          if (again !== "waits for a turn") return yield* Effect.fail(failed.storageAway)
          lostAt = undefined
          yield* evade
          yield* Effect.sleep(pace)
          continue
        }
        if (!("loss" in failed)) {
          if (!mayBeStale || failed._tag !== "ServerRefused") return yield* Effect.fail(failed)
          // A new server may have a new token as well.
          mayBeStale = false
          if (!(yield* relocate)) return yield* Effect.fail(failed)
          continue
        }
        lost()
        if (failed.isFinal === true && failed.error !== undefined) return yield* Effect.fail(failed.error)
        if (again === "is sent once" && !failed.loss.isUnsent) return yield* Effect.fail(unsure(where()))
        const now = yield* MonotonicClock.now
        const least = failed.isReached === true ? lasting.proven : lasting.unknown
        if (lostAt === undefined || now - began > least) lostAt = now
        else if (isGone || now - lostAt >= patience) {
          // A server that answers is there. Without one, the turn may be answered while anybody can work on it.
          const isAnswered = failed.error !== undefined
          const isWaiting = again === "waits for a turn" && !isAnswered
          const mayWait = isWaiting && (failed.isSilent === true || (yield* isAnyThere))
          isGone = !mayWait && !isAnswered
          if (!mayWait) return yield* Effect.fail(failed.error ?? gone(where(), patience, isCluster()))
        }
        yield* Effect.sleep(pace)
      }
    })
}

/** How long the first firstLearnTimeout may hold up who wants to learn. */
const firstLearnTimeout = "2 seconds"

/** Does it now, and again until the scope closes. */
const kept = (learn: Effect.Effect<void>): Effect.Effect<void, never, Scope.Scope> =>
  Effect.gen(function*() {
    const first = yield* Effect.forkScoped(learn)
    yield* Effect.forkScoped(Effect.repeat(Effect.delay(learn, learningPace), Schedule.forever))
    yield* Effect.timeoutOption(Fiber.join(first), firstLearnTimeout)
  })

/** Makes it. */
export const makeLink = Effect.fnUntraced(function*(options: ServerOptions) {
  const { locate, patience = usualPatience } = options
  const connection = yield* makeConnection(options)
  const { isThere, learn, refusal, relocate, silence, where } = connection
  const call = makeCall(connection, { locate, patience })
  const learning = kept(learn)
  return {
    where,
    call: (again, use) =>
      again === "waits for a turn" ? Effect.scoped(Effect.zipRight(learning, call(again, use))) : call(again, use),
    learning,
    isThere,
    silence,
    locate: Effect.flatMap(relocate, (isFound) =>
      isFound ? Effect.succeedSome(where()) : Effect.flatMap(
        refusal,
        Option.match({ onNone: () => Effect.succeedNone, onSome: (error) => Effect.fail(error) })
      )),
    patience
  } satisfies Link
})
