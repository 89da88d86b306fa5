/**
 * Streams the events of one tree, or of all: replays what is stored, then continues live without gaps or duplicates.
 */
import { problem } from "@skein/api/Problem"
import { Session } from "@skein/core/Session"
import { type LoggedEvent, SessionStorage } from "@skein/core/SessionStorage"
import type { StorageError } from "@skein/core/StorageError"
import type { SessionID } from "@skein/domain/Id"
import * as Effect from "effect/Effect"
import type { ServerResponse } from "node:http"
import { EventClient } from "./EventClient.ts"
import { cursorOf, frameOf, positionOf, resetFrame, type ResetReason } from "./frames.ts"
import { readStored } from "./readStored.ts"
import { statusEvent, statusOf } from "./statuses.ts"
import type { TreeFeed } from "./TreeFeed.ts"

/** The differences between the events of one tree and those of all. */
export interface Numbering {
  readonly rootID?: SessionID
  /** The text of a position. */
  readonly write: (place: number) => string
  /** The position of a text; undefined if it is none. */
  readonly read: (text: string) => number | undefined
  readonly placeOf: (logged: Pick<LoggedEvent, "position" | "seq">) => number
}

/** Positions in the events of a tree: their `seq`. */
export const byTree = (rootID: SessionID): Numbering => ({
  rootID,
  write: String,
  read: (text) => /^\d{1,15}$/.test(text) ? Number(text) : undefined,
  placeOf: ({ seq }) => seq
})

/** Positions in the events of all trees: opaque. */
export const byLog: Numbering = { write: cursorOf, read: positionOf, placeOf: ({ position }) => position }

/** Where a client wants to begin. */
export interface Wanted {
  readonly from: string | undefined
  /** Overrides `from`, because a browser that reconnects sends both. */
  readonly lastEventID: string | undefined
}

type Begin =
  | { readonly _tag: "Live" }
  | { readonly _tag: "After"; readonly place: number }
  | { readonly _tag: "Reset"; readonly reason: ResetReason }

const badPlace = problem(
  400,
  "BadPlace",
  "`from` is not the id of an event. Leave it out, or send an id that you got."
)

const beginAt = (
  { from, lastEventID }: Wanted,
  { read }: Numbering,
  { first, last }: { readonly first: number; readonly last: number }
): Begin | typeof badPlace => {
  const text = lastEventID === undefined || lastEventID === "" ? from : lastEventID
  if (text === undefined) return { _tag: "Live" }
  const place = read(text)
  if (place === undefined && text === from) return badPlace
  if (place === undefined || place > last) return { _tag: "Reset", reason: "unknown" }
  return place + 1 < first ? { _tag: "Reset", reason: "too_old" } : { _tag: "After", place }
}

interface Place {
  at: number
}

/** Sends a client a page of stored events, up to those that the live clients have. Later ones arrive live. */
const replayPage = (
  client: EventClient,
  feed: TreeFeed,
  { placeOf, rootID, write }: Numbering,
  place: Place
): Effect.Effect<void, StorageError, SessionStorage> =>
  Effect.gen(function*() {
    const storage = yield* SessionStorage
    const target = feed.position()
    const { isLast, rows } = yield* readStored(storage, {
      after: place.at,
      ...(rootID === undefined ? {} : { rootID })
    })
    for (const row of rows) {
      if (placeOf(row) > feed.position()) break
      place.at = placeOf(row)
      const id = write(place.at)
      const { event, seq } = row
      client.replay(event === undefined ? resetFrame("unreadable", id) : frameOf({ ...event, seq }, id), id)
      if (client.isFull) yield* client.drained
    }
    if (isLast) place.at = Math.max(place.at, target)
  })

/** Replays until the client has as much as the live ones, and makes it live in the same moment. */
const replay = (
  client: EventClient,
  feed: TreeFeed,
  numbering: Numbering,
  place: Place
): Effect.Effect<void, StorageError, SessionStorage> =>
  Effect.suspend(() => {
    if (client.isOver) return Effect.void
    if (place.at < feed.position()) {
      return Effect.zipRight(replayPage(client, feed, numbering, place), replay(client, feed, numbering, place))
    }
    feed.join(client)
    return Effect.void
  })

/**
 * Sends a client what the sessions at work do: a status is not stored, so a client would miss one that changed after it read
 * its snapshot. Events that are stored say that a session rests.
 */
const tellStatuses = Effect.fnUntraced(function*(client: EventClient, rootID: SessionID | undefined) {
  const sessions = yield* Session
  const told = yield* Effect.forEach(sessions.atWork(rootID), ({ info, status }) => statusEvent(info, status))
  for (const event of told) client.replay(frameOf(event))
  if (rootID === undefined || told.some(({ sessionID }) => sessionID === rootID)) return
  const status = yield* statusOf(rootID)
  if (status === undefined || status.type === "idle") return
  client.send(frameOf(yield* statusEvent({ id: rootID, rootID, depth: 0 }, status)))
})

/** Sends a client what it has missed, and makes it live. Returns the cleanup for when the client disconnects. */
export const follow = Effect.fnUntraced(function*(
  response: ServerResponse,
  feed: TreeFeed,
  numbering: Numbering,
  wanted: Wanted
) {
  const storage = yield* SessionStorage
  const range = yield* storage.eventRange(numbering.rootID)
  const begin = beginAt(wanted, numbering, range)
  if ("status" in begin) return yield* Effect.fail(begin)
  // The server leaves, and has refused the request meanwhile.
  if (response.headersSent) return () => undefined
  const place: Place = { at: begin._tag === "After" ? begin.place : feed.position() }
  const client = new EventClient(response, numbering.write(place.at))
  if (begin._tag === "Reset") client.replay(resetFrame(begin.reason, numbering.write(place.at)))
  yield* replay(client, feed, numbering, place)
  yield* tellStatuses(client, numbering.rootID)
  return () => feed.leave(client)
})
