/** Creates sessions: roots and children. */
import { open } from "@skein/domain/Budget"
import { Ids, type SessionID } from "@skein/domain/Id"
import { planAgent } from "@skein/domain/Mode"
import { type SessionInfo, version } from "@skein/domain/SessionInfo"
import { none } from "@skein/domain/Usage"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { Agent } from "../../Agent.ts"
import { needsNoDirectory } from "../../Anywhere.ts"
import { Config } from "../../Config.ts"
import { Confinement } from "../../Confinement.ts"
import { Journal } from "../../Journal.ts"
import { Leases } from "../../Leases.ts"
import { Projects } from "../../Projects.ts"
import type { ChildOptions, SessionOptions } from "../../Turn.ts"
import { Workspaces } from "../../Workspaces.ts"
import type { Entry } from "../../Write.ts"
import { checkBudget } from "../budget/checkBudget.ts"
import { childInfo } from "../live/childInfo.ts"
import { startIn } from "../live/mode.ts"
import { SessionTable } from "../live/SessionTable.ts"
import { untitled } from "../summary/makeTitle.ts"

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
  live.markRecovered()
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
