/** The operations on existing sessions. */

import type { SessionID } from "@skein/domain/Id"
import type { PartInput } from "@skein/domain/Part"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { Agent } from "../../Agent.ts"
import { Journal } from "../../Journal.ts"
import { Leases } from "../../Leases.ts"
import { SessionStorage } from "../../SessionStorage.ts"
import { type Following, followingOf, type Newest, newestOf } from "../../StorageFilter.ts"
import type { ForkOptions, PromptOptions } from "../../Turn.ts"
import { checkBudget } from "../budget/checkBudget.ts"
import { checkPlace } from "../live/checkPlace.ts"
import { snapshot } from "../live/History.ts"
import type { Live } from "../live/Live.ts"
import { SessionTable } from "../live/SessionTable.ts"
import { SessionRunner } from "../runner/SessionRunner.ts"
import { asParts, checkParts } from "../runner/submitPrompt.ts"
import { promptHooks } from "../sessionHooks/turnHooks.ts"
import { Recovery } from "../tasks/Recovery.ts"
import { bindTree } from "./bindTree.ts"
import { chooseModel } from "./chooseModel.ts"
import { forkSession } from "./forkSession.ts"

const agentOf = (name: string) => Effect.flatMap(Agent, (agents) => agents.get(name))

type Submitted = ReturnType<typeof promptHooks>["submitted"]

/** What cannot be recovered here can be elsewhere: the tree is released at once. */
const leaveUnrecovered = (id: SessionID) =>
  Effect.gen(function*() {
    const root = (yield* SessionTable).peek(id)?.root
    if (root?.isRecovered === false) yield* (yield* Leases).release(root.info.id)
  })

/** Prompts a session: recovers its tree after a crash, then runs the hooks, then submits the prompt. */
export const promptSession = Effect.fnUntraced(function*(
  id: SessionID,
  input: string | ReadonlyArray<PartInput>,
  options: PromptOptions,
  submitted: Submitted
) {
  const table = yield* SessionTable
  const runner = yield* SessionRunner
  const recovery = yield* Recovery
  const parts = asParts(input)
  yield* checkParts(parts)
  yield* checkBudget(options.budget)
  // A stop from here on, even while the session is being read, comes after the prompt.
  const known = table.peek(id)
  const before = known?.run.stops ?? 0
  return yield* table.work(id, (live) => {
    const stops = known === undefined || known === live ? before : live.run.stops
    const named = options.agent === undefined ? Effect.void : agentOf(options.agent)
    const recovered = options.model === undefined
      ? recovery.recover(live)
      : Effect.zipRight(chooseModel(live, options.model), recovery.recover(live))
    const ready = Effect.zipRight(checkPlace(live), bindTree(live, options.agent))
    return table.inProject(live, Effect.zipRight(named, ready)).pipe(
      Effect.zipRight(recovered),
      Effect.zipRight(table.inProject(live, submitted(live, parts))),
      Effect.flatMap((withContext) => runner.submit(live, withContext, options, stops))
    )
  }).pipe(Effect.tapErrorTag("ModelUnavailable", () => leaveUnrecovered(id)))
})

/**
 * Continues what is unfinished of a tree. If that is stored although nothing of it runs here, an end could not be stored, and
 * memory is not trusted: the tree is read again, as after a crash.
 */
export const resumeSession = Effect.fnUntraced(function*(id: SessionID, anew?: boolean) {
  const table = yield* SessionTable
  const leases = yield* Leases
  const recovery = yield* Recovery
  const isIdle = () => {
    const root = table.peek(id)?.root
    return root?.isRecovered === true && !leases.isUsed(root.info.id)
  }
  if (isIdle()) {
    const unfinished = yield* (yield* SessionStorage).unfinished
    const root = table.peek(id)?.root
    if (root !== undefined && isIdle() && unfinished.includes(root.info.id)) yield* table.close(root.info.id)
  }
  const recovered = table.work(id, (live) => recovery.recover(live, anew))
  yield* Effect.tapErrorTag(recovered, "ModelUnavailable", () => leaveUnrecovered(id))
})

/** Stores a message without answering it. */
export const appendTo = Effect.fn("Session.append")(function*(
  id: SessionID,
  input: string | ReadonlyArray<PartInput>
) {
  const table = yield* SessionTable
  const runner = yield* SessionRunner
  const parts = asParts(input)
  yield* checkParts(parts)
  yield* table.use(id, (live) => runner.note(live, parts))
})

/** Copies a session. A copy of a root is its own tree, and the original is only read. */
export const forkFrom = Effect.fn("Session.fork")(function*(id: SessionID, options: ForkOptions) {
  const table = yield* SessionTable
  const { parentID } = (yield* table.open(id)).info
  const forked = (live: Live) => forkSession(live, options)
  return yield* parentID === undefined ? Effect.flatMap(table.open(id), forked) : table.use(id, forked)
})

/** Renames a session. */
export const renameSession = Effect.fnUntraced(function*(id: SessionID, title: string) {
  const table = yield* SessionTable
  const journal = yield* Journal
  yield* table.use(
    id,
    (live) => Effect.flatMap(Clock.currentTimeMillis, (now) => journal.commit([live.record.change(now, { title })]))
  )
})

/** A page of the messages of a session, without loading them into memory. */
export const messagePageOf = Effect.fnUntraced(function*(id: SessionID, page: Following) {
  const table = yield* SessionTable
  const storage = yield* SessionStorage
  const { messages } = yield* table.open(id)
  if (messages === undefined) return yield* storage.messagePage(id, page)
  const found = followingOf(messages, page)
  return { ...found, rows: found.rows.map(snapshot) }
})

/** The messages of a session, without loading them into memory. */
export const messagesOf = Effect.fnUntraced(function*(id: SessionID, newest?: Newest) {
  const table = yield* SessionTable
  const storage = yield* SessionStorage
  const { messages } = yield* table.open(id)
  return messages !== undefined
    ? newestOf(messages, newest).map(snapshot)
    : (yield* storage.messages(id, newest)).rows
})
