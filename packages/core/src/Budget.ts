/** Owns what sessions may use: tokens, money, steps, time and tasks, for a session and everything below it. */
import type { Account, Bound, Budget as Limit } from "@skein/domain/Budget"
import type { SessionID } from "@skein/domain/Id"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { checkBudget, keptBelow } from "./internal/budget/BudgetNode.ts"
import { grantWaiting } from "./internal/budget/requests.ts"
import { accountNow, forgoPromise, lineOf, opened } from "./internal/budget/reservations.ts"
import { SessionTable } from "./internal/live/SessionTable.ts"
import { Journal } from "./Journal.ts"
import type { Session } from "./Session.ts"
import type { StorageError } from "./StorageError.ts"
import type { BudgetInvalid, SessionNotFound } from "./Turn.ts"

/** The status of a budget. */
export interface BudgetStatus extends Account {
  /** The session with this budget. */
  readonly sessionID: SessionID
  /** What is reserved for running tasks and open requests, and not used yet. */
  readonly kept: Partial<Record<Bound, string>>
}

/** The budgets of the sessions. */
export class Budget extends Context.Tag("@skein/core/Budget")<Budget, {
  /** Sets what a session and everything below it may use from now on. Without a limit, it is unbounded. */
  readonly set: (
    id: SessionID,
    limit: Limit | undefined
  ) => Effect.Effect<void, BudgetInvalid | SessionNotFound | StorageError>
  /** The budgets that apply to a session: its own and those of the sessions above it, nearest first. */
  readonly of: (id: SessionID) => Effect.Effect<ReadonlyArray<BudgetStatus>, SessionNotFound | StorageError>
}>() {
  /** The budgets of the sessions of this process; `Session.layer` manages them. */
  static readonly layer: Layer.Layer<Budget, never, Journal | Session | SessionTable> = Layer.effect(
    Budget,
    Effect.gen(function*() {
      const table = yield* SessionTable
      const journal = yield* Journal
      return {
        set: Effect.fn("Budget.set")(function*(id, limit) {
          yield* checkBudget(limit)
          yield* table.use(id, (live) =>
            Effect.flatMap(Clock.currentTimeMillis, (now) => {
              forgoPromise(live.budget)
              if (limit === undefined) live.record.dropAccount()
              const patch = limit === undefined ? {} : { budget: opened(live.budget, limit, now) }
              const write = live.record.change(now, patch)
              grantWaiting(live.budget)
              return journal.commit([write])
            }))
        }, Effect.uninterruptible),
        of: (id) =>
          Effect.map(table.open(id), (live) =>
            lineOf(live.budget).flatMap((each) => {
              const account = accountNow(each)
              return account === undefined
                ? []
                : [{ ...account, sessionID: each.session.id, kept: keptBelow(each.held) }]
            }))
      }
    })
  )
}
