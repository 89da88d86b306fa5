/** Notices a runner that is there by the database, but answers nothing: it is frozen, or the network to it is cut. */
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as RcMap from "effect/RcMap"
import { request } from "node:http"

/** How long after an answer a runner is asked again whether it is there. */
const pace = "2 seconds"

/** How long it may take to say so. */
const patience = "2 seconds"

/** How often in a row it may stay silent. One that is frozen for longer than all of this loses its trees as well. */
const most = 3

/** Asks a runner, on a connection of its own, whether it answers anything. */
export const isThere = (url: string): Effect.Effect<boolean> =>
  Effect.async<boolean>((resume) => {
    const outgoing = request(new URL("/healthz", url), { agent: false })
    outgoing.on("error", () => resume(Effect.succeed(false)))
    outgoing.once("response", (incoming) => {
      incoming.resume()
      resume(Effect.succeed(true))
    })
    outgoing.end()
    return Effect.sync(() => outgoing.destroy())
  }).pipe(
    Effect.timeoutOption(patience),
    Effect.map(Option.getOrElse(() => false))
  )

/**
 * Makes what ends once a runner has been silent for too long. A runner is asked once for all who wait for it, as long as
 * somebody does.
 */
export const makeSilence = (isThereAt: (url: string) => Effect.Effect<boolean>) => {
  const silent = (url: string, misses = 0): Effect.Effect<void> =>
    misses === most
      ? Effect.void
      : Effect.flatMap(Effect.delay(isThereAt(url), pace), (is) => silent(url, is ? 0 : misses + 1))
  return Effect.map(
    RcMap.make({ lookup: (url: string) => Effect.forkScoped(silent(url)) }),
    (watched) => (url: string): Effect.Effect<void> =>
      Effect.scoped(Effect.flatMap(RcMap.get(watched, url), Fiber.join))
  )
}
