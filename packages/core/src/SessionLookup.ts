/**
 * Finds the stored sessions, tasks and trees that people and programs ask for, and reads the present state of trees: what a front
 * end shows before it follows the events. Text that is no id is not found.
 */
import { RunID, SessionID } from "@skein/domain/Id"
import { isPersonPrompt, waitingOf } from "@skein/domain/InboxRow"
import { modeOf } from "@skein/domain/Mode"
import { reason, type TaskRun, withoutTerms } from "@skein/domain/Outcome"
import type { SessionInfo, SessionStatus } from "@skein/domain/SessionInfo"
import type { ListedSession, PendingAsk, ShownSession, TreePage } from "@skein/domain/TreeSnapshot"
import { groupBy } from "effect/Array"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { asksElsewhere } from "./Control.ts"
import { answerOf } from "./internal/conversation/makePrompt.ts"
import { Leases } from "./Leases.ts"
import { addressOf, holderOf } from "./Owner.ts"
import { largestPage, listCursor, numberKey, type Page, pageOf, type Paging, usualPage } from "./Page.ts"
import { Permission } from "./Permission.ts"
import { Question } from "./Question.ts"
import { Session } from "./Session.ts"
import { isOver, SessionStorage } from "./SessionStorage.ts"
import type { StorageError } from "./StorageError.ts"
import { messagesPage } from "./StorageFilter.ts"
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

const rootCursor = listCursor(Schema.Struct({ updated: Schema.Number, id: SessionID }))

/** A page of the root sessions, latest change first, each with whether anything in its tree runs or was interrupted. */
export const rootSessions = Effect.fnUntraced(function*(
  projectID: string | undefined,
  { cursor, limit = usualPage }: Paging
) {
  const storage = yield* SessionStorage
  const after = yield* rootCursor.read(cursor)
  const { rows } = yield* storage.sessions({
    roots: true,
    limit: limit + 1,
    ...(after === undefined ? {} : { after }),
    ...(projectID === undefined ? {} : { projectID })
  })
  const unfinished = new Set(yield* storage.unfinished)
  const items = yield* Effect.forEach(
    rows.slice(0, limit),
    (info) => Effect.map(listed(info), (session) => ({ ...session, unfinished: unfinished.has(info.id) }))
  )
  const last = items.at(-1)
  return rows.length > limit && last !== undefined
    ? { items, next: rootCursor.write({ updated: last.time.updated, id: last.id }) }
    : { items }
})

/** A page of the sessions directly below one, oldest first. */
export const childrenOf = Effect.fnUntraced(function*(id: string, paging: Paging) {
  const parent = yield* findSession(id)
  const rows = yield* Effect.flatMap(Session, (session) => session.children(parent.id))
  const page = yield* pageOf(rows, paging, (session) => session.id)
  return { ...page, items: yield* Effect.forEach(page.items, listed) }
})

/** A page of the runs in the tree of a session, oldest first. */
export const runsBelow = Effect.fnUntraced(function*(id: string, paging: Paging) {
  const storage = yield* SessionStorage
  const { rootID } = yield* findSession(id)
  const { rows } = yield* storage.runs({ rootID })
  return yield* pageOf(rows.map(withoutTerms), paging, (run) => run.id)
})

const runCursor = listCursor(Schema.Struct({ before: RunID }))

/** A page of the runs of all sessions, newest first. */
export const newestRuns = Effect.fnUntraced(function*({ cursor, limit = usualPage }: Paging) {
  const storage = yield* SessionStorage
  const before = (yield* runCursor.read(cursor))?.before
  const { rows } = yield* storage.runs({ newest: { limit: limit + 1, before } })
  const items = rows.toReversed().slice(0, limit).map(withoutTerms)
  const last = items.at(-1)
  return rows.length > limit && last !== undefined ? { items, next: runCursor.write({ before: last.id }) } : { items }
})

/** A page of the approvals of a project, oldest first: all, or those that apply to the tree of a session. */
export const approvalsOf = Effect.fnUntraced(function*(projectID: string, session: string | undefined, paging: Paging) {
  const rootID = session === undefined ? undefined : (yield* findSession(session)).rootID
  const approvals = yield* Permission.approvals(projectID, rootID)
  return yield* pageOf(approvals, paging, ({ created, id }) => `${numberKey(created)} ${id}`)
})

/** The order of questions: those for permission first, each kind oldest first. */
export const askKey = ({ id, type }: { readonly id: string; readonly type: string }): string => `${type} ${id}`

/** A page of the questions that wait, of the tree of a session or of all. */
export const asksOf = Effect.fnUntraced(function*(session: string | undefined, paging: Paging) {
  const rootID = session === undefined ? undefined : (yield* findSession(session)).rootID
  return yield* pageOf(yield* pendingAsks(rootID), paging, askKey)
})

