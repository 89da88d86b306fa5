/** Follows the tool calls of a subagent and reports them as rows. */
import type { SummaryRow } from "@skein/domain/Event"
import type { ToolPart } from "@skein/domain/Part"
import * as Effect from "effect/Effect"
import * as Runtime from "effect/Runtime"
import { Bus } from "../../Bus.ts"
import type { Live } from "../live/Live.ts"

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

/** The calls of a session, also those of earlier runs, sorted by id. */
const rowsOf = ({ messages = [] }: Live): ReadonlyArray<SummaryRow> =>
  messages.flatMap(({ parts }) => parts.flatMap((part) => part.type === "tool" ? rowOf(part) ?? [] : []))
    .toSorted((a, b) => (a.id < b.id ? -1 : 1))

/** Reports the calls of a session as they change while an effect runs, if somebody watches, and once at its end. */
export const withSummary = <A, E, R>(
  live: Live,
  tell: (rows: ReadonlyArray<SummaryRow>) => Effect.Effect<void>,
  isWatched: (bus: typeof Bus.Service) => boolean,
  effect: Effect.Effect<A, E, R>
): Effect.Effect<A, E, R | Bus> =>
  Effect.scoped(Effect.gen(function*() {
    const bus = yield* Bus
    const scope = yield* Effect.scope
    const runtime = yield* Effect.runtime<never>()
    let isTold = true
    let isTelling = false
    const telling: Effect.Effect<void> = Effect.suspend(() => {
      if (isTold) {
        isTelling = false
        return Effect.void
      }
      isTold = true
      return Effect.zipRight(Effect.zipRight(tell(rowsOf(live)), Effect.sleep(every)), telling)
    })
    yield* bus.listen({ sessionID: live.info.id, deltas: false }, (event) => {
      if (event.type !== "message.part.updated" || event.properties.part.type !== "tool") return
      if (event.properties.part.state.status === "pending") return
      isTold = false
      // A subagent that waits for its model has no fiber for this.
      if (isTelling || !isWatched(bus)) return
      isTelling = true
      Runtime.runFork(runtime)(telling, { scope, immediate: false })
    })
    // The last change may be newer than the last report.
    return yield* Effect.ensuring(
      effect,
      Effect.suspend(() => {
        const rows = rowsOf(live)
        return rows.length === 0 ? Effect.void : tell(rows)
      })
    )
  }))
