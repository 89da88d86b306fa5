/** Implements the routes of sessions. */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import { Api } from "@skein/api/Api"
import type { ChangeSession, CreateSession, ForkSession, whichMessages } from "@skein/api/Input"
import type { Span } from "@skein/api/Output"
import { keyCursor, largestPage, listCursor, numberKey, pageCharacters, pageOf, type Paging } from "@skein/core/Page"
import { attended, restedTurn } from "@skein/core/PersonPrompt"
import { Session } from "@skein/core/Session"
import { childrenOf, findSession, listed, rootSessions, shown, treeKey, treePage } from "@skein/core/SessionLookup"
import { eachMessagePage, SessionStorage } from "@skein/core/SessionStorage"
import { messagesPage } from "@skein/core/StorageFilter"
import { MessageID, SessionID } from "@skein/domain/Id"
import type { TaskRun } from "@skein/domain/Outcome"
import { type SessionInfo, SessionSummary } from "@skein/domain/SessionInfo"
import { add, none, type Usage } from "@skein/domain/Usage"
import { historyOf } from "@skein/view/AgentNode"
import { Timeline } from "@skein/view/Timeline"
import { groupBy } from "effect/Array"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { ServerState } from "../ServerState.ts"
import { checkDirectory } from "./checkDirectory.ts"
import { once } from "./once.ts"
import { findMessage, shownTurn, submit, turnOf } from "./prompt.ts"
import { answeredBefore, noting } from "./reached.ts"
import { asProblem, ordered, type ServiceError } from "./toProblem.ts"

/** A session and those below it. */
const subtreeOf = (top: SessionInfo, sessions: ReadonlyArray<SessionInfo>): ReadonlyArray<SessionInfo> => {
  const known = new Set([top.id])
  return sessions.toSorted((a, b) => a.depth - b.depth).filter(({ id, parentID }) => {
    if (parentID !== undefined && known.has(parentID)) known.add(id)
    return known.has(id)
  })
}

const tokensOf = ({ tokens: { input, output } }: Usage): number => input + output

/** What a session and everything below it have used, in total and by agent. */
const costOf = Effect.fnUntraced(function*(id: string) {
  const storage = yield* SessionStorage
  const info = yield* asProblem(findSession(id))
  const { rows } = yield* asProblem(storage.sessions({ rootID: info.rootID }))
  const agents = Object.entries(groupBy(subtreeOf(info, rows), ({ agent }) => agent)).map(([agent, sessions]) => ({
    agent,
    sessions: sessions.length,
    usage: sessions.reduce((sum, { usage }) => add(sum, usage.own), none)
  }))
  return {
    ...info.usage,
    ...(info.budget === undefined ? {} : { budget: info.budget }),
    agents: agents.toSorted((a, b) => tokensOf(b.usage) - tokensOf(a.usage))
  }
})

/** How many sessions are read in parallel. */
const readers = 4

const waits = [
  "permission.asked",
  "permission.replied",
  "question.asked",
  "question.replied",
  "session.waited"
] as const

const spanOfQueue = ({ id, state, time }: TaskRun): ReadonlyArray<Span> => {
  const end = time.started ?? time.settled
  if (state !== "queued" && end === time.created) return []
  const start = time.created
  return [{ id: `slot-${id}`, kind: "slot", start, ...(end === undefined ? {} : { end }), label: "waits for a slot" }]
}

/** How many spans of an agent are on a page at once. */
const spansAtOnce = 500

/**
 * A page of the timeline of the tree that a session is in. Events after its `seq` may already be in it, and do no harm. Of the
 * messages, only those of the sessions on the page are read.
 */
