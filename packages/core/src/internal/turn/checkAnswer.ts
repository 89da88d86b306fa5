/** Makes sure that a turn ends with the requested structured output. */
import type { UserMessage } from "@skein/domain/Message"
import * as Effect from "effect/Effect"
import { InvalidAnswer } from "../../Turn.ts"
import { sayToModel } from "../conversation/sayToModel.ts"
import { finalAnswer, type StructuredOutput } from "../conversation/structuredOutput.ts"
import type { Live } from "../live/Live.ts"
import type { Step } from "../model/Step.ts"

/** How often a model may correct its answer. */
const maxCorrections = 3

/** What the model said instead of a valid answer. */
const said = (step: Step): string => {
  const call = step.message.parts.findLast((part) => part.type === "tool" && part.tool === finalAnswer)
  if (call?.type === "tool" && call.state.status === "error") {
    return typeof call.state.input === "string" ? call.state.input : JSON.stringify(call.state.input)
  }
  return step.message.parts.flatMap((part) => part.type === "text" ? [part.text] : []).join("\n")
}

const why = (step: Step): string => {
  const call = step.message.parts.findLast((part) => part.type === "tool" && part.tool === finalAnswer)
  return call?.type === "tool" && call.state.status === "error"
    ? call.state.error.message
    : `the model answered in text instead of calling ${finalAnswer}`
}

/** Reminds a model that its structured output is missing. */
export const askForAnswer = (live: Live, user: UserMessage) =>
  sayToModel(live, user, `Give your final answer by calling the tool ${finalAnswer}.`)

/** Checks a step of a turn with structured output: the answer is there, is still to come, or has failed. */
export const checkAnswer = Effect.fnUntraced(
  function*(live: Live, user: UserMessage, step: Step, structuredOutput: StructuredOutput) {
    if (structuredOutput.answer !== undefined) return true
    const tried = step.calls.length === 0 || step.calls.some((call) => call.tool === finalAnswer)
    if (!tried && !step.last) return false
    structuredOutput.failures++
    if (structuredOutput.failures > maxCorrections || step.last) {
      return yield* new InvalidAnswer({
        message: `No answer of the form that was asked for after ${structuredOutput.failures} tries: ${why(step)}`,
        last: said(step)
      })
    }
    if (step.calls.length === 0) {
      yield* askForAnswer(live, user)
    }
    return false
  }
)