/**
 * The questions that wait, of one tree or of all, those of other processes included: those for permission first, each kind oldest
 * first.
 */
const pendingAsks = Effect.fnUntraced(function*(rootID?: SessionID) {
  const permissions = yield* Effect.flatMap(Permission, (permission) => permission.pending(rootID))
  const questions = yield* Effect.flatMap(Question, (question) => question.pending(rootID))
  const asks: ReadonlyArray<PendingAsk> = [
    ...permissions.map((each): PendingAsk => ({ type: "permission", ...each })),
    ...questions.map((each): PendingAsk => ({ type: "question", ...each })),
    ...(yield* asksElsewhere(rootID))
  ]
  return asks.toSorted((a, b) => askKey(a) < askKey(b) ? -1 : 1)
})

/** How much a snapshot shows of a conclusion, in characters. */
const longestConclusion = 200

const short = (text: string): string => text.slice(0, longestConclusion).toWellFormed()

/** How the work of a session ended, which is a task if there is a run of it. */
const endOf = Effect.fnUntraced(function*({ id, turn }: SessionInfo, run: TaskRun | undefined) {
  if (run !== undefined) {
    const { outcome } = run
    return outcome === undefined ? {} : { conclusion: short(outcome.text), cause: short(reason(outcome)) }
  }
  const ended = turn?.ended
  if (ended === undefined) return {}
  const [last] = (yield* (yield* SessionStorage).messagePage(id, { ...messagesPage, limit: 1 })).rows
  return {
    conclusion: last?.info.role === "assistant" ? short(answerOf(last.parts)) : "",
    cause: short(ended.error?.message ?? (ended.how === "completed" ? "" : endsOf[ended.how]))
  }
})

const endsOf = {
  failed: "It failed.",
  stopped: "It was stopped.",
  denied: "A request for permission was rejected.",
  steps: "It reached its limit of steps."
} as const

/** The order of the sessions of a tree: each before those below it. */
export const treeKey = ({ depth, id }: Pick<SessionInfo, "depth" | "id">): string => `${numberKey(depth)} ${id}`

/** A session of a tree, with what belongs to it. */
interface TreeItem {
  readonly info: SessionInfo
  readonly tasks: ReadonlyArray<TaskRun>
  readonly asks: ReadonlyArray<PendingAsk>
}

const itemKey = ({ info: { depth, id } }: TreeItem): string => treeKey({ depth, id })

const readTree = Effect.fnUntraced(function*<E>(
  rootID: SessionID,
  pick: (items: ReadonlyArray<TreeItem>) => Effect.Effect<Page<TreeItem>, E>
) {
  const storage = yield* SessionStorage
  const { last: seq } = yield* storage.eventRange(rootID)
  const { rows } = yield* storage.sessions({ rootID })
  const known = new Set(rows.map(({ id }) => id))
  const groupOf = (id: SessionID) => known.has(id) ? id : rootID
  const tasks = groupBy((yield* storage.runs({ rootID })).rows, ({ taskID }) => groupOf(taskID))
  const asks = groupBy(yield* pendingAsks(rootID), ({ sessionID }) => groupOf(sessionID))
  const { items, next } = yield* pick(
    rows.map((info) => ({ info, tasks: (tasks[info.id] ?? []).map(withoutTerms), asks: asks[info.id] ?? [] }))
  )
  const other = yield* Effect.cached(elsewhere(rootID))
  return {
    rootID,
    seq,
    sessions: yield* Effect.forEach(
      items,
      ({ info, tasks: own }) =>
        Effect.zipWith(statusOf(info, other), endOf(info, own.at(-1)), (status, { cause, conclusion }) => ({
          ...withStatus(info, status),
          ...(conclusion ? { conclusion } : {}),
          ...(cause ? { cause } : {})
        }))
    ),
    tasks: items.flatMap((each) => each.tasks).toSorted((a, b) => a.id < b.id ? -1 : 1),
    asks: items.flatMap((each) => each.asks).toSorted((a, b) => askKey(a) < askKey(b) ? -1 : 1),
    waiting: items.some(({ info }) => info.id === rootID)
      ? (yield* storage.inbox(rootID)).rows.filter(isPersonPrompt).map(waitingOf)
      : [],
    ...(next === undefined ? {} : { next })
  } satisfies TreePage
})

/** Reads the tree of a root. Events after its `seq` may already be in it, and do no harm when they come. */
export const snapshotOf = (rootID: SessionID) =>
  readTree(rootID, (items) => Effect.succeed({ items: items.toSorted((a, b) => itemKey(a) < itemKey(b) ? -1 : 1) }))

/** Reads a page of the sessions of a tree, with the runs and the questions of each. */
export const treePage = (rootID: SessionID, paging: Paging) =>
  readTree(rootID, (items) => pageOf(items, { limit: largestPage, ...paging }, itemKey))
