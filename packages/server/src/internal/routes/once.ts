/**
 * Carries out requests that store something, in the order in which they come. Those with a key are carried out once, even if
 * they arrive twice at the same time, at two servers of a database, or again after a restart.
 */
import { type Problem, problem } from "@skein/api/Problem"
import { SessionStorage } from "@skein/core/SessionStorage"
import type { Keyed, Receipt } from "@skein/core/Write"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FiberId from "effect/FiberId"
import * as Option from "effect/Option"
import { createHash } from "node:crypto"
import { ServerState } from "../ServerState.ts"
import { asProblem } from "./toProblem.ts"

/** A request, with its key if the client may repeat it. */
interface Sent {
  readonly key: string | undefined
  /** The contents and the path of the request. */
  readonly content: unknown
}

/** The answer to another request under a key. */
export const reused = problem(
  409,
  "IdempotencyKeyReused",
  "This Idempotency-Key was sent with another request within 24 hours. Make a new key for each request."
)

const receiptFor = Effect.fnUntraced(function*({ digest, key }: Keyed) {
  const storage = yield* SessionStorage
  const receipt = Option.getOrUndefined(yield* asProblem(storage.receipt(key)))
  if (receipt !== undefined && receipt.digest !== digest) return yield* Effect.fail(reused)
  return receipt
})

/** Waits until no other request with this key is running, and makes others wait meanwhile. */
const alone = <A, E, R>(key: string, effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R | ServerState> =>
  Effect.flatMap(ServerState, ({ storing }) => {
    const take: Effect.Effect<Deferred.Deferred<void>> = Effect.suspend(() => {
      const other = storing.get(key)
      // Only the waiting is interruptible: nobody would ever take a key out that was put in.
      if (other !== undefined) return Effect.zipRight(Effect.interruptible(Deferred.await(other)), take)
      const mine = Deferred.unsafeMake<void>(FiberId.none)
      storing.set(key, mine)
      return Effect.succeed(mine)
    })
    return Effect.acquireUseRelease(take, () => effect, (mine) =>
      Effect.sync(() => {
        storing.delete(key)
        Deferred.unsafeDone(mine, Exit.void)
      }))
  })

const taken = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.flatMap(ServerState, ({ intake }) => intake.enter(effect))

/**
 * Carries it out with `first`, which stores the receipt. If that was done before, `again` makes the answer from the
 * receipt.
 */
export const once = <A, E extends Problem, R, E2 extends Problem, R2>(
  { content, key }: Sent,
  first: (keyed: Keyed | undefined) => Effect.Effect<A, E, R>,
  again: (receipt: Receipt) => Effect.Effect<A, E2, R2>
): Effect.Effect<A, E | E2 | Problem, R | R2 | ServerState | SessionStorage> => {
  if (key === undefined) return taken(first(undefined))
  const keyed = { key, digest: createHash("sha256").update(JSON.stringify(content)).digest("hex") }
  /** Another server may have stored the receipt meanwhile. The database then refuses the second one, with all that is stored with it. */
  const orAgain = (error: E): Effect.Effect<A, E | E2 | Problem, R2 | SessionStorage> =>
    error.reason === "constraint"
      ? Effect.flatMap(
        receiptFor(keyed),
        (receipt): Effect.Effect<A, E | E2, R2> => receipt === undefined ? Effect.fail(error) : again(receipt)
      )
      : Effect.fail(error)
  return alone(
    key,
    taken(
      Effect.flatMap(
        receiptFor(keyed),
        (receipt): Effect.Effect<A, E | E2 | Problem, R | R2 | SessionStorage> =>
          receipt === undefined ? Effect.catchAll(first(keyed), orAgain) : again(receipt)
      )
    )
  )
}
