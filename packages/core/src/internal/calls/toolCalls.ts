/** The second half of a step: all calls that the model asked for, in parallel, with their results in its order. */
import type { ToolPart } from "@skein/domain/Part"
import * as Effect from "effect/Effect"
import { Config } from "../../Config.ts"
import type { Subject } from "../../Permission.ts"
import type { Call } from "../../Slot.ts"
import { Tools } from "../../Tool.ts"
import type { StructuredOutput } from "../conversation/structuredOutput.ts"
import type { Live } from "../live/Live.ts"
import type { Step } from "../model/Step.ts"
import { isTraced } from "../traced.ts"
import type { CallOptions } from "./CallRecord.ts"
import { makePlaces } from "./currentCall.ts"
import { keepStep } from "./keepStep.ts"
import { makeCalls } from "./makeCalls.ts"
import { countEnded, observedCall } from "./observedCall.ts"
import { toolCall } from "./toolCall.ts"

/**
 * Runs the calls of a step; returns whether the turn ends with them. After a crash, they may have been started before.
 */
export const toolCalls = Effect.fnUntraced(function*(
  live: Live,
  step: Step,
  subject: Subject,
  structuredOutput: StructuredOutput | undefined,
  resumes = false
) {
  const { settings: { limits } } = yield* Config
  const tools = yield* Tools
  // The span of a call needs its fiber.
  const spanned = yield* isTraced
  const observed = (part: ToolPart) => ({ live, message: step.message, part, structuredOutput })
  const places = makePlaces(step.calls.length, limits.concurrency)
  const results = yield* makeCalls(
    live,
    step.calls,
    (part: ToolPart, call: Call, leave: CallOptions["leave"]) =>
      observedCall(
        tools,
        observed(part),
        toolCall({
          live,
          step,
          part,
          subject,
          call,
          places,
          structuredOutput,
          byUser: false,
          resumes,
          ...(spanned || leave === undefined ? {} : { leave })
        })
      ),
    (part, took) => countEnded(tools, observed(part), took)
  )
  yield* keepStep(live, step.message, step.calls)
  return results.some((result) => result.endsTurn)
})
