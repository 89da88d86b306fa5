/** Follows the tool calls of a subagent and reports them as rows. */
import type { SummaryRow } from "@skein/domain/Event"
import type { SessionID } from "@skein/domain/Id"
import type { ToolPart } from "@skein/domain/Part"
import * as Effect from "effect/Effect"
import * as Runtime from "effect/Runtime"
import { Bus } from "../../Bus.ts"

/** The minimum interval of progress reports, in milliseconds. */
const every = 100

/** A call as a row; a call that has not begun has none. */
const rowOf = (part: ToolPart): SummaryRow | undefined => {
  const { state } = part
  if (state.status === "pending") return undefined
  return {
    id: part.id,
    tool: part.tool,
    state: state.status === "completed" ? { status: "completed", title: state.title } : { status: state.status }
  }
}

/** Rows sorted by id. */
const sortRows = (rows: Iterable<SummaryRow>): ReadonlyArray<SummaryRow> =>
  [...rows].toSorted((a, b) => (a.id < b.id ? -1 : 1))

/** Reports the calls of a session as they change while an effect runs, if somebody watches, and once at its end. */
export const withSummary = <A, E, R>(
  sessionID: SessionID,
  tell: (rows: ReadonlyArray<SummaryRow>) => Effect.Effect<void>,
  isWatched: (bus: typeof Bus.Service) => boolean,
  effect: Effect.Effect<A, E, R>
): Effect.Effect<A, E, R | Bus> =>
  Effect.scoped(Effect.gen(function*() {
    const bus = yield* Bus
    const scope = yield* Effect.scope
    const runtime = yield* Effect.runtime<never>()
    const rows = new Map<string, SummaryRow>()
    let isTold = true
    let isTelling = false
    const telling: Effect.Effect<void> = Effect.suspend(() => {
      if (isTold) {
        isTelling = false
        return Effect.void
      }
      isTold = true
      return Effect.zipRight(Effect.zipRight(tell(sortRows(rows.values())), Effect.sleep(every)), telling)
    })
    yield* bus.listen({ sessionID, deltas: false }, (event) => {
      if (event.type !== "message.part.updated" || event.properties.part.type !== "tool") return
      const row = rowOf(event.properties.part)
      if (row === undefined) return
      rows.set(row.id, row)
      isTold = false
      // A subagent that waits for its model has no fiber for this.
      if (isTelling || !isWatched(bus)) return
      isTelling = true
      Runtime.runFork(runtime)(telling, { scope, immediate: false })
    })
    // The last change may be newer than the last report.
    return yield* Effect.ensuring(
      effect,
      Effect.suspend(() => rows.size === 0 ? Effect.void : tell(sortRows(rows.values())))
    )
  }))
