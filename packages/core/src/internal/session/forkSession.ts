/** Starts another session with a copy of a conversation. */
import { open } from "@skein/domain/Budget"
import { Ids, type MessageID } from "@skein/domain/Id"
import type { MessageWithParts } from "@skein/domain/Part"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import { none } from "@skein/domain/Usage"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { Journal } from "../../Journal.ts"
import { anew, renameMessages } from "../../SessionArchive.ts"
import { ForkRefused } from "../../SessionError.ts"
import { orUnreadable, SessionStorage } from "../../SessionStorage.ts"
import type { ForkOptions } from "../../Turn.ts"
import type { Entry } from "../../Write.ts"
import { endAnswer, endCall } from "../conversation/closeTurn.ts"
import { snapshot } from "../live/History.ts"
import type { Live } from "../live/Live.ts"
import { SessionTable } from "../live/SessionTable.ts"
import { untitled } from "../summary/makeTitle.ts"

const messagesOf = Effect.fnUntraced(function*({ info: { id }, messages }: Live) {
  if (messages !== undefined) return messages.map(snapshot)
  const storage = yield* SessionStorage
  const { rows, unreadable } = yield* storage.messages(id)
  for (const row of unreadable) yield* Effect.logWarning(`${row.id} cannot be read and is not copied`, row.reason)
  return rows
})

/** The conversation up to a message, or all of it if you name none. */
const upTo = (live: Live, messages: ReadonlyArray<MessageWithParts>, messageID: MessageID | undefined) => {
  if (messageID === undefined) return Effect.succeed(messages)
  const at = messages.findIndex(({ info }) => info.id === messageID)
  const { id } = live.info
  return at >= 0 ? Effect.succeed(messages.slice(0, at + 1)) : new ForkRefused({
    id,
    reason: "unknown_message",
    message:
      `The session ${id} has no message ${messageID}. \`skein sessions show ${id} --format json\` shows those that it has.`
  })
}

const refuseAtWork = ({ info: { id }, running, tasks }: Live) =>
  running === undefined && tasks.size === 0 ? Effect.void : new ForkRefused({
    id,
    reason: "at_work",
    message: `The session ${id} is at work. Fork it when it is idle, or stop it first.`
  })

/** Closes what a crash left open: nothing continues in the copy. */
const closed = ({ info, parts }: MessageWithParts, now: number): MessageWithParts => ({
  info: info.role === "assistant" && info.time.completed === undefined ? endAnswer(info, { parts }, now) : info,
  parts: parts.map((part) =>
    part.type === "tool" && (part.state.status === "pending" || part.state.status === "running")
      ? endCall(part, false, now)
      : part
  )
})

/** The data of the fork: it keeps the original's settings, and none of its usage and state. */
const infoOf = (live: Live, id: SessionInfo["id"], now: number): SessionInfo => {
  const { asking: _, budget, stops: __, summary: ___, turn: ____, worktree: _____, workspace, ...kept } = live.info
  return {
    ...kept,
    ...(workspace === undefined ? {} : { workspace: { remote: workspace.remote, inside: workspace.inside } }),
    id,
    cachedAs: kept.cachedAs ?? kept.id,
    rootID: kept.parentID === undefined ? id : kept.rootID,
    // The worktree stays with the original: each task has its own.
    ...(live.parent === undefined ? {} : { directory: live.parent.info.directory }),
    title: kept.title === untitled ? untitled : `${kept.title} (fork)`,
    usage: { own: none, subtree: none },
    ...(budget === undefined ? {} : { budget: open(budget.limit, now) }),
    time: { created: now, updated: now }
  }
}

/** Stores the copy in one commit, and opens it. */
export const forkSession = Effect.fnUntraced(function*(live: Live, { messageID, receipt }: ForkOptions) {
  const table = yield* SessionTable
  const journal = yield* Journal
  const storage = yield* SessionStorage
  const ids = yield* Ids
  yield* refuseAtWork(live)
  const all = yield* messagesOf(live)
  const said = yield* upTo(live, all, messageID)
  const todos = said.length === all.length ? yield* orUnreadable(storage.todos(live.info.id), []) : []
  // It may have started to work while this was read.
  yield* refuseAtWork(live)
  const now = yield* Clock.currentTimeMillis
  const info = infoOf(live, ids.unsafeMake("ses", now), now)
  const names = { ...anew(ids, now), session: () => info.id }
  const copies = renameMessages(names, said.map((message) => closed(message, now)))
  yield* Effect.uninterruptible(Effect.zipRight(
    journal.commit(
      [
        { _tag: "Session", info, isNew: true },
        ...copies.flatMap(({ info: message, parts }): ReadonlyArray<Entry> => [
          { _tag: "Message", info: message },
          ...parts.map((part): Entry => ({ _tag: "Part", part }))
        ]),
        ...(receipt === undefined
          ? []
          : [{ _tag: "Receipt", receipt: { ...receipt, sessionID: info.id, result: info.id, created: now } } as const]),
        ...(todos.length === 0 ? [] : [{ _tag: "Todos", sessionID: info.id, todos } as const])
      ]
    ),
    // If its parent is being deleted, it goes too. It is stored even if the tree was lost right after that.
    live.parent !== undefined && live.parent.isLeaving ? Effect.void : Effect.option(table.add(info, live.parent))
  ))
  return info
})
