/** The way to an answer of a given shape: a tool that takes it, checks it, and ends the turn. */
import type { UserMessage } from "@skein/domain/Message"
import type { Part } from "@skein/domain/Part"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { OutputInvalid } from "../../SessionError.ts"
import { type AnyTool, define, ToolError } from "../../Tool.ts"
import type { Live } from "../live/Live.ts"
import type { Step } from "../turn/modelStep.ts"
import { sayToModel } from "./sayToModel.ts"

/** The name of the tool. */
const finalAnswer = "final_answer"

/** Where in the arguments of the tool the answer stands: forms of all kinds, where providers want an object. */
export const answerPointer = "#/properties/answer"

/** How often a model may mend its answer. */
const mends = 3

/** An answer that is asked for, and what has become of it. */
export interface Wanted {
  readonly tool: AnyTool
  /** The answer, once it is right. */
  answer: { readonly value: unknown } | undefined
  /** How often the model gave a wrong one, or none. */
  failures: number
}

const unwritable = (message: string) =>
  new ToolError({ kind: "invalid_arguments", message: `The answer has no JSON: ${message}` })

/** The answer that a part of a message gave, as JSON; undefined where it gave none. */
export const answerIn = (part: Part): string | undefined =>
  part.type === "tool" && part.tool === finalAnswer && part.state.status === "completed"
    && "answer" in part.state.metadata
    ? JSON.stringify(part.state.metadata["answer"])
    : undefined

/** Asks for an answer of this shape. */
// oxlint-disable-next-line typescript/no-explicit-any -- what the model sends is unknown until it has been decoded
export const want = (schema: Schema.Schema<any, any>): Wanted => {
  const encode = Schema.encode(schema)
  const wanted: Wanted = {
    answer: undefined,
    failures: 0,
    tool: define({
      name: finalAnswer,
      describe:
        "Gives your final answer in the form that is asked for, and ends your work. Call it once, at the end, alone.",
      parameters: Schema.Struct({ answer: schema }),
      effect: "safe",
      title: () => "Final answer",
      authorise: () => Effect.succeed([]),
      execute: ({ answer }) =>
        Effect.map(Effect.mapError(encode(answer), ({ message }) => unwritable(message)), (json) => {
          wanted.answer = { value: answer }
          return { title: "Final answer", output: "Accepted.", metadata: { answer: json } }
        })
    })
  }
  return wanted
}

/** What the model said instead of a right answer. */
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

/** Tells a model that its answer has yet to come in the form that is asked for. */
export const askForAnswer = (live: Live, user: UserMessage) =>
  sayToModel(live, user, `Give your final answer by calling the tool ${finalAnswer}.`)

/** Looks at a step of a turn that wants an answer: whether it is there, is still to come, or will not come any more. */
export const checkAnswer = Effect.fnUntraced(function*(live: Live, user: UserMessage, step: Step, wanted: Wanted) {
  if (wanted.answer !== undefined) return true
  const tried = step.calls.length === 0 || step.calls.some((call) => call.tool === finalAnswer)
  if (!tried && !step.last) return false
  wanted.failures++
  if (wanted.failures > mends || step.last) {
    return yield* new OutputInvalid({
      message: `No answer of the form that was asked for after ${wanted.failures} tries: ${why(step)}`,
      last: said(step)
    })
  }
  if (step.calls.length === 0) {
    yield* askForAnswer(live, user)
  }
  return false
})
