/** Owns what a client has delegated: its roots, its runs, and that nothing of them goes on without the client. */
import * as MonotonicClock from "@skein/core/MonotonicClock"
import type { ManyServices } from "@skein/core/Skein"
import { type TaskRequest, Tasks } from "@skein/core/Tasks"
import type { NonEmptyReadonlyArray as NonEmpty } from "effect/Array"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import * as Scope from "effect/Scope"
import type { McpConnection } from "../../McpService.ts"
import type { ServingHost } from "../../ServingHost.ts"
import type { Delegation } from "./Delegation.ts"
import { Refused, refusedBy } from "./Refused.ts"
import { checkAllowed, checkModel, makeRoot, type Root, type RootOptions } from "./Root.ts"
import { type Held, startRun } from "./startRun.ts"

/** How long an unattended run continues if no connection ends with its client, in milliseconds. */
const patience = 10 * 60_000

/** How long the end of a run can be asked for, in milliseconds, and of how many runs. */
const kept = { time: 24 * 60 * 60_000, runs: 1_000 }

/** What a client wants done. */
export interface Delegated {
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
