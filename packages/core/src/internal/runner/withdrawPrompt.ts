/** Withdraws a prompt that no agent has read: either it is withdrawn, or a turn has it. */
import type { MessageID } from "@skein/domain/Id"
import { textOfRow } from "@skein/domain/InboxRow"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { Journal } from "../../Journal.ts"
import { SessionStopped, type Withdrawal } from "../../Turn.ts"
import { noLongerWaiting } from "../live/inboxChanged.ts"
import type { Live } from "../live/Live.ts"

const gone: Withdrawal = { status: "gone" }

/** Withdraws it. Both who takes the inbox and who withdraws from it first change it in memory, in one step. */
export const withdrawPrompt = Effect.fnUntraced(function*(live: Live, id: MessageID) {
  // A loop that has just begun was started for what it finds: nothing of it may be missing.
  if (live.running !== undefined && !live.hasOpenTurn) return gone
  const row = live.inbox.withdraw(id)
  if (row === undefined) return gone
  const journal = yield* Journal
  const at = yield* Clock.currentTimeMillis
  const told = noLongerWaiting(journal, live, [id])
  yield* Effect.tapError(
    journal.commit([{ _tag: "InboxTaken", id, sessionID: live.info.id, at }, ...told], live.info),
    () => Effect.sync(() => live.inbox.restore(row))
  )
  const waiter = live.running?.waiters.get(id)
  live.running?.waiters.delete(id)
  if (waiter !== undefined) {
    const message = `The prompt ${id} was withdrawn before an agent read it.`
    Deferred.unsafeDone(waiter, Exit.fail(new SessionStopped({ id: live.info.id, message })))
  }
  return { status: "withdrawn", text: textOfRow(row) } satisfies Withdrawal
}, Effect.uninterruptible)
