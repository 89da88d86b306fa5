/** The sessions service: what callers ask of sessions, and the fibers that their loops run in. */
import { open } from "@skein/domain/Budget"
import { Ids, type MessageID, type SessionID } from "@skein/domain/Id"
import type { PartInput } from "@skein/domain/Part"
import { type SessionInfo, version } from "@skein/domain/SessionInfo"
import { none } from "@skein/domain/Usage"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { Agent } from "../../Agent.ts"
import { Config } from "../../Config.ts"
import { Journal } from "../../Journal.ts"
import type { Entry } from "../../JournalEntry.ts"
import { Leases } from "../../Leases.ts"
import { Projects } from "../../Projects.ts"
import type { ChildOptions, SessionOptions } from "../../SessionOptions.ts"
import { SessionStorage } from "../../SessionStorage.ts"
import type { PromptError, PromptOptions, Turn } from "../../Turn.ts"
import { checkBudget } from "../budget/checkBudget.ts"
import { compactNow } from "../compact/compactNow.ts"
import { childInfo } from "../live/childInfo.ts"
import { snapshot } from "../live/History.ts"
import type { Live } from "../live/Live.ts"
import { removeSession } from "../live/removeSession.ts"
import { SessionTable } from "../live/SessionTable.ts"
import type { LoopServices } from "../runner/runner.ts"
import { SessionRunner } from "../runner/SessionRunner.ts"
import { asParts, checkParts } from "../runner/submitPrompt.ts"
import { promptHooks } from "../sessionHooks/turnHooks.ts"
import { summarize, summarized } from "../summary/makeSummary.ts"
import { untitled } from "../summary/makeTitle.ts"
import { Recovery } from "../tasks/Recovery.ts"
import { servicesForLater } from "../traced.ts"
import { forkSession } from "./forkSession.ts"

const agentOf = (name: string) => Effect.flatMap(Agent, (agents) => agents.get(name))

/** What a project says of a session that begins. */
const startOf = Effect.fnUntraced(function*(options: SessionOptions) {
  const { settings } = yield* Config
  return { settings, agent: yield* agentOf(options.agent ?? settings.default_agent) }
})