const readTimeline = Effect.fnUntraced(function*(id: string, paging: Paging) {
  const storage = yield* SessionStorage
  const { rootID } = yield* findSession(id)
  const { last: seq } = yield* storage.eventRange(rootID)
  const { rows } = yield* storage.sessions({ rootID })
  const { rows: runs } = yield* storage.runs({ rootID })
  const timeline = new Timeline()
  for (const { event } of yield* storage.events({ after: 0, rootID, types: waits })) timeline.see(event)
  // A run that waited when its process died has stored no wait.
  for (const run of runs) {
    const isKnown = timeline.of(run.taskID).some(({ kind, start }) => kind === "slot" && start >= run.time.created)
    if (!isKnown) { for (const span of spanOfQueue(run)) timeline.put(run.taskID, span) }
  }
  const read = Effect.fnUntraced(function*(info: SessionInfo) {
    let history = historyOf(info.id, [])
    yield* eachMessagePage(info.id, (page) =>
      Effect.sync(() => {
        for (const message of page.rows) timeline.read(message.info, message.parts)
        const next = historyOf(info.id, page.rows)
        history = { ...history, ...next, calls: [...history.calls, ...next.calls] }
      }))
    const { status, time, turn } = yield* listed(info)
    timeline.now(info.id, status, turn?.began ?? time.created)
    const spans = timeline.of(info.id)
    return Array.from({ length: Math.max(1, Math.ceil(spans.length / spansAtOnce)) }, (_, at) => ({
      key: `${treeKey(info)} ${numberKey(at)}`,
      history: { ...history, spans: spans.slice(at * spansAtOnce, (at + 1) * spansAtOnce) }
    }))
  })
  const { limit = largestPage } = paging
  const after = (yield* keyCursor.read(paging.cursor))?.after ?? ""
  const waiting = rows.filter((info) => `${treeKey(info)} ~` > after).toSorted((a, b) =>
    treeKey(a) < treeKey(b) ? -1 : 1
  )
  const found: Array<Effect.Effect.Success<ReturnType<typeof read>>[number]> = []
  let size = 0
  while (waiting.length > 0 && found.length <= limit && size <= pageCharacters) {
    const parts = yield* Effect.forEach(waiting.splice(0, 4 * readers), read, { concurrency: readers })
    for (const part of parts.flat()) {
      if (part.key <= after) continue
      found.push(part)
      size += JSON.stringify(part).length
    }
  }
  const { items, next } = yield* pageOf(found, { ...paging, limit }, ({ key }) => key)
  // A page that ends with the last part that was read is followed by the sessions that were not.
  const more = next ?? (waiting.length === 0 ? undefined : keyCursor.write({ after: found.at(-1)?.key ?? "" }))
  return { rootID, seq, sessions: items.map(({ history }) => history), ...(more === undefined ? {} : { next: more }) }
})

const messageCursor = listCursor(Schema.Struct({ after: MessageID }))

/** The project whose sessions are listed; undefined for those of all. */
const listedProject = Effect.fnUntraced(function*(directory: string | undefined, projectID: string | undefined) {
  if (directory === undefined || projectID !== undefined) return projectID
  const { options } = yield* ServerState
  return yield* options.projectOf(yield* checkDirectory(directory))
})

const messages = Effect.fnUntraced(function*(
  id: string,
  { before, cursor, limit, newest }: typeof whichMessages.Type
) {
  const session = yield* Session
  const after = yield* asProblem(messageCursor.read(cursor))
  const info = yield* asProblem(findSession(id))
  const page = newest === undefined
    ? { ...messagesPage, after: after?.after ?? "", ...(limit === undefined ? {} : { limit }) } as const
    : { ...messagesPage, limit: newest, before }
  const { next, rows: items } = yield* asProblem(session.messagePage(info.id, page))
  if (next === undefined) return { items }
  return { items, next: newest === undefined ? messageCursor.write({ after: next }) : next }
})

const create = (payload: typeof CreateSession.Type, key: string | undefined) =>
  once(
    { key, content: ["create", payload] },
    Effect.fnUntraced(function*(receipt) {
      const session = yield* Session
      const { options } = yield* ServerState
      const { agent, directory, mode, model, title } = payload
      const place = yield* checkDirectory(directory)
      return yield* asProblem(session.create({
        directory: place,
        projectID: yield* options.projectOf(place),
        ...(agent === undefined ? {} : { agent }),
        ...(mode === undefined ? {} : { mode }),
        ...(model === undefined ? {} : { model }),
        ...(title === undefined ? {} : { title }),
        ...(receipt === undefined ? {} : { receipt })
      }))
    }),
    ({ sessionID }) => asProblem(findSession(sessionID))
  )

/** Changes the title of a session, and the mode of its tree. */
const change = Effect.fnUntraced(function*(id: string, { mode, title }: typeof ChangeSession.Type) {
  const session = yield* Session
  const found = yield* asProblem(findSession(id))
  // A mode may be refused. Then nothing has changed.
  if (mode !== undefined) yield* asProblem(session.setMode(found.id, mode))
  if (title !== undefined) yield* asProblem(session.rename(found.id, title))
  return yield* asProblem(session.get(found.id))
})

/** Does something with an existing session. */
const withSession = <A, E extends ServiceError>(
  id: string,
  use: (session: typeof Session.Service, id: SessionID) => Effect.Effect<A, E>
) =>
  Effect.flatMap(
    Session,
    (session) => Effect.flatMap(asProblem(findSession(id)), (info) => asProblem(use(session, info.id)))
  )

const fork = (given: string, { messageID }: typeof ForkSession.Type, key: string | undefined) =>
  Effect.flatMap(asProblem(findSession(given)), ({ id }) =>
    once(
      { key, content: ["fork", id, messageID] },
      (receipt) =>
        withSession(id, (session) =>
          session.fork(id, {
            ...(messageID === undefined ? {} : { messageID }),
            ...(receipt === undefined ? {} : { receipt })
          })),
      ({ sessionID }) => asProblem(findSession(sessionID))
    ))

