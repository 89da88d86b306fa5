/** A message of the runtime to the model: a user message that is marked as synthetic. */
import { Ids } from "@skein/domain/Id"
import type { UserMessage } from "@skein/domain/Message"
import type { TextPart } from "@skein/domain/Part"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { Journal } from "../../Journal.ts"
import type { Live } from "../live/Live.ts"

/** Adds such a message, with the settings of the user's last message. */
export const sayToModel = Effect.fnUntraced(function*(live: Live, before: UserMessage, text: string) {
  const ids = yield* Ids
  const journal = yield* Journal
  const now = yield* Clock.currentTimeMillis
  const info: UserMessage = { ...before, id: yield* ids.make("msg"), time: { created: now } }
  const part: TextPart = {
    id: yield* ids.make("prt"),
    sessionID: live.info.id,
    messageID: info.id,
    type: "text",
    text,
    synthetic: true
  }
  live.history.putPart(live.history.putMessage(info), part)
  yield* journal.commit([{ _tag: "Message", info }, { _tag: "Part", part }], live.info)
}, Effect.uninterruptible)
