/** Creates sessions: roots, children and copies, each in a tree that this process holds. */
import { open } from "@skein/domain/Budget"
import { Ids, type MessageID, type SessionID } from "@skein/domain/Id"
import { planAgent } from "@skein/domain/Mode"
import type { MessageWithParts } from "@skein/domain/Part"
import { type SessionInfo, version } from "@skein/domain/SessionInfo"
import { none } from "@skein/domain/Usage"
import { chunksOf } from "effect/Array"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { Agent } from "../../Agent.ts"
import { needsNoDirectory } from "../../Anywhere.ts"
import { Config } from "../../Config.ts"
import { Confinement } from "../../Isolation.ts"
import { Journal } from "../../Journal.ts"
import { Leases } from "../../Leases.ts"
import { Projects, ProjectUnavailable } from "../../Projects.ts"
import { eachMessagePage, orUnreadable, SessionStorage } from "../../SessionStorage.ts"
import type { StorageError } from "../../StorageError.ts"
import { messagesPage, smallPage } from "../../StorageFilter.ts"
import { type ChildOptions, type ForkOptions, ForkRefused, type SessionOptions } from "../../Turn.ts"
import { Whereabouts } from "../../Whereabouts.ts"
import { Workspaces } from "../../Workspaces.ts"
import type { Entry } from "../../Write.ts"
import { checkBudget } from "../budget/BudgetNode.ts"
import { endAnswer, endCall } from "../conversation/closeTurn.ts"
import { snapshot } from "../live/History.ts"
import type { Live } from "../live/Live.ts"
import { startIn } from "../live/mode.ts"
import { childInfo, SessionTable } from "../live/SessionTable.ts"
import { anew, messageRenamer, messageWrites } from "../renamed.ts"
import { storeDraft } from "../storeDraft.ts"
import { untitled } from "../summary/makeSummary.ts"

/** Checks what is to work at the root next. Fails where the directory is not. */
export const bindTree = Effect.fnUntraced(function*(live: Live, agent: string = live.info.agent) {
  if (live.parent !== undefined || live.info.anywhere !== true) return
  if (yield* needsNoDirectory(agent, live.info)) return
  const { directory, host = "" } = live.info
  if (yield* (yield* Whereabouts).isAway(live.info)) {
    return yield* new ProjectUnavailable({
      directory,
      message:
        `The agent ${agent} needs the directory of the session ${live.info.id}, which is ${directory} on the host ${host}. Prompt it on that host, or through a server there, or with an agent that may neither use files nor run commands.`
    })
  }
  const journal = yield* Journal
  // If that is not stored, the tree may still be taken up elsewhere: then memory must not say otherwise.
  yield* Effect.tapError(
    journal.commit([live.record.change(yield* Clock.currentTimeMillis, { anywhere: false })]),
    () => Effect.sync(() => live.record.annotate({ anywhere: true }))
  )
})

const agentOf = (name: string) => Effect.flatMap(Agent, (agents) => agents.get(name))

/** A project's settings for a new session. */
const startOf = Effect.fnUntraced(function*(options: SessionOptions) {
  const { settings } = yield* Config
  if (options.mode === "auto") yield* (yield* Confinement).auto
  if (options.mode === "plan") yield* agentOf(planAgent)
  const agent = yield* agentOf(options.agent ?? settings.default_agent)
  const { directory, permission = [] } = options
  const starts = startIn(agent.name, options.mode)
  return { settings, starts, isFree: yield* needsNoDirectory(starts.agent, { directory, permission }) }
})

/** Makes a root session. */
export const createSession = Effect.fn("Session.create")(function*(options: SessionOptions) {
  const ids = yield* Ids
  const journal = yield* Journal
  const leases = yield* Leases
  const table = yield* SessionTable
  const { isFree, settings, starts } = yield* Projects.use(options.directory, startOf(options))
  const now = yield* Clock.currentTimeMillis
  const id = yield* ids.make("ses")
  const budget = options.budget ?? settings.budget
  yield* checkBudget(budget)
  // A tree that goes anywhere leaves no files behind.
  const workspace = isFree ? undefined : yield* (yield* Workspaces).origin(options.directory, settings)
  const info: SessionInfo = {
    id,
    rootID: id,
    depth: 0,
    projectID: options.projectID ?? options.directory,
    directory: options.directory,
    ...(leases.machine === undefined ? {} : { ...leases.machine, ...(isFree ? { anywhere: true } : {}) }),
    ...(workspace === undefined ? {} : { workspace }),
    title: options.title ?? untitled,
    ...starts,
    ...(options.model === undefined ? {} : { model: options.model }),
    permission: options.permission ?? [],
    usage: { own: none, subtree: none },
    ...(budget === undefined ? {} : { budget: open(budget, now) }),
    version,
    time: { created: now, updated: now }
  }
  const receipts: ReadonlyArray<Entry> = options.receipt === undefined
    ? []
    : [{ _tag: "Receipt", receipt: { ...options.receipt, sessionID: id, result: id, created: now } }]
  const storing = leases.begin(
    id,
    (hold) => journal.commit([{ _tag: "Session", info, isNew: true }, ...receipts, hold])
  )
  // What is stored is also in memory. Before that, an interruption leaves nothing.
  const live = yield* Effect.uninterruptible(Effect.zipRight(storing, table.add(info, undefined)))
  live.isRecovered = true
  // Nothing is stored of it that would have to be read.
  live.history.load([])
  return info
})

