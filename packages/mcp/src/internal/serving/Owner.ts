/** Owns what a client has delegated: its roots, its runs, and that nothing of them goes on without the client. */
import { Agent } from "@skein/core/Agent"
import { Answerer } from "@skein/core/Answerer"
import { Bus } from "@skein/core/Bus"
import { modelFor } from "@skein/core/ModelChoice"
import * as MonotonicClock from "@skein/core/MonotonicClock"
import { Permission } from "@skein/core/Permission"
import { Projects } from "@skein/core/Projects"
import { Session } from "@skein/core/Session"
import type { ManyServices } from "@skein/core/Skein"
import { type TaskRequest, Tasks } from "@skein/core/Tasks"
import { outcomeText } from "@skein/core/TaskText"
import type { Event } from "@skein/domain/Event"
import type { SessionID } from "@skein/domain/Id"
import { modeOf } from "@skein/domain/Mode"
import { formatRef } from "@skein/domain/Model"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import type { NonEmptyReadonlyArray as NonEmpty } from "effect/Array"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import * as Scope from "effect/Scope"
import type { McpConnection } from "../../McpService.ts"
import type { Place, ServingHost } from "../../ServingHost.ts"
import { cleanLine } from "../content.ts"
import { Refused, refusedBy } from "./Call.ts"
import { type Ask, type Delegation, type Ended, makeDelegation } from "./Delegation.ts"

/** A root. */
interface Root {
  readonly info: SessionInfo
  /** Passes the questions of a task and of everything below it to its run. */
  readonly connect: (delegation: Delegation) => void
}

/** What a root is made for. */
interface RootOptions {
  readonly place: Place
  /** The name that the client gives itself. */
  readonly client: string
  /** Whether the client can ask a person. */
  readonly canAsk: boolean
}

/** Which run gets which question, by what happens in the tree. */
const makeRouting = (rootID: SessionID) => {
  const parents = new Map<SessionID, SessionID>()
  const runs = new Map<SessionID, Delegation>()
  /** A task may ask before its run is known here. */
  const early: Array<readonly [SessionID, Ask]> = []
  const taskOf = (id: SessionID): SessionID => {
    const parent = parents.get(id)
    return parent === undefined || parent === rootID ? id : taskOf(parent)
  }
  const pass = (ask: Ask): void => {
    const task = taskOf(ask.sessionID)
    const run = runs.get(task)
    if (run === undefined) early.push([task, ask])
    else run.addAsk(ask)
  }
  const connect = (run: Delegation): void => {
    runs.set(run.taskID, run)
    for (const [task, ask] of early.splice(0)) {
      if (task === run.taskID) run.addAsk(ask)
      else early.push([task, ask])
    }
  }
  const onEvent = (event: Event): void => {
    switch (event.type) {
      case "session.created": {
        const { id, parentID } = event.properties.info
        if (parentID !== undefined) parents.set(id, parentID)
        return
      }
      case "permission.asked":
        return pass({ type: "permission", ...event.properties })
      case "question.asked":
        return pass({ type: "question", ...event.properties })
      case "permission.replied":
      case "question.replied":
        return runs.get(taskOf(event.sessionID))?.removeAsk(event.properties.id)
    }
  }
  return { onEvent, connect }
}

/** Makes one, which follows its tree until the scope closes. */
const makeRoot = Effect.fnUntraced(function*({ canAsk, client, place }: RootOptions) {
  const sessions = yield* Session
  const bus = yield* Bus
  const title = `Tasks of ${cleanLine(client, 60) || "an MCP client"}`
  const info = yield* Effect.mapError(sessions.create({ ...place, title }), refusedBy)
  yield* Answerer.set(info.id, canAsk ? "person" : "nobody")
  const { connect, onEvent } = makeRouting(info.id)
  yield* bus.listen({ rootID: info.id, deltas: false }, onEvent)
  return { info, connect } satisfies Root
})

/** Fails if the rules deny such tasks. The client's user has asked for the task, so that nobody else is asked. */
const checkAllowed = Effect.fnUntraced(function*({ info }: Root, agent: string) {
  const permission = yield* Permission
  const subject = yield* Effect.mapError(
    Projects.use(
      info.directory,
      Effect.flatMap(Agent, (agents) =>
        Effect.map(agents.get(info.agent), (own) => ({
          session: info,
          path: [info.agent],
          mode: modeOf(info),
          rules: agents.rules(own),
          ceilings: [agents.ceiling(own)]
        })))
    ),
    refusedBy
  )
  const ask = { permission: "task", patterns: [agent], always: [agent], metadata: {} }
  const action = yield* Effect.mapError(
    permission.decide(subject, { name: "task", permission: "task" }, ask),
    refusedBy
  )
  if (action === "deny") {
    return yield* new Refused({ message: `The rules of this project deny tasks for the agent ${agent}.` })
  }
})

