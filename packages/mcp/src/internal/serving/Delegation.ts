/** Owns one run of a task that a client has delegated: what it does, what it asks, and how it ended. */
import * as MonotonicClock from "@skein/core/MonotonicClock"
import type { PermissionRequest, QuestionRequest, SummaryRow } from "@skein/domain/Event"
import type { RunID, SessionID } from "@skein/domain/Id"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { none as noFiber } from "effect/FiberId"
import type * as Scope from "effect/Scope"
import { cleanLine } from "../content.ts"

/** A question that waits for a person. */
export type Ask =
  | ({ readonly type: "permission" } & PermissionRequest)
  | ({ readonly type: "question" } & QuestionRequest)

/** How a run ended: with the text of its outcome, or because the client cancelled it. */
export type Ended =
  | { readonly how: "settled"; readonly text: string; readonly isError: boolean }
  | { readonly how: "cancelled" }

/** A run. */
export interface Delegation {
  readonly id: RunID
  readonly taskID: SessionID
  /** When it was delegated, and when it last changed, in milliseconds since 1970. */
  readonly created: number
  readonly changed: () => number
  /** What it does, in a line. */
  readonly doing: () => string
  /** The questions that wait for an answer. */
  readonly asks: ReadonlyMap<string, Ask>
  readonly addAsk: (ask: Ask) => void
  readonly removeAsk: (id: string) => void
  /** Waits until this holds of the questions that wait. */
  readonly until: (holds: (asks: ReadonlyMap<string, Ask>) => boolean) => Effect.Effect<void>
  readonly ended: Deferred.Deferred<Ended>
  /** Receives what its subagent has called. */
  readonly report: (rows: ReadonlyArray<SummaryRow>) => void
  /** Calls a function with what it does, each time that this changes, until the scope closes. */
  readonly watch: (listener: (doing: string) => void) => Effect.Effect<void, never, Scope.Scope>
  /** Attends to it until the scope closes: a run that nobody attends to may be given up. */
  readonly attend: Effect.Effect<void, never, Scope.Scope>
  /** Whether nobody has attended to it for so many milliseconds, where `now` is of `MonotonicClock`. */
  readonly isLeft: (patience: number, now: number) => boolean
}

/** How many of the latest calls are named. */
const shown = 3

const longest = 200

const lineOf = (rows: ReadonlyArray<SummaryRow>): string => {
  if (rows.length === 0) return "Works; no calls yet."
  const last = rows.slice(-shown).map(({ state, tool }) =>
    state.status === "completed"
      ? `${tool} ${state.title ?? ""}`.trim()
      : state.status === "error"
      ? `${tool} (failed)`
      : `${tool} …`
  )
  return cleanLine(`${rows.length} ${rows.length === 1 ? "call" : "calls"}: ${last.join(", ")}`, longest)
}

/** Makes one. */
export const makeDelegation = Effect.fnUntraced(function*(
  { id, taskID }: { readonly id: RunID; readonly taskID: SessionID },
  ended: Deferred.Deferred<Ended>
) {
  const clock = yield* Effect.clock
  const created = yield* Clock.currentTimeMillis
  const asks = new Map<string, Ask>()
  const listeners = new Set<(doing: string) => void>()
  let changed = created
  let line = lineOf([])
  let attending = 0
  let seen = MonotonicClock.elapsed(clock)
  let asksChange = Deferred.unsafeMake<void>(noFiber)
  const touch = () => {
    changed = clock.unsafeCurrentTimeMillis()
  }
  const tellAsks = () => {
    touch()
    const change = asksChange
    asksChange = Deferred.unsafeMake<void>(noFiber)
    Deferred.unsafeDone(change, Exit.void)
  }
  const until: Delegation["until"] = (holds) =>
    Effect.suspend(() => holds(asks) ? Effect.void : Effect.zipRight(Deferred.await(asksChange), until(holds)))
  return {
    id,
    taskID,
    created,
    changed: () => changed,
    doing: () => line,
    asks,
    addAsk: (ask) => {
      asks.set(ask.id, ask)
      tellAsks()
    },
    removeAsk: (ask) => {
      if (asks.delete(ask)) tellAsks()
    },
    until,
    ended,
    report: (rows) => {
      line = lineOf(rows)
      touch()
      for (const listener of listeners) listener(line)
    },
    watch: (listener) =>
      Effect.asVoid(Effect.acquireRelease(
        Effect.sync(() => listeners.add(listener)),
        () => Effect.sync(() => listeners.delete(listener))
      )),
    attend: Effect.acquireRelease(
      Effect.sync(() => {
        attending += 1
      }),
      () =>
        Effect.sync(() => {
          attending -= 1
          seen = MonotonicClock.elapsed(clock)
        })
    ),
    isLeft: (patience, now) => attending === 0 && now - seen > patience
  } satisfies Delegation
})
