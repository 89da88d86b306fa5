/** Reads the present state of trees of sessions: what a front end shows before it follows the events. */
import type { SessionID } from "@skein/domain/Id"
import { isPersonPrompt, waitingOf } from "@skein/domain/InboxRow"
import { modeOf } from "@skein/domain/Mode"
import type { SessionInfo, SessionStatus } from "@skein/domain/SessionInfo"
import type { ListedSession, PendingAsk, ShownSession, TreeSnapshot } from "@skein/domain/TreeSnapshot"
import * as Effect from "effect/Effect"
import { Leases } from "./Leases.ts"
import { addressOf, holderOf } from "./Owner.ts"
import { Permission } from "./Permission.ts"
import { Question } from "./Question.ts"
import { Session } from "./Session.ts"
import { SessionStorage } from "./SessionStorage.ts"
import type { StorageError } from "./StorageError.ts"

const isOpen = ({ turn }: SessionInfo): boolean => turn !== undefined && turn.ended === undefined

/** What the sessions of a tree do in which another process works; undefined if none does. */
const elsewhere = (rootID: SessionID) =>
  Effect.map(Effect.flatMap(Leases, ({ other }) => other(rootID)), (owner) => {
    const url = owner === undefined ? undefined : addressOf(owner)
    return owner === undefined ? undefined : { type: "elsewhere", ...(url === undefined ? {} : { url }) } as const
  })

/** What a session does now; `other` says what it does if another process works in its tree, and is asked only then. */
const statusOf = Effect.fnUntraced(function*<E, R>(
  info: SessionInfo,
  other: Effect.Effect<SessionStatus | undefined, E, R>
) {
  const status = yield* Effect.flatMap(Session, (session) => session.status(info.id))
  if (status.type !== "idle" || !isOpen(info)) return status
  return (yield* other) ?? status
})

const withStatus = (info: SessionInfo, status: SessionStatus): ListedSession => ({
  ...info,
  ...(info.parentID === undefined ? { mode: modeOf(info) } : {}),
  status
})

/** A session with what it does now, and a root with its mode, also where that is the usual one. */
export const listed = (info: SessionInfo): Effect.Effect<ListedSession, StorageError, Leases | Session> =>
  Effect.map(statusOf(info, elsewhere(info.rootID)), (status) => withStatus(info, status))

/** The same with who holds its tree. */
export const shown = (info: SessionInfo): Effect.Effect<ShownSession, StorageError, Leases | Session> =>
  Effect.zipWith(
    listed(info),
    Effect.flatMap(Leases, ({ holder }) => holder(info.rootID)),
    (session, owner) => owner === undefined ? session : { ...session, holder: holderOf(owner) }
  )

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
  const other = yield* Effect.cached(elsewhere(rootID))
  const sessions = rows.toSorted((a, b) => a.depth - b.depth || (a.id < b.id ? -1 : 1))
  return {
    rootID,
    seq,
    sessions: yield* Effect.forEach(
      sessions,
      (info) => Effect.map(statusOf(info, other), (status) => withStatus(info, status))
    ),
    tasks: (yield* storage.runs({ rootID })).rows,
    asks: yield* pendingAsks(rootID),
    waiting: (yield* storage.inbox(rootID)).rows.filter(isPersonPrompt).map(waitingOf)
  } satisfies TreeSnapshot
})
