/** Logs when the tasks of a process are created, begin to work, and end: one line each, at the level INFO. */
import type { Event } from "@skein/domain/Event"
import type { SessionID } from "@skein/domain/Id"
import { reason } from "@skein/domain/Outcome"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Queue from "effect/Queue"
import { Bus } from "./Bus.ts"

type Created = Event<"subagent.created">["properties"]

/** What each line says of a task. */
const factsOf = ({ agent, depth, description, root, run_id, task_id, trigger_session_id }: Created) => ({
  task: task_id,
  run: run_id,
  parent: trigger_session_id,
  root,
  depth,
  agent,
  description
})

/** The log of all tasks, for programs whose log is read. It costs nothing where it is left out. */
export const layer: Layer.Layer<never, never, Bus> = Layer.scopedDiscard(Effect.gen(function*() {
  const { listen } = yield* Bus
  // Beyond that many, the oldest lines are lost.
  const lines = yield* Queue.sliding<Effect.Effect<void>>(10_000)
  const log = (message: string, facts: Readonly<Record<string, unknown>>) =>
    void lines.unsafeOffer(Effect.annotateLogs(Effect.logInfo(message), facts))
  // What has happened by the end of the process is logged as well.
  yield* Effect.addFinalizer(() => Effect.flatMap(Queue.takeAll(lines), Effect.all))
  yield* Effect.forkScoped(
    Effect.forever(Effect.uninterruptibleMask((restore) => Effect.flatten(restore(Queue.take(lines)))))
  )
  /** The runs that have not begun, oldest first, by their session. */
  const waiting = new Map<SessionID, ReadonlyArray<Created>>()
  const leave = (id: SessionID, isGone: (created: Created) => boolean) => {
    const rest = (waiting.get(id) ?? []).filter((created) => !isGone(created))
    if (rest.length > 0) waiting.set(id, rest)
    else waiting.delete(id)
  }
  yield* listen({ all: true, deltas: false }, (event) => {
    switch (event.type) {
      case "subagent.created":
        waiting.set(event.properties.task_id, [...waiting.get(event.properties.task_id) ?? [], event.properties])
        return log("A task is created", factsOf(event.properties))
      case "session.status": {
        // The runs of a task follow each other.
        const [next] = waiting.get(event.sessionID) ?? []
        if (event.properties.status.type !== "busy" || next === undefined) return
        leave(event.sessionID, (created) => created === next)
        return log("A task begins", factsOf(next))
      }
      case "subagent.completed":
      case "subagent.failed": {
        const { durationMs, outcome, usage } = event.properties
        leave(event.properties.task_id, ({ run_id }) => run_id === event.properties.run_id)
        return log("A task has ended", {
          ...factsOf(event.properties),
          outcome: outcome.status,
          ...(outcome.status === "completed" ? {} : { reason: reason(outcome) }),
          durationMs,
          steps: usage.steps,
          tokens: usage.tokens.input + usage.tokens.output,
          cost: usage.cost
        })
      }
    }
  })
}))
