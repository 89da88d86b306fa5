/** Owns the recovery of trees that a dead process left: once, before anything else happens in them. */
import type { SessionID } from "@skein/domain/Id"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Leases } from "../../Leases.ts"
import type { ModelUnavailable } from "../../Provider.ts"
import { heldByAnother, type StorageError } from "../../StorageError.ts"
import type { SessionNotFound } from "../../Turn.ts"
import type { Live } from "../live/Live.ts"
import { SessionTable } from "../live/SessionTable.ts"
import { SessionRunner } from "../runner/SessionRunner.ts"
import { servicesForLater } from "../traced.ts"
import { askAgain, recoverTree } from "./recover.ts"
import type { TaskServices } from "./startRun.ts"
import { confirmStop, stopStored, stopWaiting } from "./stopStored.ts"

type Failure = ModelUnavailable | StorageError

/** The recovery of trees. */
export class Recovery extends Context.Tag("@skein/core/internal/tasks/Recovery")<Recovery, {
  /**
   * Continues the unfinished work of a session's tree, which must be held. Ends when all of it is running, or when the
   * session was stopped. Fails with reason `held` if the tree is left meanwhile, and without touching anything if a model is
   * missing with which some of it began. `anew` asks again for answers for which the process has died too often.
   */
  readonly recover: (live: Live, anew?: boolean) => Effect.Effect<void, Failure>
  /** Stops a session and everything below it, including what a dead process left of it. */
  readonly stop: (live: Live, by?: string) => Effect.Effect<void, SessionNotFound | StorageError>
  /** Runs an effect while nothing of a tree is being recovered: a recovery ends early, and begins again after the effect. */
  readonly instead: <A, E, R>(rootID: SessionID, effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
}>() {
  /** Recovers each tree once at a time. Callers decide how many trees at once. */
  static readonly layer = Layer.effect(
    Recovery,
    Effect.gen(function*() {
      const table = yield* SessionTable
      const runner = yield* SessionRunner
      const leases = yield* Leases
      const context = yield* servicesForLater<TaskServices>()
      /** The number of operations to run before the recovery of a tree, and a latch that opens after the last. */
      const before = new Map<SessionID, { count: number; readonly over: Effect.Latch }>()
      /** The trees that are being recovered; the latch of each opens when that ends. */
      const current = new Map<SessionID, Effect.Latch>()
      /** The roots of recovered trees: what is stored of them may not be in memory. */
      const recovered = new WeakSet<Live>()

      /** Recovers a tree; false if something else was to be waited for, or takes precedence. */
      const attempt = (asked: Live, stops: number, anew: boolean): Effect.Effect<boolean, Failure> =>
        Effect.uninterruptibleMask((restore) =>
          Effect.suspend((): Effect.Effect<boolean, Failure> => {
            const { root } = asked
            const { id } = root.info
            if (table.peek(id) !== root) return heldByAnother("resume", root.info)
            if (root.isRecovered || asked.run.stops !== stops) return Effect.succeed(true)
            const other = before.get(id)?.over ?? current.get(id)
            if (other !== undefined) return Effect.as(restore(other.await), false)
            const stopping = recovered.has(root) ? Effect.void : stopWaiting(id)
            recovered.add(root)
            const over = Effect.unsafeMakeLatch()
            current.set(id, over)
            const mayContinue = () => !before.has(id) && table.peek(id) === root
            return restore(
              Effect.provide(Effect.zipRight(stopping, recoverTree(root, asked, mayContinue, anew)), context)
            ).pipe(
              Effect.map((how) => {
                if (how === "interrupted") return false
                root.isRecovered = true
                if (how === "continued") leases.continued(id)
                return true
              }),
              Effect.ensuring(Effect.suspend(() => current.delete(id) ? over.open : Effect.void))
            )
          })
        )

      const recover = (asked: Live, stops: number, anew: boolean): Effect.Effect<void, Failure> =>
        Effect.flatMap(attempt(asked, stops, anew), (isDone) => isDone ? Effect.void : recover(asked, stops, anew))

      const inFront = <A, E, R>(rootID: SessionID, effect: Effect.Effect<A, E, R>) =>
        Effect.acquireUseRelease(
          Effect.sync(() => {
            const entry = before.get(rootID) ?? { count: 0, over: Effect.unsafeMakeLatch() }
            entry.count++
            before.set(rootID, entry)
            return entry
          }),
          () => effect,
          (entry) =>
            Effect.suspend(() => {
              if (--entry.count > 0) return Effect.void
              before.delete(rootID)
              return Effect.asVoid(entry.over.open)
            })
        )

      // The recovery sees that an operation waits, and ends early. The runs that it has started are in memory.
      const instead = <A, E, R>(rootID: SessionID, effect: Effect.Effect<A, E, R>) =>
        inFront(
          rootID,
          Effect.zipRight(Effect.suspend(() => current.get(rootID)?.await ?? Effect.void), effect)
        )

      return {
        recover: (live, anew = false) =>
          Effect.suspend(() => {
            if (!live.root.isRecovered) return recover(live, live.run.stops, anew)
            return anew ? Effect.provide(askAgain(live.root), context) : Effect.void
          }),
        stop: (live, by) =>
          Effect.suspend((): Effect.Effect<void, SessionNotFound | StorageError> => {
            const { info, root } = live
            const isKnown = root.isRecovered && !recovered.has(root)
            const rest = (isKnown ? confirmStop : stopStored)(live, by, info.stops)
            const stopped = Effect.zipRight(runner.stop(live, by), Effect.provide(rest, context))
            return isKnown ? stopped : instead(root.info.id, stopped)
          }),
        instead
      }
    })
  )
}
