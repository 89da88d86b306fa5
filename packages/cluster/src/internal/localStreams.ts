/**
 * Cuts streams of events that are sent from here once their tree is on another runner. Their clients come back, and get
 * them from there: text arrives as it is written, and not only what is stored.
 */
import type { SessionID } from "@skein/domain/Id"
import * as Effect from "effect/Effect"
import type { ServerResponse } from "node:http"
import type { Cluster } from "../Cluster.ts"

/** How often to look where the trees are. */
const pace = "500 millis"

/** Makes the function that adds a stream, and looks until the scope closes. */
export const makeLocalStreams = (cluster: Pick<typeof Cluster.Service, "holder" | "url">) =>
  Effect.gen(function*() {
    const open = new Map<SessionID, Set<ServerResponse>>()

    const look = (rootID: SessionID, streams: ReadonlySet<ServerResponse>) =>
      Effect.map(
        // A database that does not answer proves nothing.
        Effect.orElseSucceed(cluster.holder(rootID), () => undefined),
        (holder) => {
          if (holder === undefined || holder === cluster.url) return
          for (const stream of streams) stream.destroy()
        }
      )
    const all = Effect.suspend(() => Effect.forEach([...open], ([rootID, streams]) => look(rootID, streams)))
    yield* Effect.forkScoped(Effect.forever(Effect.zipRight(Effect.sleep(pace), all)))

    return (rootID: SessionID, response: ServerResponse): void => {
      const streams = open.get(rootID) ?? new Set()
      open.set(rootID, streams.add(response))
      response.once("close", () => {
        streams.delete(response)
        if (streams.size === 0 && open.get(rootID) === streams) open.delete(rootID)
      })
    }
  })
