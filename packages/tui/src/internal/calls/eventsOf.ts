/** Tells a stored message as if it had just been said. */
import type { Event } from "@skein/domain/Event"
import type { MessageWithParts } from "@skein/domain/Part"
import type { SessionInfo } from "@skein/domain/SessionInfo"

/** The events of a message. */
export const eventsOf = (
  { info, parts }: MessageWithParts,
  session: Pick<SessionInfo, "depth" | "id" | "rootID">
): ReadonlyArray<Event> => {
  const base = {
    id: "evt_0" as Event["id"],
    timestamp: info.time.created,
    sessionID: session.id,
    rootID: session.rootID,
    depth: session.depth
  }
  return [
    { ...base, type: "message.updated", properties: { info } },
    ...parts.map((part): Event => ({ ...base, type: "message.part.updated", properties: { part } }))
  ]
}