/** Creates a child session. */
export const createChild = Effect.fnUntraced(function*(parentID: SessionID, options: ChildOptions) {
  const ids = yield* Ids
  const journal = yield* Journal
  const table = yield* SessionTable
  return yield* table.use(parentID, (parent) =>
    Effect.gen(function*() {
      const now = yield* Clock.currentTimeMillis
      const info = childInfo(parent.info, yield* ids.make("ses"), options, now)
      yield* journal.commit([{ _tag: "Session", info, isNew: true }])
      // It is stored even if the tree was lost right after that.
      yield* Effect.option(table.add(info, parent))
      return info
    }))
})

/** The messages of a session, a page at a time, up to one if you name it. */
const eachPage = <E, R>(
  { info: { id }, messages }: Live,
  last: MessageID | undefined,
  use: (rows: ReadonlyArray<MessageWithParts>) => Effect.Effect<void, E, R>
): Effect.Effect<void, E | StorageError, R | SessionStorage> => {
  const upTo = (rows: ReadonlyArray<MessageWithParts>) =>
    last === undefined ? rows : rows.filter(({ info }) => info.id <= last)
  if (messages !== undefined) {
    return Effect.forEach(chunksOf(upTo(messages.map(snapshot)), smallPage.limit), use, { discard: true })
  }
  return eachMessagePage(id, ({ rows, unreadable }) =>
    Effect.zipRight(
      Effect.forEach(unreadable, (row) => Effect.logWarning(`${row.id} cannot be read and is not copied`, row.reason)),
      use(upTo(rows))
    ), smallPage)
}

/** Refuses a message that the session does not have; tells whether it is the last one. */
const checkMessage = Effect.fnUntraced(function*(live: Live, messageID: MessageID | undefined) {
  if (messageID === undefined) return true
  const { id } = live.info
  const storage = yield* SessionStorage
  const { messages = (yield* storage.messagePage(id, { ...messagesPage, limit: 1 })).rows } = live
  const isLast = messages.at(-1)?.info.id === messageID
  let isThere = isLast
  if (!isThere) {
    yield* eachPage(live, messageID, (rows) =>
      Effect.sync(() => {
        isThere ||= rows.at(-1)?.info.id === messageID
      }))
  }
  return isThere ? isLast : yield* new ForkRefused({
    id,
    reason: "unknown_message",
    message:
      `The session ${id} has no message ${messageID}. \`skein sessions show ${id} --format json\` shows those that it has.`
  })
})

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

/** Stores the copy, which appears when all of it is stored, and opens it. */
export const forkSession = Effect.fnUntraced(function*(live: Live, { messageID, receipt }: ForkOptions) {
  const table = yield* SessionTable
  const storage = yield* SessionStorage
  const ids = yield* Ids
  yield* refuseAtWork(live)
  const isWhole = yield* checkMessage(live, messageID)
  const todos = isWhole ? yield* orUnreadable(storage.todos(live.info.id), []) : []
  const now = yield* Clock.currentTimeMillis
  const info = infoOf(live, ids.unsafeMake("ses", now), now)
  const rename = messageRenamer({ ...anew(ids, now, new Set()), session: () => info.id })
  yield* Effect.uninterruptibleMask((restore) =>
    Effect.zipRight(
      restore(storeDraft({
        sessions: [info],
        rows: (put) =>
          Effect.zipRight(
            eachPage(live, messageID, (rows) =>
              put(rows.flatMap((message) => messageWrites(rename(closed(message, now)))))),
            // It may have started to work while this was read.
            Effect.suspend(() =>
              refuseAtWork(live)
            )
          ),
        more: [
          ...(receipt === undefined
            ? []
            : [
              { _tag: "Receipt", receipt: { ...receipt, sessionID: info.id, result: info.id, created: now } } as const
            ]),
          ...(todos.length === 0 ? [] : [{ _tag: "Todos", sessionID: info.id, todos } as const])
        ]
      })),
      // If its parent is being deleted, it goes too. It is stored even if the tree was lost right after that.
      live.parent !== undefined && live.parent.isLeaving ? Effect.void : Effect.option(table.add(info, live.parent))
    )
  )
  return info
})
