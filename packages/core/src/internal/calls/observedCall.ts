/** A tool call with its span and its metrics. */
import type { ToolPart } from "@skein/domain/Part"
import type * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import { countCall } from "../../Metrics.ts"
import type { Tools } from "../../Tool.ts"
import type { StructuredOutput } from "../conversation/structuredOutput.ts"
import type { LiveMessage } from "../live/History.ts"
import { type Live, sessionAttributes } from "../live/Live.ts"
import { traced } from "../traced.ts"
import { toolOf } from "./startCalls.ts"

/** How a call ended, by its stored state; a call that stored nothing was interrupted. */
const outcomeOf = (message: LiveMessage, { id }: ToolPart): string => {
  const part = message.parts.find((each) => each.id === id)
  if (part?.type !== "tool") return "interrupted"
  if (part.state.status === "completed") return "completed"
  return part.state.status === "error" ? part.state.error.tag : "interrupted"
}

/** A call of a message. */
interface Observed {
  readonly live: Live
  readonly message: LiveMessage
  readonly part: ToolPart
  readonly structuredOutput: StructuredOutput | undefined
}

/** The name of its tool. One that a model invented would be a label without limit. */
const nameOf = (tools: Context.Tag.Service<Tools>, { part, structuredOutput }: Observed): string =>
  toolOf(tools, part.tool, structuredOutput)?.name ?? "unknown"

/** Counts a call that has ended, and how long it took (ms). */
export const countEnded = (tools: Context.Tag.Service<Tools>, observed: Observed, took: number): void =>
  countCall(nameOf(tools, observed), outcomeOf(observed.message, observed.part), took)

/** Runs a call with a span. */
export const observedCall = <A, E, R>(
  tools: Context.Tag.Service<Tools>,
  observed: Observed,
  call: Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  traced(
    `Tool.${nameOf(tools, observed)}`,
    () => ({
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": nameOf(tools, observed),
      "gen_ai.tool.call.id": observed.part.id,
      ...sessionAttributes(observed.live)
    }),
    call,
    () => {
      const outcome = outcomeOf(observed.message, observed.part)
      return { outcome, failed: outcome !== "completed" && outcome !== "interrupted" }
    }
  )
