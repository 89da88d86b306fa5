/**
 * Owns what the routes share: logins, running prompts, the order in which requests store something, and whether the
 * server has to end.
 */
import type { Pruned } from "@skein/api/Output"
import type { Problem } from "@skein/api/Problem"
import { FairSemaphore } from "@skein/core/Fibers"
import type { BegunPrompt } from "@skein/core/PersonPrompt"
import type { MessageID } from "@skein/domain/Id"
import * as Context from "effect/Context"
import type * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type * as Scope from "effect/Scope"
import type { IncomingMessage } from "node:http"
import type { ServerOptions } from "../ServerOptions.ts"
import type { Addresses } from "./addresses.ts"
import type { Logins } from "./login/Logins.ts"

/** How many are taken in at once: enough to keep the storage busy. */
const most = 16

/** A request that takes longer waits for something else, such as a hook or another server. It does not count any more. */
const patience = "5 seconds"

/**
 * Requests stay in until they end. If a thousand of them were at work at once, each would end last, and later than its client
 * waits. Then all of that work would be for nothing.
 */
export class Intake {
  readonly #free = new FairSemaphore(most)

  /** Runs an effect once it is in. */
  readonly enter = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.uninterruptibleMask((restore) =>
      Effect.gen(this, function*() {
        yield* this.#free.take(restore)
        let isIn = true
        const leave = Effect.suspend(() => {
          if (!isIn) return Effect.void
          isIn = false
          return this.#free.release
        })
        const late = yield* Effect.fork(Effect.interruptible(Effect.zipRight(Effect.sleep(patience), leave)))
        return yield* Effect.ensuring(restore(effect), Effect.zipRight(Fiber.interruptFork(late), leave))
      })
    )
}

/** A request to remove old data that had a key, and its answer. */
interface PruneUnderKey {
  readonly content: string
  /** In milliseconds since 1970. */
  readonly begun: number
  readonly answer: Deferred.Deferred<typeof Pruned.Type, Problem>
}

/** What the routes share. */
export class ServerState extends Context.Tag("@skein/server/internal/ServerState")<ServerState, {
  readonly options: ServerOptions
  readonly logins: Logins
  /** Whether a request carries the token, rather than only a login. */
  readonly hasToken: (request: IncomingMessage) => boolean
  /** The server's own addresses. */
  readonly addresses: Addresses
  /** When the server started, in milliseconds since 1970. */
  readonly started: number
  /** Lives as long as the server. Work that outlives its request runs in it. */
  readonly scope: Scope.Scope
  /** The prompts that are being answered. */
  readonly turns: Map<MessageID, BegunPrompt["turn"]>
  /** Admits one archive at a time. */
  readonly imports: Effect.Semaphore
  /** Takes in what is to be stored. */
  readonly intake: Intake
  /** The keys of prompts that are being stored. */
  readonly storing: Map<string, Deferred.Deferred<void>>
  /** The requests to remove old data that had a key, until they are a day old. */
  readonly prunes: Map<string, PruneUnderKey>
  /** Ends the server. */
  readonly shutdown: Effect.Effect<void>
}>() {}