const compact = (given: string, key: string | undefined) =>
  Effect.flatMap(asProblem(findSession(given)), ({ id }) =>
    once(
      { key, content: ["compact", id] },
      (receipt) => withSession(id, (session) => session.compact(id, receipt)),
      ({ result }) => {
        const [messageID = "", before, after] = result.split(" ")
        return Effect.succeed({
          messageID: MessageID.make(messageID),
          auto: false,
          tokens: { before: Number(before), after: Number(after) }
        })
      }
    ))

const readSummary = Schema.decodeUnknownSync(Schema.parseJson(SessionSummary))

const summarize = (given: string, key: string | undefined) =>
  Effect.flatMap(asProblem(findSession(given)), ({ id }) =>
    once(
      { key, content: ["summarize", id] },
      (receipt) => withSession(id, (session) => session.summarize(id, receipt)),
      ({ result }) => Effect.sync(() => readSummary(result))
    ))

/** Waits until nothing of a session runs. First continues what an earlier process left of it. */
const rest = Effect.fnUntraced(function*(given: string, isAttended: boolean) {
  const session = yield* Session
  const storage = yield* SessionStorage
  const { options } = yield* ServerState
  const { id, rootID } = yield* asProblem(findSession(given))
  const isUnfinished = (yield* asProblem(storage.unfinished)).includes(rootID)
  if (options.resume && isUnfinished) yield* asProblem(session.resume(id))
  const last = yield* asProblem(attended(rootID, isAttended, restedTurn(id)))
  return last === undefined ? {} : { turn: shownTurn(last) }
})

/** The routes of sessions. */
export const sessionRoutes = HttpApiBuilder.group(Api, "sessions", (handlers) =>
  handlers
    .handle("list", ({ urlParams: { directory, projectID, ...page } }) =>
      Effect.flatMap(listedProject(directory, projectID), (project) =>
        asProblem(rootSessions(project, page))))
    .handle("get", ({ path }) =>
      asProblem(Effect.flatMap(findSession(path.id), shown)))
    .handle("children", ({ path, urlParams }) => asProblem(childrenOf(path.id, urlParams)))
    .handle("messages", ({ path, urlParams }) => messages(path.id, urlParams))
    .handle("todos", ({ path, urlParams }) =>
      Effect.gen(function*() {
        const storage = yield* SessionStorage
        const { id } = yield* asProblem(findSession(path.id))
        return yield* ordered(yield* asProblem(storage.todos(id)), urlParams)
      }))
    .handle("cost", ({ path }) => costOf(path.id))
    .handle("tree", ({ path, urlParams }) =>
      asProblem(Effect.flatMap(findSession(path.id), ({ rootID }) =>
        treePage(rootID, urlParams))))
    .handle("timeline", ({ path, urlParams }) =>
      asProblem(readTimeline(path.id, urlParams)))
    .handle("position", ({ path }) =>
      Effect.gen(function*() {
        const storage = yield* SessionStorage
        const { rootID } = yield* asProblem(findSession(path.id))
        return { rootID, seq: (yield* asProblem(storage.eventRange(rootID))).last }
      }))
    .handleRaw("events", () =>
      answeredBefore)
    .handle("create", ({ headers, payload }) => create(payload, headers["idempotency-key"]))
    .handle("change", ({ path, payload }) => change(path.id, payload))
    .handle("remove", ({ path }) => withSession(path.id, (session, id) => session.remove(id)))
    .handle("prompt", ({ headers, path, payload, urlParams }) =>
      Effect.gen(function*() {
        const { id, rootID } = yield* asProblem(findSession(path.id))
        const { messageID, notes } = yield* submit({ id, rootID, prompt: payload, key: headers["idempotency-key"] })
        if (urlParams.wait === "true") return yield* turnOf(id, messageID)
        return notes.length === 0 ? { messageID } : { messageID, notes }
      }))
    .handle("turn", ({ path, urlParams }) =>
      Effect.flatMap(asProblem(findSession(path.id)), ({ id, rootID }) =>
        Effect.flatMap(findMessage(id, path.message), (message) =>
          attended(rootID, urlParams.unattended !== "true", turnOf(id, message)))))
    .handle("rest", ({ path, urlParams }) =>
      rest(path.id, urlParams.unattended !== "true"))
    .handle("withdraw", ({ path }) =>
      withSession(path.id, (session, id) =>
        session.withdraw(id, path.message)))
    .handle("interrupt", ({ path, urlParams }) => withSession(path.id, (session, id) => session.stop(id, urlParams.by)))
    .handle("resume", ({ path }) => withSession(path.id, (session, id) => session.resume(id, { anew: true })))
    .handle("fork", ({ headers, path, payload }) => fork(path.id, payload, headers["idempotency-key"]))
    .handle("compact", ({ headers, path }) => compact(path.id, headers["idempotency-key"]))
    .handle("summarize", ({ headers, path }) => summarize(path.id, headers["idempotency-key"]))
    .pipe(noting))
