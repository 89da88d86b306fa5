/**
 * The session service: each operation with the services that it needs. A new mode counts for new calls at once, and for
 * open questions after a short delay.
 */
import type { MessageID, SessionID } from "@skein/domain/Id"
import { type Mode, modeOf } from "@skein/domain/Mode"
import type { ModelRef } from "@skein/domain/Model"
import type { PartInput } from "@skein/domain/Part"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import { Agent } from "../../Agent.ts"
import type { Answerer } from "../../Answerer.ts"
import type { Bus } from "../../Bus.ts"
import { Config } from "../../Config.ts"
import { byHolder, refusals } from "../../Control.ts"
import { Hooks } from "../../Hooks.ts"
import { Confinement } from "../../Isolation.ts"
import { Journal } from "../../Journal.ts"
import { Leases } from "../../Leases.ts"
import { isSize, missingModels } from "../../ModelChoice.ts"
import { Permission } from "../../Permission.ts"
import { Projects } from "../../Projects.ts"
import { Provider } from "../../Provider.ts"
import { SessionStorage } from "../../SessionStorage.ts"
import { logUnstored } from "../../StorageError.ts"
import { type Following, type Newest, pageOfMessages } from "../../StorageFilter.ts"
import type { ProgramTask } from "../../TaskRequest.ts"
import type { Tasks } from "../../Tasks.ts"
import {
  type ChildOptions,
  type ForkOptions,
  notFound,
  type PromptError,
  type PromptOptions,
  type SessionOptions,
  type Turn
} from "../../Turn.ts"
import { Whereabouts } from "../../Whereabouts.ts"
import type { Keyed } from "../../Write.ts"
import { checkBudget } from "../budget/BudgetNode.ts"
import { compactNow } from "../compact/compact.ts"
import { snapshot } from "../live/History.ts"
import { lineOf, type Live } from "../live/Live.ts"
import { switchMode } from "../live/mode.ts"
import { checkPlace } from "../live/places.ts"
import { SessionTable } from "../live/SessionTable.ts"
import { removeSession } from "../live/stop.ts"
import type { LoopServices } from "../runner/runner.ts"
import { asParts, checkParts, SessionRunner, withdrawPrompt } from "../runner/SessionRunner.ts"
import { promptHooks } from "../sessionHooks.ts"
import { summarize, summarized } from "../summary/makeSummary.ts"
import { Recovery } from "../tasks/Recovery.ts"
import { servicesForLater } from "../traced.ts"
import { bindTree, createChild, createSession, forkSession } from "./createSession.ts"
import { handOver, isMovable, leaveTree } from "./leaveTree.ts"
import { programTask } from "./programTask.ts"
import { treeEvents, turnEvents } from "./watching.ts"

/** The delay, because a person who cycles through the modes with a key passes modes that would answer a question. */
const delay = "2 seconds"

/** The changes of the root; fails before any of them if the agent does not exist or the mode is refused. */
const patchOf = Effect.fnUntraced(function*(root: Live, mode: Mode) {
  if (mode === "auto") yield* (yield* Confinement).auto
  const { settings } = yield* Config
  const patch = switchMode(root.info, mode, settings.default_agent)
  const agents = yield* Agent
  if (patch.agent !== undefined) {
    yield* agents.get(patch.agent)
    yield* bindTree(root, patch.agent)
  }
  return patch
})

/** Reconsiders the open questions of a tree after the delay, unless its mode changes again before. */
const answerLater = (root: Live) => {
  const { modeChanges } = root.record
  return Effect.sleep(delay).pipe(
    Effect.zipRight(Permission),
    Effect.flatMap(({ reconsider }) =>
      root.record.modeChanges === modeChanges ? reconsider(root.info.id) : Effect.void
    ),
    Effect.catchAll(logUnstored("The answers of a changed mode could not be stored")),
    Effect.forkIn(root.scope)
  )
}

