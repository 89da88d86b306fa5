/** Reads the present state of trees of sessions: what a front end shows before it follows the events. */
import type { SessionID } from "@skein/domain/Id"
import { isPersonPrompt, waitingOf } from "@skein/domain/InboxRow"
import { modeOf } from "@skein/domain/Mode"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import type { ListedSession, PendingAsk, TreeSnapshot } from "@skein/domain/TreeSnapshot"
import * as Effect from "effect/Effect"
import { Permission } from "./Permission.ts"
import { Question } from "./Question.ts"
import { Session } from "./Session.ts"
import { SessionStorage } from "./SessionStorage.ts"

/** A session with what it does now, and a root with its mode, also where that is the usual one. */
export const listed = (info: SessionInfo): Effect.Effect<ListedSession, never, Session> =>
  Effect.map(Effect.flatMap(Session, (session) => session.status(info.id)), (status) => ({
    ...info,
    ...(info.parentID === undefined ? { mode: modeOf(info) } : {}),
    status
  }))

/** The questions that wait, of one tree or of all: those for permission first, each kind oldest first. */
export const pendingAsks = Effect.fnUntraced(function*(rootID?: SessionID) {
  const permissions = yield* Effect.flatMap(Permission, (permission) => permission.pending(rootID))
  const questions = yield* Effect.flatMap(Question, (question) => question.pending(rootID))
  return [
    ...permissions.map((each): PendingAsk => ({ type: "permission", ...each })),
    ...questions.map((each): PendingAsk => ({ type: "question", ...each }))
  ]
})

/** Reads the tree of a root. Events after its `seq` may already be in it, and do no harm when they come. */
export const snapshotOf = Effect.fnUntraced(function*(rootID: SessionID) {
  const storage = yield* SessionStorage
  const { last: seq } = yield* storage.eventRange(rootID)
  const { rows } = yield* storage.sessions({ rootID })
  const sessions = rows.toSorted((a, b) => a.depth - b.depth || (a.id < b.id ? -1 : 1))
  return {
    rootID,
    seq,
    sessions: yield* Effect.forEach(sessions, listed),
    tasks: (yield* storage.runs({ rootID })).rows,
    asks: yield* pendingAsks(rootID),
    waiting: (yield* storage.inbox(rootID)).rows.filter(isPersonPrompt).map(waitingOf)
  } satisfies TreeSnapshot
})
