/** The sessions service: what callers ask of sessions, and the fibers that their loops run in. */
import { Ids, type MessageID, type SessionID } from "@skein/domain/Id"
import type { InboxRow } from "@skein/domain/InboxRow"
import type { PartInput } from "@skein/domain/Part"
import { type SessionInfo, version } from "@skein/domain/SessionInfo"
import { none } from "@skein/domain/Usage"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import { none as noFiber } from "effect/FiberId"
import { Agent } from "../../Agent.ts"
import { Bus } from "../../Bus.ts"
import { Config } from "../../Config.ts"
import { Governor } from "../../Governor.ts"
import { Journal } from "../../Journal.ts"
import { Permission } from "../../Permission.ts"
import { Provider } from "../../Provider.ts"
import type { PromptError, PromptOptions, SessionOptions, Turn } from "../../Session.ts"
import { PromptInvalid, SessionStopped } from "../../SessionError.ts"
import { SessionStorage, type Write } from "../../SessionStorage.ts"
import { Spill } from "../../Spill.ts"
import { Tools } from "../../Tool.ts"
import { change, type Live, type Running, snapshot } from "./live.ts"
import { runTurn } from "./loop.ts"
import { firstWords, makeTitle, untitled } from "./makeTitle.ts"
import { setStatus } from "./modelStep.ts"
import { SessionTable } from "./SessionTable.ts"

type LoopServices =
  | Agent
  | Bus
  | Config
  | Governor
  | Ids
  | Journal
  | Permission
  | Provider
  | SessionStorage
  | SessionTable
  | Spill
  | Tools

const asParts = (prompt: string | ReadonlyArray<PartInput>): ReadonlyArray<PartInput> =>
  typeof prompt === "string" ? [{ type: "text", text: prompt.toWellFormed() }] : prompt

const textOf = (parts: ReadonlyArray<PartInput>): string =>
  parts.flatMap((part) => part.type === "text" ? [part.text] : part.type === "subtask" ? [part.description] : []).join("\n")

const checkParts = (parts: ReadonlyArray<PartInput>) =>
  parts.some((part) => part.type !== "text" || part.text.trim() !== "")
    ? Effect.void
    : Effect.fail(new PromptInvalid({ message: "The prompt is empty: give some text, a file, or a subtask." }))

const stopped = (id: SessionID) =>
  new SessionStopped({ id, message: `The session ${id} was stopped before it answered. What it did is kept.` })

