/** Implements the routes of sessions. */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import { Api } from "@skein/api/Api"
import type { ChangeSession, CreateSession, ForkSession, whichMessages } from "@skein/api/Input"
import { attended } from "@skein/core/BegunPrompt"
import { Session } from "@skein/core/Session"
import { findSession } from "@skein/core/SessionLookup"
import { SessionStorage } from "@skein/core/SessionStorage"
import { listed, shown, snapshotOf } from "@skein/core/Snapshots"
import { messagesPage } from "@skein/core/StorageFilter"
import { MessageID, SessionID } from "@skein/domain/Id"
import { SessionSummary } from "@skein/domain/SessionInfo"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { listCursor, usualPage } from "../events/cursor.ts"
import { ServerState } from "../ServerState.ts"
import { answeredBefore } from "./answeredBefore.ts"
import { checkDirectory } from "./checkDirectory.ts"
import { costOf } from "./cost.ts"
import { once } from "./once.ts"
import { findMessage, shownTurn, submit, turnOf } from "./prompt.ts"
import { noting } from "./reached.ts"
import { readTimeline } from "./timeline.ts"
import { asProblem, type ServiceError } from "./toProblem.ts"

const sessionCursor = listCursor(Schema.Struct({ updated: Schema.Number, id: SessionID }))
const messageCursor = listCursor(Schema.Struct({ after: MessageID }))

/** The project whose sessions are listed; undefined for those of all. */
const listedProject = Effect.fnUntraced(function*(directory: string | undefined, projectID: string | undefined) {
  if (directory === undefined || projectID !== undefined) return projectID
  const { options } = yield* ServerState
  return yield* options.projectOf(yield* checkDirectory(directory))
})

const list = Effect.fnUntraced(function*(
  { cursor, directory, limit = usualPage, projectID: given }: {
    readonly cursor?: string | undefined
    readonly directory?: string | undefined
    readonly limit?: number | undefined
    readonly projectID?: string | undefined
  }
) {
  const storage = yield* SessionStorage
  const projectID = yield* listedProject(directory, given)
  const after = yield* sessionCursor.read(cursor)
  const { rows } = yield* asProblem(storage.sessions({
    roots: true,
    limit: limit + 1,
    ...(after === undefined ? {} : { after }),
    ...(projectID === undefined ? {} : { projectID })
  }))
  const unfinished = new Set(yield* asProblem(storage.unfinished))
  const items = yield* Effect.forEach(
    rows.slice(0, limit),
    (info) => Effect.map(asProblem(listed(info)), (session) => ({ ...session, unfinished: unfinished.has(info.id) }))
  )
  const last = items.at(-1)
  return rows.length > limit && last !== undefined
    ? { items, next: sessionCursor.write({ updated: last.time.updated, id: last.id }) }
    : { items }
})

const messages = Effect.fnUntraced(function*(
  id: string,
  { before, cursor, limit, newest }: typeof whichMessages.Type
) {
  const session = yield* Session
  const after = yield* messageCursor.read(cursor)
  const info = yield* asProblem(findSession(id))
  if (newest !== undefined) {
    const read = session.messages(info.id, { limit: newest, ...(before === undefined ? {} : { before }) })
    return { items: yield* asProblem(read) }
  }
  const { next, rows: items } = yield* asProblem(session.messagePage(info.id, {
    ...messagesPage,
    after: after?.after ?? "",
    ...(limit === undefined ? {} : { limit })
  }))
  return { items, ...(next === undefined ? {} : { next: messageCursor.write({ after: next }) }) }
})

const tree = Effect.fnUntraced(function*(id: string) {
  const { rootID } = yield* asProblem(findSession(id))
  return yield* asProblem(snapshotOf(rootID))
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
  const last = yield* asProblem(attended(rootID, isAttended, session.untilIdle(id)))
  return last === undefined ? {} : { turn: shownTurn(last) }
})

/** The routes of sessions. */
export const sessionRoutes = HttpApiBuilder.group(Api, "sessions", (handlers) =>
  handlers
    .handle("list", ({ urlParams }) => list(urlParams))
    .handle("get", ({ path }) => asProblem(Effect.flatMap(findSession(path.id), shown)))
    .handle("children", ({ path }) =>
      Effect.flatMap(
        withSession(path.id, (session, id) => session.children(id)),
        (rows) => Effect.map(asProblem(Effect.forEach(rows, listed)), (items) => ({ items }))
      ))
    .handle("messages", ({ path, urlParams }) => messages(path.id, urlParams))
    .handle("todos", ({ path }) =>
      Effect.gen(function*() {
        const storage = yield* SessionStorage
        const { id } = yield* asProblem(findSession(path.id))
        return { items: yield* asProblem(storage.todos(id)) }
      }))
    .handle("cost", ({ path }) => costOf(path.id))
    .handle("tree", ({ path }) => tree(path.id))
    .handle("timeline", ({ path }) => readTimeline(path.id))
    .handle("position", ({ path }) =>
      Effect.gen(function*() {
        const storage = yield* SessionStorage
        const { rootID } = yield* asProblem(findSession(path.id))
        return { rootID, seq: (yield* asProblem(storage.eventRange(rootID))).last }
      }))
    .handleRaw("events", () => answeredBefore)
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
      withSession(path.id, (session, id) => session.withdraw(id, path.message)))
    .handle("interrupt", ({ path, urlParams }) => withSession(path.id, (session, id) => session.stop(id, urlParams.by)))
    .handle("resume", ({ path }) => withSession(path.id, (session, id) => session.resume(id, { anew: true })))
    .handle("fork", ({ headers, path, payload }) => fork(path.id, payload, headers["idempotency-key"]))
    .handle("compact", ({ headers, path }) => compact(path.id, headers["idempotency-key"]))
    .handle("summarize", ({ headers, path }) => summarize(path.id, headers["idempotency-key"]))
    .pipe(noting))