/** Makes the service. */
export const makeSession = Effect.gen(function*() {
  const table = yield* SessionTable
  const storage = yield* SessionStorage
  const journal = yield* Journal
  const projects = yield* Projects
  const ids = yield* Ids
  const leases = yield* Leases
  const { ended, submitted } = promptHooks()
  const runner = yield* SessionRunner
  const recovery = yield* Recovery
  const context = yield* servicesForLater<LoopServices>()

  const store = (info: SessionInfo, also: ReadonlyArray<Entry>) =>
    journal.commit([{ _tag: "Session", info, isNew: true }, ...also])

  const create = Effect.fn("Session.create")(function*(options: SessionOptions) {
    const { agent, settings } = yield* Effect.provideService(
      Projects.use(options.directory, startOf(options)),
      Projects,
      projects
    )
    const now = yield* Clock.currentTimeMillis
    const id = yield* ids.make("ses")
    const budget = options.budget ?? settings.budget
    yield* checkBudget(budget)
    const info: SessionInfo = {
      id,
      rootID: id,
      depth: 0,
      projectID: options.projectID ?? options.directory,
      directory: options.directory,
      title: options.title ?? untitled,
      agent: agent.name,
      ...(options.model === undefined ? {} : { model: options.model }),
      permission: options.permission ?? [],
      usage: { own: none, subtree: none },
      ...(budget === undefined ? {} : { budget: open(budget, now) }),
      version,
      time: { created: now, updated: now }
    }
    yield* leases.begin(id, (hold) => store(info, [hold]))
    const live = yield* table.add(info, undefined)
    live.markRecovered()
    return info
  }, Effect.uninterruptible)

  const createChild = (parentID: SessionID, options: ChildOptions) =>
    table.use(parentID, (parent) =>
      Effect.gen(function*() {
        const now = yield* Clock.currentTimeMillis
        const info = childInfo(parent.info, yield* ids.make("ses"), options, now)
        yield* store(info, [])
        yield* table.add(info, parent)
        return info
      }))

  const prompt = Effect.fnUntraced(function*(
    id: SessionID,
    input: string | ReadonlyArray<PartInput>,
    options: PromptOptions = {}
  ) {
    const parts = asParts(input)
    yield* checkParts(parts)
    yield* checkBudget(options.budget)
    return yield* table.work(id, (live) => {
      const { stops } = live.run
      const named = options.agent === undefined ? Effect.void : agentOf(options.agent)
      return table.inProject(live, named).pipe(
        Effect.zipRight(recovery.recover(live)),
        Effect.zipRight(table.inProject(live, submitted(live, parts))),
        Effect.flatMap((told) => runner.submit(live, told, options, stops))
      )
    })
  })

  const append = Effect.fn("Session.append")(function*(id: SessionID, input: string | ReadonlyArray<PartInput>) {
    const parts = asParts(input)
    yield* checkParts(parts)
    yield* table.use(id, (live) => runner.note(live, parts))
  })

  const opened = <A, E, R>(id: SessionID, use: (live: Live) => Effect.Effect<A, E, R>) =>
    Effect.flatMap(table.open(id), use)

  const fork = Effect.fn("Session.fork")(function*(id: SessionID, options?: { readonly messageID?: MessageID }) {
    const { parentID } = (yield* table.open(id)).info
    const forked = (live: Live) => Effect.provide(forkSession(live, options?.messageID), context)
    // A copy of a root is a tree of its own, and the original is only read.
    return yield* parentID === undefined ? opened(id, forked) : table.use(id, forked)
  })

  const remove = Effect.fn("Session.remove")(function*(id: SessionID) {
    yield* Effect.provide(table.use(id, removeSession), context)
  })

  const leave = Effect.fn("Session.leave")(function*(id: SessionID) {
    const { rootID } = (yield* table.open(id)).info
    yield* leases.leave(rootID)
    const { rows } = yield* storage.runs({ rootID, unsettled: true })
    return rows.filter(({ background }) => background)
  })

  const rename = (id: SessionID, title: string) =>
    table.use(id, (live) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => {
        const write = live.record.change(now, { title })
        return journal.commit([write])
      }))

  const messages = (id: SessionID) =>
    opened(id, (live) =>
      live.messages !== undefined
        ? Effect.succeed(live.messages.map(snapshot))
        : Effect.map(storage.messages(id), (found) => found.rows))

  yield* Effect.addFinalizer(() => Effect.provideService(ended, Projects, projects))

  return {
    create,
    createChild,
    get: (id: SessionID) => Effect.map(table.open(id), (live) => live.info),
    list: (filter: { readonly projectID?: string; readonly limit?: number } = {}) =>
      storage.sessions({ ...filter, roots: true }),
    children: (id: SessionID) => Effect.map(storage.sessions({ parentID: id }), (found) => found.rows),
    messages,
    prompt,
    untilIdle: (id: SessionID) =>
      opened(
        id,
        (live) =>
          Effect.flatMap(runner.rest(live), (): Effect.Effect<Turn | undefined, PromptError> =>
            live.run.lastTurn ?? Effect.succeed(undefined))
      ),
    append,
    resume: (id: SessionID) => Effect.provide(table.work(id, recovery.recover), context),
    compact: (id: SessionID) => Effect.provide(table.work(id, compactNow), context),
    summarize: (id: SessionID) => Effect.provide(table.work(id, summarize), context),
    summarized: (id: SessionID) => opened(id, summarized),
    leave,
    stop: (id: SessionID) => opened(id, runner.stop),
    status: (id: SessionID) => Effect.sync(() => table.peek(id)?.status ?? { type: "idle" as const }),
    fork,
    rename,
    remove
  }
})
