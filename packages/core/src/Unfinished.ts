/** Decides whether a session has something left to do. */
import type { InboxRow } from "@skein/domain/InboxRow"
import type { SessionInfo } from "@skein/domain/SessionInfo"

/** Whether a turn is open, or being stopped. */
export const hasOpenTurn = ({ turn }: Pick<SessionInfo, "turn">): boolean =>
  turn !== undefined && (turn.ended === undefined || turn.ended.unclosed === true)

/** Whether an inbox row starts the loop: notes never do, and notifications do not wake a stopped session. */
export const wantsAnswer = ({ turn }: Pick<SessionInfo, "turn">, kinds: Iterable<InboxRow["kind"]>): boolean => {
  const wasStopped = turn?.ended?.how === "stopped"
  for (const kind of kinds) {
    if (kind === "prompt" || kind === "steer" || (kind === "notification" && !wasStopped)) return true
  }
  return false
}
