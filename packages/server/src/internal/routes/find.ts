/** Finds what the ids of requests mean; whatever is no id of ours is not found. */
import { Session } from "@skein/core/Session"
import { notFound } from "@skein/core/SessionError"
import { SessionStorage } from "@skein/core/SessionStorage"
import { SessionID } from "@skein/domain/Id"
import { modeOf } from "@skein/domain/Mode"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"

const isSessionID = Schema.is(SessionID)

/** The session of an id. */
export const findSession = Effect.fnUntraced(function*(id: string) {
  const storage = yield* SessionStorage
  const found = isSessionID(id) ? yield* storage.session(id) : Option.none()
  return Option.isSome(found) ? found.value : yield* notFound(id.slice(0, 100))
})

/** A session with what it does now, and a root with its mode, also where that is the usual one. */
export const listed = (info: SessionInfo) =>
  Effect.map(Effect.flatMap(Session, (session) => session.status(info.id)), (status) => ({
    ...info,
    ...(info.parentID === undefined ? { mode: modeOf(info) } : {}),
    status
  }))