/** Makes the service. */
export const makeSession = Effect.gen(function*() {
  const table = yield* SessionTable
  const storage = yield* SessionStorage
  const journal = yield* Journal
  const agents = yield* Agent
  const ids = yield* Ids
  const { settings } = yield* Config
  const context = yield* Effect.context<LoopServices>()

  const store = Effect.fnUntraced(function*(info: SessionInfo, parent: Live | undefined) {
    yield* journal.commit(
      [{ _tag: "Session", info }],
      [journal.event(info, "session.created", { info }, info.time.created)]
    )
    yield* table.add(info, parent)
    return info
  })

  const create = Effect.fn("Session.create")(function*(options: SessionOptions) {
    const agent = yield* agents.get(options.agent ?? settings.default_agent)
    const now = yield* Clock.currentTimeMillis
    const id = yield* ids.make("ses")
    return yield* store({
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
      version,
      time: { created: now, updated: now }
    }, undefined)
  })

  const createChild = Effect.fn("Session.createChild")(function*(
    parentID: SessionID,
    options: Required<Pick<SessionOptions, "agent" | "title" | "permission">> & Pick<SessionOptions, "model">
  ) {
    const parent = yield* table.open(parentID)
    const { directory, depth, projectID, rootID } = parent.info
    const now = yield* Clock.currentTimeMillis
    return yield* store({
      id: yield* ids.make("ses"),
      parentID,
      rootID,
      depth: depth + 1,
      projectID,
      directory,
      title: options.title,
      agent: options.agent,
      ...(options.model === undefined ? {} : { model: options.model }),
      permission: options.permission,
      usage: { own: none, subtree: none },
      version,
      time: { created: now, updated: now }
    }, parent)
  })

  /** Answers those whose prompt was part of the turn; a later prompt waits for a turn of its own. */
  const answer = (live: Live, running: Running, exit: Exit.Exit<Turn, PromptError>) => {
    const open = new Set(live.inbox.map((row) => row.id))
    for (const [id, waiter] of running.waiters) {
      if (open.has(id)) continue
      running.waiters.delete(id)
      Deferred.unsafeDone(waiter, exit)
    }
  }

  const tellError = Effect.fnUntraced(function*(live: Live, cause: Cause.Cause<PromptError>) {
    const failure = Cause.squash(cause)
    const error = failure instanceof Error
      ? { tag: "_tag" in failure ? String(failure._tag) : "defect", message: failure.message }
      : { tag: "defect", message: String(failure) }
    const now = yield* Clock.currentTimeMillis
    yield* journal.commit([], [journal.event(live.info, "session.error", { error }, now)])
  })

  /** Turns until the inbox is empty. What the last check finds empty and the end of the run are one moment. */
  const work = (live: Live, running: () => Running | undefined): Effect.Effect<void, PromptError, LoopServices> =>
    Effect.gen(function*() {
      for (;;) {
        const exit = yield* Effect.exit(live.slot.work(runTurn(live)))
        const self = running()
        if (Exit.isFailure(exit) && !Cause.isInterruptedOnly(exit.cause)) yield* tellError(live, exit.cause)
        yield* setStatus(live, { type: "idle" })
        const now = yield* Clock.currentTimeMillis
        yield* journal.commit([], [journal.event(live.info, "session.idle", {}, now)])
        if (self !== undefined) answer(live, self, exit)
        if (live.inbox.length === 0) {
          live.running = undefined
          return
        }
      }
    })

  const start = (live: Live): Effect.Effect<Running> =>
    Effect.gen(function*() {
      const waiters: Running["waiters"] = new Map()
      const fiber = yield* Effect.forkIn(
        // A fiber inherits that its parent cannot be interrupted; the loop can.
        Effect.interruptible(Effect.provide(Effect.ignoreLogged(work(live, () => running)), context)),
        live.scope
      )
      const running: Running = { fiber, waiters }
      live.running = running
      // Also where the scope was closed before the fiber could begin: nobody waits for what does not run.
      fiber.addObserver(() => {
        if (live.running === running) live.running = undefined
        for (const waiter of waiters.values()) Deferred.unsafeDone(waiter, Exit.fail(stopped(live.info.id)))
        waiters.clear()
      })
      return running
    })

  const enqueue = Effect.fnUntraced(function*(
    live: Live,
    parts: ReadonlyArray<PartInput>,
    options: PromptOptions
  ) {
    const now = yield* Clock.currentTimeMillis
    const row: InboxRow = {
      id: yield* ids.make("msg"),
      sessionID: live.info.id,
      kind: "prompt",
      parts,
      ...options,
      time: { created: now }
    }
    const titled = live.info.title === untitled ? [change(live, now, { title: firstWords(textOf(parts)) || untitled })] : []
    yield* journal.commit(
      [{ _tag: "Inbox", row }, ...titled],
      titled.length === 0 ? [] : [journal.event(live.info, "session.updated", { info: live.info }, now)]
    )
    return { row, first: titled.length > 0 && live.parent === undefined }
  })

  /** Waits for the answer; whoever gives up last takes the session with it. */
  const wait = (live: Live, id: MessageID, running: Running, waiter: Deferred.Deferred<Turn, PromptError>) =>
    Deferred.await(waiter).pipe(
      Effect.onInterrupt(() =>
        Effect.suspend(() => {
          running.waiters.delete(id)
          return running.waiters.size === 0 ? halt(live) : Effect.void
        })
      )
    )

  const prompt = Effect.fn("Session.prompt")(function*(
    id: SessionID,
    input: string | ReadonlyArray<PartInput>,
    options: PromptOptions = {}
  ) {
    const parts = asParts(input)
    yield* checkParts(parts)
    if (options.agent !== undefined) yield* agents.get(options.agent)
    const live = yield* table.open(id)
    return yield* Effect.uninterruptibleMask((restore) =>
      Effect.gen(function*() {
        const { first, row } = yield* enqueue(live, parts, options)
        live.inbox.push(row)
        const waiter = Deferred.unsafeMake<Turn, PromptError>(noFiber)
        const running = live.running ?? (yield* start(live))
        running.waiters.set(row.id, waiter)
        if (first) {
          yield* Effect.forkIn(Effect.interruptible(Effect.provide(makeTitle(live, textOf(parts)), context)), live.scope)
        }
        return yield* restore(wait(live, row.id, running, waiter))
      })
    )
  })

  const append = Effect.fn("Session.append")(function*(id: SessionID, input: string | ReadonlyArray<PartInput>) {
    const parts = asParts(input)
    yield* checkParts(parts)
    const live = yield* table.open(id)
    const { row } = yield* enqueue(live, parts, {})
    live.inbox.push(row)
  })

  /** Stops what runs, below first told and all awaited together. */
  const halt = (live: Live): Effect.Effect<void> =>
    Effect.suspend(() => {
      const running = live.running
      const below = Effect.forEach(table.below(live.info.id), halt, { concurrency: "unbounded", discard: true })
      return running === undefined
        ? below
        : Effect.zipRight(Effect.zipRight(Fiber.interruptFork(running.fiber), below), Effect.asVoid(Fiber.await(running.fiber)))
    })

  const opened = <A, E, R>(id: SessionID, use: (live: Live) => Effect.Effect<A, E, R>) => Effect.flatMap(table.open(id), use)

  const remove = Effect.fn("Session.remove")(function*(id: SessionID) {
    const live = yield* table.open(id)
    yield* halt(live)
    const now = yield* Clock.currentTimeMillis
    const writes: Array<Write> = [{ _tag: "DeleteSession", id }]
    yield* journal.commit(writes, [journal.event(live.info, "session.deleted", { info: live.info }, now)])
    yield* table.close(id)
  })

  const rename = (id: SessionID, title: string) =>
    opened(id, (live) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => {
        const write = change(live, now, { title })
        return journal.commit([write], [journal.event(live.info, "session.updated", { info: live.info }, now)])
      }))

  const messages = (id: SessionID) =>
    opened(id, (live) =>
      live.messages !== undefined
        ? Effect.succeed(live.messages.map(snapshot))
        : Effect.map(storage.messages(id), (found) => found.rows))

  return {
    create,
    createChild,
    get: (id: SessionID) => Effect.map(table.open(id), (live) => live.info),
    list: (filter: { readonly projectID?: string; readonly limit?: number } = {}) =>
      storage.sessions({ ...filter, roots: true }),
    children: (id: SessionID) => Effect.map(storage.sessions({ parentID: id }), (found) => found.rows),
    messages,
    prompt,
    append,
    stop: (id: SessionID) => opened(id, halt),
    status: (id: SessionID) => Effect.sync(() => table.peek(id)?.status ?? { type: "idle" as const }),
    rename,
    remove
  }
})