/** Fails if a model would answer that is only there because none is set up: what it says is not what was asked for. */
const checkModel = Effect.fnUntraced(
  function*({ info }: Root, agent: string, fallback: ServingHost["fallback"]) {
    if (fallback === undefined) return
    const { isUsual, model } = yield* Projects.use(info.directory, modelFor(undefined, agent)).pipe(
      // Why it cannot be used, the start of the task says.
      Effect.orElseSucceed(() => ({ model: undefined, isUsual: false }))
    )
    const isFallback = isUsual && model !== undefined && formatRef(model) === formatRef(fallback.model)
    if (isFallback) return yield* new Refused({ message: fallback.message })
  }
)

/** A run, and the fiber that waits for its end. */
interface Held {
  readonly delegation: Delegation
  readonly fiber: Fiber.RuntimeFiber<void>
}

const cancelled: Ended = { how: "cancelled" }

/** What ended a run that has no outcome: its client, or what the services say. */
const endOf = (cause: Cause.Cause<Refused>): Ended =>
  Option.match(Cause.failureOption(cause), {
    onNone: () => cancelled,
    onSome: ({ message }) => ({ how: "settled", text: message, isError: true })
  })

/** Starts it, in a scope that ends with its client. */
const startRun = Effect.fnUntraced(function*(request: TaskRequest, { connect }: Root, scope: Scope.Scope) {
  const tasks = yield* Tasks
  const started = yield* Deferred.make<Delegation, Refused>()
  const ended = yield* Deferred.make<Ended>()
  let delegation: Delegation | undefined
  // Nothing comes between fork and join, so that a run that has started is always waited for.
  const work = Effect.uninterruptible(Effect.gen(function*() {
    const run = yield* tasks.fork(request, {
      started: () => Effect.void,
      summary: (rows) => Effect.sync(() => delegation?.report(rows)),
      settled: () => Effect.void
    })
    const { runID: id, taskID } = run.accepted
    delegation = yield* makeDelegation({ id, taskID }, ended)
    connect(delegation)
    yield* Deferred.succeed(started, delegation)
    return yield* run.join
  })).pipe(
    Effect.flatMap((outcome) =>
      outcome.status === "accepted"
        ? Effect.dieMessage(`${outcome.taskID} was moved to the background`)
        : Effect.map(outcomeText(request.parentID, outcome), (text): Ended => ({
          how: "settled",
          text,
          isError: outcome.status !== "completed"
        }))
    ),
    Effect.mapError(refusedBy)
  )
  const fiber = yield* Effect.forkIn(
    // An interrupted run is reported as well.
    Effect.uninterruptibleMask((restore) =>
      Effect.flatMap(Effect.exit(restore(work)), (exit) =>
        Effect.gen(function*() {
          if (Exit.isSuccess(exit)) return yield* Effect.asVoid(Deferred.succeed(ended, exit.value))
          if (Cause.isDie(exit.cause)) yield* Effect.logError("A delegated task failed", exit.cause)
          const end = endOf(exit.cause)
          const why = end.how === "settled" ? end.text : "The task was cancelled before it began."
          yield* Deferred.fail(started, new Refused({ message: why }))
          yield* Deferred.succeed(ended, end)
        }))
    ),
    scope
  )
  return { delegation: yield* Deferred.await(started), fiber } satisfies Held
})

/** How long an unattended run continues if no connection ends with its client, in milliseconds. */
const patience = 10 * 60_000

/** How long the end of a run can be asked for, in milliseconds, and of how many runs. */
const kept = { time: 24 * 60 * 60_000, runs: 1_000 }

/** What a client wants done. */
interface Delegated {
  readonly agent: string
  readonly prompt: string
  readonly description: string
  readonly directory: string
  /** An earlier task of this client, to continue it. */
  readonly taskID: string | undefined
  /** The name that the client gives itself. */
  readonly client: string
  /** Whether the client can ask a person. */
  readonly canAsk: boolean
}