/** Changes the mode of a session's tree. */
const changeMode = Effect.fn("Session.setMode")(function*(id: SessionID, mode: Mode) {
  const table = yield* SessionTable
  const journal = yield* Journal
  const { rootID } = (yield* table.open(id)).info
  return yield* table.work(rootID, (root) =>
    Effect.gen(function*() {
      if (modeOf(root.info) === mode) return root.info
      const patch = yield* table.inProject(root, patchOf(root, mode))
      const now = yield* Clock.currentTimeMillis
      yield* journal.commit([root.record.change(now, patch)])
      yield* answerLater(root)
      return root.info
    }))
})

/** Does so for a session and everything below it, before its tree is recovered. Fails if that model is missing as well. */
const chooseModel = Effect.fnUntraced(function*(live: Live, model: ModelRef) {
  const { info: { rootID }, root } = live
  if (root.isRecovered || isSize(model)) return
  const table = yield* SessionTable
  const missing = yield* table.inProject(live, missingModels(rootID))
  if (missing.length === 0) return
  yield* table.inProject(live, Effect.flatMap(Provider, ({ resolve }) => resolve(model)))
  const found = yield* Effect.forEach(missing, ({ sessionID }) => table.open(sessionID))
  const now = yield* Clock.currentTimeMillis
  const journal = yield* Journal
  yield* journal.commit(
    found.filter((each) => lineOf(each).includes(live)).map((each) => each.record.change(now, { model }))
  )
})

const agentOf = (name: string) => Effect.flatMap(Agent, (agents) => agents.get(name))

type Submitted = ReturnType<typeof promptHooks>["submitted"]

/** What cannot be recovered here can be elsewhere: the tree is released at once. */
const leaveUnrecovered = (id: SessionID) =>
  Effect.gen(function*() {
    const root = (yield* SessionTable).peek(id)?.root
    if (root?.isRecovered === false) yield* (yield* Leases).release(root.info.id)
  })

/**
 * Hooks may take long. They end with the session: a tree that was lost is not taken again before the last of those ended who
 * used it.
 */
const untilClosed = <A, E, R>(live: Live, effect: Effect.Effect<A, E, R>) =>
  Effect.uninterruptibleMask((restore) =>
    Effect.gen(function*() {
      const table = yield* SessionTable
      const fiber = yield* Effect.forkIn(Effect.interruptible(effect), live.scope)
      const exit = yield* Effect.onInterrupt(restore(Fiber.await(fiber)), () => Fiber.interrupt(fiber))
      if (Exit.isInterrupted(exit)) yield* table.still(live)
      return yield* exit
    })
  )

/** Prompts a session: recovers its tree after a crash, then runs the hooks, then submits the prompt. */
const promptSession = Effect.fnUntraced(function*(
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
      Effect.zipRight(table.inProject(
        live,
        Effect.flatMap(
          Hooks,
          ({ isEmpty }) => isEmpty ? Effect.succeed(parts) : untilClosed(live, submitted(live, parts))
        )
      )),
      Effect.flatMap((withContext) => runner.submit(live, withContext, options, stops))
    )
  }).pipe(Effect.tapErrorTag("ModelUnavailable", () => leaveUnrecovered(id)))
})

/**
 * Continues what is unfinished of a tree. If that is stored although nothing of it runs here, an end could not be stored, and
 * memory is not trusted: the tree is read again, as after a crash.
 */
