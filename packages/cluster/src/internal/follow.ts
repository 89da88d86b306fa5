/** Sends a request about a tree to where the tree is, also while it moves. */
import type { SessionID } from "@skein/domain/Id"
import * as Effect from "effect/Effect"
import type { ServerResponse } from "node:http"
import type { Cluster } from "../Cluster.ts"
import { type Outcome, relay, type Sent } from "./exchange.ts"
import { isRepeatable, refuse } from "./requests.ts"

/** How often to look whether a tree has moved while a runner is asked. */
const pace = "1 second"

/** How long to wait before a request is sent once more. */
const pause = "200 millis"

/** How often a request is sent at most: a takeover needs some seconds. */
const most = 100

/** Makes the function that sends requests on until they are answered. */
export const makeFollow = (cluster: typeof Cluster.Service, signatureOf: (sent: Sent) => string) => {
  /**
   * Ends when a tree is no longer with a runner. An answer that has begun continues while nobody else works in the tree. A
   * database that does not answer proves nothing.
   */
  const moved = (rootID: SessionID, target: string, response: ServerResponse): Effect.Effect<void> =>
    Effect.sleep(pace).pipe(
      Effect.zipRight(Effect.orElseSucceed(cluster.holder(rootID), () => target)),
      Effect.flatMap((holder) => {
        const present = holder ?? (response.headersSent ? target : cluster.url)
        return present === target ? moved(rootID, target, response) : Effect.void
      })
    )

  return Effect.fnUntraced(function*(rootID: SessionID, sent: Sent, response: ServerResponse) {
    for (let time = 0; time < most; time++) {
      const target = (yield* cluster.holder(rootID)) ?? cluster.url
      const outcome = yield* Effect.raceFirst(
        relay(target, sent, signatureOf(sent), response),
        Effect.as(moved(rootID, target, response), "broken" satisfies Outcome)
      )
      if (outcome === "answered") return
      // A client of events connects again, and continues after the last one that it got.
      if (response.headersSent) return void response.destroy()
      if (outcome === "broken" && !isRepeatable(sent)) {
        return refuse(
          response,
          503,
          "RunnerLost",
          "The server of this session went away. It is not known whether it did what you asked: look before you repeat it."
        )
      }
      yield* Effect.sleep(pause)
    }
    refuse(response, 503, "NoRunner", "No server could answer for this session. Try again in a moment.")
  })
}