/** What a client owns. */
export interface Owner {
  /** The directory that the client works in, where that is known. */
  readonly directory: string | undefined
  /** Starts tasks, all or none; each runs until it ends, is cancelled, or its client is gone. */
  readonly start: (tasks: NonEmpty<Delegated>) => Effect.Effect<NonEmpty<Delegation>, Refused, ManyServices>
  /** The run of an id. */
  readonly run: (id: string) => Delegation | undefined
  /** Ends a run at once, and waits until it has ended. */
  readonly cancel: (delegation: Delegation) => Effect.Effect<void>
  readonly runs: () => ReadonlyArray<Delegation>
  /** The runs in the background whose results no call has given yet. */
  readonly unread: Set<Delegation>
  readonly roots: () => ReadonlyArray<Root>
}

/** The roots of a client: one for each directory, made when it is needed. */
const makeRoots = Effect.gen(function*() {
  const scope = yield* Effect.scope
  const turn = yield* Effect.makeSemaphore(1)
  const roots = new Map<string, Root>()
  return {
    all: () => [...roots.values()],
    of: (options: RootOptions) =>
      turn.withPermits(1)(Effect.gen(function*() {
        const { canAsk, client, place } = options
        const key = JSON.stringify([place.directory, canAsk, client])
        const root = roots.get(key) ?? (yield* Scope.extend(makeRoot(options), scope))
        roots.set(key, root)
        return root
      }))
  }
})

const isOver = ({ delegation: { ended } }: Held) => Effect.map(Deferred.poll(ended), Option.isSome)

/** Makes the owner of a connection. When the scope closes, all that runs is ended. */
export const makeOwner = Effect.fnUntraced(function*(host: ServingHost, { directory, isLasting }: McpConnection) {
  const scope = yield* Effect.scope
  const roots = yield* makeRoots
  const runs = new Map<string, Held>()
  const unread = new Set<Delegation>()

  /** What is asked of the core for a task, checked. */
  const checked = Effect.fnUntraced(function*(delegated: Delegated) {
    const { agent, canAsk, client, description, prompt, taskID } = delegated
    const tasks = yield* Tasks
    const place = yield* Effect.mapError(host.place(delegated.directory), refusedBy)
    const root = yield* roots.of({ place, client, canAsk })
    yield* checkAllowed(root, agent)
    yield* checkModel(root, agent, host.fallback)
    const request: TaskRequest = {
      parentID: root.info.id,
      agent,
      description,
      prompt,
      byUser: true,
      promotable: false,
      ...(taskID === undefined ? {} : { taskID })
    }
    yield* Effect.mapError(tasks.check(request), refusedBy)
    return { request, root }
  })

  const cancel = ({ id }: Delegation) =>
    Effect.suspend(() => {
      const fiber = runs.get(id)?.fiber
      return fiber === undefined ? Effect.void : Effect.asVoid(Fiber.interrupt(fiber))
    })

  const start = (delegated: NonEmpty<Delegated>) =>
    Effect.gen(function*() {
      const at = (index: number) => ({ message }: Refused) =>
        new Refused({ message: delegated.length === 1 ? message : `tasks.${index}: ${message}` })
      const all = yield* Effect.forEach(delegated, (each, index) => Effect.mapError(checked(each), at(index)))
      const started: Array<Delegation> = []
      return yield* Effect.forEach(all, ({ request, root }, index) =>
        Effect.gen(function*() {
          const held = yield* Effect.mapError(startRun(request, root, scope), at(index))
          runs.set(held.delegation.id, held)
          started.push(held.delegation)
          return held.delegation
        })).pipe(
          Effect.tapError(() => Effect.forEach(started, cancel, { concurrency: "unbounded", discard: true }))
        )
    })

  /** Forgets what has long ended, and ends what nobody attends to. */
  const review = Effect.gen(function*() {
    const [now, today] = [yield* MonotonicClock.now, yield* Clock.currentTimeMillis]
    for (const held of runs.values()) {
      if (yield* isOver(held)) {
        if (runs.size > kept.runs || today - held.delegation.changed() > kept.time) {
          runs.delete(held.delegation.id)
          unread.delete(held.delegation)
        }
      } else if (!isLasting && held.delegation.isLeft(patience, now)) yield* Fiber.interruptFork(held.fiber)
    }
  })
  yield* Effect.forkScoped(Effect.repeat(review, Schedule.spaced("30 seconds")))

  return {
    directory,
    start,
    run: (id) => runs.get(id)?.delegation,
    cancel,
    unread,
    runs: () => [...runs.values()].map(({ delegation }) => delegation),
    roots: roots.all
  } satisfies Owner
})
