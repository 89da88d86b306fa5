/** Says where and since when a person is asked, and finds what a process that has ended asked about a call, and the answer. */
import type { Event, EventProperties, PermissionRequest } from "@skein/domain/Event"
import type { PartID, SessionID } from "@skein/domain/Id"
import * as Clock from "effect/Clock"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { SessionStorage } from "../../SessionStorage.ts"
import type { PermissionAsk } from "../../Tool.ts"

/** A question, and its answer if there is one. */
interface AskedBefore {
  readonly request: PermissionRequest
  /** When it was asked (ms). */
  readonly at: number
  readonly answer: EventProperties<"permission.replied"> | undefined
}

const isOf = (partID: PartID, ask: PermissionAsk) => (event: Event): boolean =>
  event.type === "permission.asked" && event.properties.partID === partID
  && event.properties.permission === ask.permission
  && JSON.stringify(event.properties.patterns) === JSON.stringify(ask.patterns)

/** The question that the event log has for exactly this. */
export const askedBefore = Effect.fnUntraced(function*(
  rootID: PermissionRequest["rootID"],
  partID: PartID,
  ask: PermissionAsk
) {
  const storage = yield* SessionStorage
  const logged = yield* storage.events({ after: 0, rootID, types: ["permission.asked", "permission.replied"] })
  const events = logged.map(({ event }) => event)
  const asked = events.find(isOf(partID, ask))
  if (asked?.type !== "permission.asked") return undefined
  const request = asked.properties
  const answers = events.flatMap((event) =>
    event.type === "permission.replied" && event.properties.id === request.id ? [event.properties] : []
  )
  return { request, at: asked.timestamp, answer: answers.at(-1) } satisfies AskedBefore
})

/** What a person needs to know of a session that asks now. */
export const askedIn = Effect.fnUntraced(function*(
  storage: Context.Tag.Service<SessionStorage>,
  sessionID: SessionID,
  rootID: SessionID
) {
  const since = yield* Clock.currentTimeMillis
  const root = Option.getOrUndefined(yield* storage.session(rootID))
  const session = sessionID === rootID ? root : Option.getOrUndefined(yield* storage.session(sessionID))
  return {
    ...(root === undefined ? {} : { title: root.title }),
    ...(session?.parentID === undefined ? {} : { description: session.title.replace(/ \(@\S+ subagent\)$/, "") }),
    ...(session === undefined ? {} : { directory: session.directory }),
    ...(session?.worktree === undefined ? {} : { worktree: session.worktree.root }),
    since
  }
})
