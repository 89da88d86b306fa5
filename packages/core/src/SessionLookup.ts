/**
 * Finds the stored sessions, tasks and trees that people and programs ask for, and reads the present state of trees: what a front
 * end shows before it follows the events. Text that is no id is not found.
 */
import { RunID, SessionID } from "@skein/domain/Id"
import { isPersonPrompt, waitingOf } from "@skein/domain/InboxRow"
import { modeOf } from "@skein/domain/Mode"
import type { SessionInfo, SessionStatus } from "@skein/domain/SessionInfo"
import type { ListedSession, PendingAsk, ShownSession, TreeSnapshot } from "@skein/domain/TreeSnapshot"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { asksElsewhere } from "./Control.ts"
import { Leases } from "./Leases.ts"
import { addressOf, holderOf } from "./Owner.ts"
import { Permission } from "./Permission.ts"
import { Question } from "./Question.ts"
import { Session } from "./Session.ts"
import { isOver, SessionStorage } from "./SessionStorage.ts"
import type { StorageError } from "./StorageError.ts"
import { type TaskName, TaskRefused } from "./TaskRequest.ts"
import { notFound } from "./Turn.ts"

/** How much of a wrong id an error repeats. */
const repeated = 100

const isSessionID = Schema.is(SessionID)
const isRunID = Schema.is(RunID)

/** The session of an id. */
export const findSession = Effect.fnUntraced(function*(id: string) {
  const storage = yield* SessionStorage
  const found = isSessionID(id) ? yield* storage.session(id) : Option.none()
  return Option.isSome(found) ? found.value : yield* notFound(id.slice(0, repeated))
})

const noTask = (id: string) =>
  new TaskRefused({ reason: "not_found", message: `There is no task ${id.slice(0, repeated)}. See \`skein tasks\`.` })

/** The task of an id, as a person names it. */
export const findTask = Effect.fnUntraced(function*(id: string) {
  const { id: taskID, parentID } = yield* Effect.catchTag(findSession(id), "SessionNotFound", () => noTask(id))
  return parentID === undefined ? yield* noTask(id) : { parentID, taskID, byUser: true } satisfies TaskName
})

/** The task of an id, which may also be that of one of its runs. */
export const findTaskOrRun = Effect.fnUntraced(function*(id: string) {
  if (!isRunID(id)) return yield* findTask(id)
  const storage = yield* SessionStorage
  const run = yield* storage.run(id)
  return yield* findTask(Option.isSome(run) ? run.value.taskID : yield* noTask(id))
})

/**
 * The trees that have not changed since then, each with its lease, which nobody holds. A tree with unsettled runs does
 * not rest: somebody may be at work in it, or resume it.
 */
export const restingTrees = Effect.fnUntraced(function*(since: number, projectID: string | undefined) {
  const store = yield* SessionStorage
  const found = yield* store.sessions({ roots: true, ...(projectID === undefined ? {} : { projectID }) })
  const old = found.rows.filter(({ time }) => time.updated < since)
  const resting = yield* Effect.filter(old, ({ id: rootID }) =>
    Effect.zipWith(
      store.sessions({ rootID }),
      store.runs({ rootID, unsettled: true }),
      (tree, runs) =>
        tree.unreadable.length + runs.rows.length + runs.unreadable.length === 0
        && tree.rows.every(({ time }) => time.updated < since)
    ))
  const free = yield* Effect.forEach(resting, (root) =>
    Effect.map(
      store.lease(root.id),
      Option.match({
        onNone: () => [],
        onSome: (lease) => lease.owner === undefined || isOver(lease) ? [{ root, found: lease }] : []
      })
    ))
  return free.flat()
})

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

/**
 * The questions that wait, of one tree or of all, those of other processes included: those for permission first, each kind oldest
 * first.
 */
export const pendingAsks = Effect.fnUntraced(function*(rootID?: SessionID) {
  const permissions = yield* Effect.flatMap(Permission, (permission) => permission.pending(rootID))
  const questions = yield* Effect.flatMap(Question, (question) => question.pending(rootID))
  const others = yield* asksElsewhere(rootID)
  const of = (kind: PendingAsk["type"]) => others.filter(({ type }) => type === kind)
  return [
    ...permissions.map((each): PendingAsk => ({ type: "permission", ...each })),
    ...of("permission"),
    ...questions.map((each): PendingAsk => ({ type: "question", ...each })),
    ...of("question")
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
