/** Notices a server that says nothing although its connections are open: it is frozen, or the network to it is cut. */
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as RcMap from "effect/RcMap"
import type * as Scope from "effect/Scope"

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