const resumeSession = Effect.fnUntraced(function*(id: SessionID, anew?: boolean) {
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

/** Continues every unfinished tree that no other process works on. One that cannot be continued keeps no other waiting. */
const resumeAll = Effect.gen(function*() {
  const unfinished = yield* (yield* SessionStorage).unfinished
  const leave = (log: Effect.Effect<void>) => Effect.as(log, [])
  const resumed = yield* Effect.forEach(unfinished, (rootID) =>
    resumeSession(rootID).pipe(
      Effect.as([rootID]),
      Effect.catchAll((error) =>
        leave(
          error._tag === "StorageError" && error.reason === "held"
            ? Effect.logInfo(`${rootID} is left to the process that works on it`)
            : Effect.logWarning(`${rootID} was not resumed`, error.message)
        )
      ),
      Effect.catchAllDefect((defect) =>
        leave(Effect.logError(`${rootID} was not resumed because of a fault in Skein`, defect))
      )
    ), { concurrency: 8 })
  return resumed.flat()
})

/** Stores a message without answering it. */
const appendTo = Effect.fn("Session.append")(function*(
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
const forkFrom = Effect.fn("Session.fork")(function*(id: SessionID, options: ForkOptions) {
  const table = yield* SessionTable
  const { parentID } = (yield* table.open(id)).info
  const forked = (live: Live) => forkSession(live, options)
  return yield* parentID === undefined ? Effect.flatMap(table.open(id), forked) : table.use(id, forked)
})

/** Renames a session. */
const renameSession = Effect.fnUntraced(function*(id: SessionID, title: string) {
  const table = yield* SessionTable
  const journal = yield* Journal
  yield* table.use(
    id,
    (live) => Effect.flatMap(Clock.currentTimeMillis, (now) => journal.commit([live.record.change(now, { title })]))
  )
})

/** A page of the messages of a session, without loading them into memory. */
const messagePageOf = Effect.fnUntraced(function*(id: SessionID, page: Following | Newest) {
  const table = yield* SessionTable
  const storage = yield* SessionStorage
  const { messages } = yield* table.open(id)
  if (messages === undefined) return yield* storage.messagePage(id, page)
  const found = pageOfMessages(messages, page)
  return { ...found, rows: found.rows.map(snapshot) }
})

/** The messages of a session, without loading them into memory. */
const messagesOf = Effect.fnUntraced(function*(id: SessionID) {
  const table = yield* SessionTable
  const storage = yield* SessionStorage
  const { messages } = yield* table.open(id)
  return messages !== undefined
    ? messages.map(snapshot)
    : (yield* storage.messages(id)).rows
})

type Services =
  | Answerer
  | Bus
  | LoopServices
  | Leases
  | Permission
  | Projects
  | Recovery
  | SessionRunner
  | SessionStorage
  | SessionTable
  | Tasks
  | Whereabouts

const lastTurn = ({ run }: Live): Effect.Effect<Turn | undefined, PromptError> =>
  run.lastTurn ?? Effect.succeed(undefined)

/**
 * Waits until a session is idle, and ends as its last turn did. What memory says counts only while nobody else can have changed
 * the tree: if this process has lost it, or another one works in it, nobody here knows whether the session is idle.
 */
const untilIdle = (id: SessionID): Effect.Effect<Turn | undefined, PromptError, Services> =>
  Effect.gen(function*() {
    const table = yield* SessionTable
    const leases = yield* Leases
    const live = yield* table.open(id)
    const { rootID } = live.info
    const wasHeld = leases.epoch(rootID) > 0
    yield* (yield* SessionRunner).rest(live)
    if (leases.epoch(rootID) > 0) {
      yield* leases.renew(rootID)
      // If it was read again, it may continue here.
      return table.peek(id) === live ? yield* lastTurn(live) : yield* untilIdle(id)
    }
    const isElsewhere = (yield* leases.other(rootID)) !== undefined
      && (yield* (yield* SessionStorage).unfinished).includes(rootID)
    if (isElsewhere || (wasHeld && table.peek(id) !== live)) {
      return yield* live.isLeaving ? notFound(id) : leases.failure(rootID)
    }
    return yield* lastTurn(live)
  })

/** Makes the service. */
export const makeSession = Effect.gen(function*() {
  const table = yield* SessionTable
  const storage = yield* SessionStorage
  const recovery = yield* Recovery
  const whereabouts = yield* Whereabouts
  const { ended, submitted } = promptHooks()
  const context = yield* servicesForLater<Services>()
  const given = <A, E>(effect: Effect.Effect<A, E, Services>) => Effect.provide(effect, context)
  const opened = <A, E, R>(id: SessionID, use: (live: Live) => Effect.Effect<A, E, R>) =>
    Effect.flatMap(table.open(id), use)

  yield* Effect.addFinalizer(() => given(ended))

  const prompt = (id: SessionID, input: string | ReadonlyArray<PartInput>, options: PromptOptions = {}) =>
    given(promptSession(id, input, options, submitted))
  const stop = (id: SessionID, by?: string) =>
    given(byHolder(
      id,
      { type: "stop", ...(by === undefined ? {} : { by }) },
      opened(id, (live) => recovery.stop(live, by)),
      refusals.stop,
      () => undefined
    ))
  const rest = (id: SessionID) => given(untilIdle(id))

  return {
    create: (options: SessionOptions) => given(createSession(options)),
    createChild: (parentID: SessionID, options: ChildOptions) => given(createChild(parentID, options)),
    get: (id: SessionID) => Effect.map(table.open(id), (live) => live.info),
    list: (filter: { readonly projectID?: string; readonly limit?: number } = {}) =>
      storage.sessions({ ...filter, roots: true }),
    children: (id: SessionID) => Effect.map(storage.sessions({ parentID: id }), (found) => found.rows),
    messages: (id: SessionID) => given(messagesOf(id)),
    messagePage: (id: SessionID, page: Following | Newest) => given(messagePageOf(id, page)),
    prompt,
    stream: (id: SessionID, input: string | ReadonlyArray<PartInput>, options?: PromptOptions) =>
      Stream.provideContext(
        Stream.unwrap(opened(id, ({ info }) => Effect.succeed(turnEvents(info.rootID, prompt(id, input, options))))),
        context
      ),
    events: (id: SessionID, { after = 0 }: { readonly after?: number } = {}) =>
      Stream.provideContext(treeEvents(id, after), context),
    task: (task: ProgramTask) => given(programTask(task, { prompt, stop, untilIdle: rest })),
    withdraw: (id: SessionID, messageID: MessageID) => given(table.use(id, (live) => withdrawPrompt(live, messageID))),
    untilIdle: rest,
    append: (id: SessionID, input: string | ReadonlyArray<PartInput>) => given(appendTo(id, input)),
    resume: (id: SessionID, options?: { readonly anew?: boolean }) => given(resumeSession(id, options?.anew)),
    resumeAll: given(resumeAll),
    compact: (id: SessionID, receipt?: Keyed) => given(table.work(id, (live) => compactNow(live, receipt))),
    summarize: (id: SessionID, receipt?: Keyed) => given(table.work(id, (live) => summarize(live, receipt))),
    summarized: (id: SessionID) => opened(id, summarized),
    leave: (id: SessionID) => given(leaveTree(id)),
    handOver: (rootID: SessionID, patience: number) => given(handOver(rootID, patience)),
    isMovable: (rootID: SessionID) => given(isMovable(rootID)),
    stop,
    status: (id: SessionID) =>
      Effect.sync(() => whereabouts.awaited(id) ?? table.peek(id)?.status ?? { type: "idle" as const }),
    atWork: (rootID?: SessionID) =>
      table.all().flatMap(({ info, running, status }) =>
        running === undefined || status.type === "idle" || (rootID ?? info.rootID) !== info.rootID
          ? []
          : [{ info, status }]
      ),
    fork: (id: SessionID, options: ForkOptions = {}) => given(forkFrom(id, options)),
    setMode: (id: SessionID, mode: Mode) =>
      given(byHolder(id, { type: "mode", mode }, changeMode(id, mode), refusals.mode, (info) => info as SessionInfo)),
    rename: (id: SessionID, title: string) => given(renameSession(id, title)),
    remove: (id: SessionID) => Effect.withSpan(given(table.use(id, removeSession)), "Session.remove")
  }
})
