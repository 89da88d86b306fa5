/** A tool call with its span and its metrics. */
import type { ToolPart } from "@skein/domain/Part"
import * as Effect from "effect/Effect"
import { countCall } from "../../Metrics.ts"
import { Tools } from "../../Tool.ts"
import type { StructuredOutput } from "../conversation/structuredOutput.ts"
import type { LiveMessage } from "../live/History.ts"
import type { Live } from "../live/Live.ts"
import { sessionAttributes } from "../live/spanAttributes.ts"
import { traced } from "../traced.ts"
import { toolOf } from "./startCalls.ts"

/** How a call ended, by its stored state; a call that stored nothing was interrupted. */
const outcomeOf = (message: LiveMessage, { id }: ToolPart): string => {
  const part = message.parts.find((each) => each.id === id)
  if (part?.type !== "tool") return "interrupted"
  if (part.state.status === "completed") return "completed"
  return part.state.status === "error" ? part.state.error.tag : "interrupted"
}

/** Runs a call of a message with span and metrics. */
export const observedCall = <A, E, R>(
  { live, message, part, structuredOutput }: {
    readonly live: Live
    readonly message: LiveMessage
    readonly part: ToolPart
    readonly structuredOutput: StructuredOutput | undefined
  },
  call: Effect.Effect<A, E, R>
): Effect.Effect<A, E, R | Tools> =>
  Effect.flatMap(Tools, (tools) => {
    // A tool name that a model invented would be a label without limit.
    const name = toolOf(tools, part.tool, structuredOutput)?.name ?? "unknown"
    const span = traced(
      `Tool.${name}`,
      () => ({
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": name,
        "gen_ai.tool.call.id": part.id,
        ...sessionAttributes(live)
      }),
      call,
      () => {
        const outcome = outcomeOf(message, part)
        return { outcome, failed: outcome !== "completed" && outcome !== "interrupted" }
      }
    )
    return Effect.suspend(() => {
      const began = live.clock.now()
      return Effect.ensuring(
        span,
        Effect.sync(() => countCall(name, outcomeOf(message, part), live.clock.now() - began))
      )
    })
  })
