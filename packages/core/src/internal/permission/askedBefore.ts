/** Says where and since when a person is asked, and finds what a process that has ended asked about a call, and the answer. */
import type { Event, EventProperties, PermissionRequest } from "@skein/domain/Event"
import type { PartID, SessionID } from "@skein/domain/Id"
import type { PendingAsk } from "@skein/domain/TreeSnapshot"
import * as Clock from "effect/Clock"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { SessionStorage } from "../../SessionStorage.ts"
import type { StorageError } from "../../StorageError.ts"
import type { PermissionAsk } from "../../Tool.ts"

/** The events of questions. Storage has an index of exactly these. */
const types = ["permission.asked", "permission.replied", "question.asked", "question.replied"] as const

type AskEvent = Extract<Event, { readonly type: typeof types[number] }>

/** What the log of a tree has of its questions, in its order. */
export const askEvents = (rootID: SessionID): Effect.Effect<ReadonlyArray<AskEvent>, StorageError, SessionStorage> =>
  Effect.map(
    Effect.flatMap(SessionStorage, (storage) => storage.events({ after: 0, rootID, types })),
    (logged) => logged.map(({ event }) => event as AskEvent)
  )

/** The questions of a tree that its log has without an answer, and when each was asked (ms). */
export const openAsks = (rootID: SessionID) =>
  Effect.map(askEvents(rootID), (events) => {
    const open = new Map<string, { readonly ask: PendingAsk; readonly at: number }>()
    for (const { properties, timestamp: at, type } of events) {
      if (type === "permission.asked") open.set(properties.id, { ask: { type: "permission", ...properties }, at })
      else if (type === "question.asked") open.set(properties.id, { ask: { type: "question", ...properties }, at })
      else open.delete(properties.id)
    }
    return [...open.values()]
  })

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
  const events = yield* askEvents(rootID)
  const asked = events.find(isOf(partID, ask))
  if (asked?.type !== "permission.asked") return undefined
  const request = asked.properties
  const answers = events.flatMap((event) =>
    event.type === "permission.replied" && event.properties.id === request.id && event.properties.withdrawn !== true
      ? [event.properties]
      : []
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
