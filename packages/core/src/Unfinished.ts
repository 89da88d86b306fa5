/** Decides whether a session has something left to do. */
import type { InboxRow } from "@skein/domain/InboxRow"
import type { SessionInfo } from "@skein/domain/SessionInfo"

/** Whether a turn is open, or being stopped. */
export const hasOpenTurn = ({ turn }: Pick<SessionInfo, "turn">): boolean =>
  turn !== undefined && (turn.ended === undefined || turn.ended.unclosed === true)

/** What decides whether an inbox row starts the loop. Without a time it is taken as older than any stop. */
export type Waiting = Pick<InboxRow, "kind" | "after"> & Partial<Pick<InboxRow, "time">>

/**
 * Whether an inbox row starts the loop after a crash. Notes never do. A stop also holds for what was waiting then:
 * notifications, and prompts for after the turn.
 */
export const startsLoop = ({ turn }: Pick<SessionInfo, "turn">, { after, kind, time }: Waiting): boolean => {
  const stopped = turn?.ended?.how === "stopped" ? turn.ended.at : undefined
  if (kind === "notification") return stopped === undefined
  if (kind !== "prompt" && kind !== "steer") return false
  return after === undefined || stopped === undefined || (time !== undefined && time.created > stopped)
}
