/** Says what trees do of which nothing but what is stored arrives here: another process works in them. */
import { Leases } from "@skein/core/Leases"
import { listed } from "@skein/core/SessionLookup"
import { SessionStorage } from "@skein/core/SessionStorage"
import type { Event } from "@skein/domain/Event"
import { Ids, type SessionID } from "@skein/domain/Id"
import type { SessionInfo, SessionStatus } from "@skein/domain/SessionInfo"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"

/** What a root does now, also if another process works in its tree; undefined if it is not stored. */
export const statusOf = Effect.fnUntraced(function*(rootID: SessionID) {
  const storage = yield* SessionStorage
  const info = Option.getOrUndefined(yield* storage.session(rootID))
  return info === undefined ? undefined : (yield* listed(info)).status
})

/** The event that tells the status of a session. */
export const statusEvent = Effect.fnUntraced(function*(
  { depth, id, rootID }: Pick<SessionInfo, "depth" | "id" | "rootID">,
  status: SessionStatus
) {
  const ids = yield* Ids
  const timestamp = yield* Clock.currentTimeMillis
  return {
    id: ids.unsafeMake("evt", timestamp),
    type: "session.status",
    timestamp,
    sessionID: id,
    rootID,
    depth,
    properties: { status }
  } satisfies Event
})

/** Makes what tells the clients of a feed which trees work elsewhere, and when that is over. */
export const makeElsewhere = (tell: (event: Event) => void) =>
  Effect.map(Leases, (leases) => {
    const told = new Set<SessionID>()
    const look = Effect.fnUntraced(function*(rootIDs: Iterable<SessionID>) {
      for (const rootID of rootIDs) {
        const status = leases.isUsed(rootID) ? undefined : yield* statusOf(rootID)
        const isElsewhere = status?.type === "elsewhere"
        if (isElsewhere === told.has(rootID)) continue
        if (isElsewhere) told.add(rootID)
        else told.delete(rootID)
        // What works here tells its own status.
        if (status !== undefined) tell(yield* statusEvent({ id: rootID, rootID, depth: 0 }, status))
      }
    })
    return {
      /** Looks at these trees. */
      look,
      /** Looks again at those that work elsewhere. */
      review: Effect.suspend(() => look([...told])),
      /** Notes what was stored: a client that saw the end of a turn gets the status of the next one. */
      see: ({ rootID, sessionID, type }: Event): void => {
        if (type === "session.idle" && sessionID === rootID) told.delete(rootID)
      }
    }
  })

/** What it takes to know statuses. */
export type Statuses = Effect.Effect.Context<ReturnType<typeof statusOf>> | Ids
