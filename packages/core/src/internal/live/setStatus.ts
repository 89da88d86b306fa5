/** Publishes what a session is doing, and remembers it. */
import type { SessionStatus } from "@skein/domain/SessionInfo"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { Journal } from "../../Journal.ts"
import type { Live } from "./Live.ts"

/** Publishes what a session is doing. */
export const setStatus = Effect.fnUntraced(function*(live: Live, status: SessionStatus) {
  const journal = yield* Journal
  const now = yield* Clock.currentTimeMillis
  live.report(status)
  journal.tell(live.info, "session.status", { status }, now)
})
