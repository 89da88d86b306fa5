/** Decides whether a session has something left to do. */
import type { SessionID } from "@skein/domain/Id"
import type { InboxRow } from "@skein/domain/InboxRow"
import type { SessionInfo } from "@skein/domain/SessionInfo"

/** Whether a turn is open, or being stopped. */
export const hasOpenTurn = ({ turn }: Pick<SessionInfo, "turn">): boolean =>
  turn !== undefined && (turn.ended === undefined || turn.ended.unclosed === true)

/** How often a session was stopped, directly and from above. */
export const stopsOf = (
  find: (id: SessionID) => Pick<SessionInfo, "parentID" | "stops"> | undefined,
  id: SessionID | undefined
): number => {
  const info = id === undefined ? undefined : find(id)
  return info === undefined ? 0 : (info.stops ?? 0) + stopsOf(find, info.parentID)
}

/** The stops that hold for inbox rows: those of the session and those above, and those above alone. */
export interface Stops {
  readonly all: number
  readonly above: number
}

/**
 * The stops that hold for a row of this kind. A task that ends early is stopped as well, and a message that it did not
 * read starts its next run. So only stops from above hold for a steer.
 */
export const stopsFor = (kind: InboxRow["kind"], { above, all }: Stops): number => kind === "steer" ? above : all

const starting = new Set<InboxRow["kind"]>(["prompt", "steer", "notification"])

/**
 * Whether an inbox row starts the loop after a crash, as it would have in the process that died. What was waiting at a
 * stop does not, whatever it is: it waits for the next prompt. The order is counted, because clocks cannot tell it. A row
 * of an older version has no count: any stop holds for it.
 */
export const startsLoop = (
  { turn }: Pick<SessionInfo, "turn">,
  { kind, stops: before }: Pick<InboxRow, "kind" | "stops">,
  stops: Stops
): boolean => {
  if (!starting.has(kind)) return false
  const now = stopsFor(kind, stops)
  return before === undefined ? now === 0 && turn?.ended?.how !== "stopped" : before >= now
}
