/** Structured output: a tool that takes the answer, validates it, and ends the turn. */

import type { Part } from "@skein/domain/Part"
import * as Effect from "effect/Effect"
import * as JSONSchema from "effect/JSONSchema"
import * as Schema from "effect/Schema"
import { type AnyTool, define, ToolError } from "../../Tool.ts"
import { wholeSchema } from "../toolSchema.ts"

/** The name of the tool. */
export const finalAnswer = "final_answer"

/** Where the answer is in the tool's arguments: providers require an object, and schemas may be of any kind. */
export const answerPointer = "#/properties/answer"

/** A requested structured output, and its state. */
export interface StructuredOutput {
  readonly tool: AnyTool
  /** The valid answer, once there is one. */
  answer: { readonly value: unknown } | undefined
  /** How often the model gave an invalid answer, or none. */
  failures: number
}

const unwritable = (message: string) =>
  new ToolError({ kind: "invalid_arguments", message: `The answer has no JSON: ${message}` })

/** The structured output of a part, as JSON; undefined if it has none. */
export const answerIn = (part: Part): string | undefined =>
  part.type === "tool" && part.tool === finalAnswer && part.state.status === "completed"
    && "answer" in part.state.metadata
    ? JSON.stringify(part.state.metadata["answer"])
    : undefined

/** Makes the tool for answers of this schema. */
// oxlint-disable-next-line typescript/no-explicit-any -- what the model sends is unknown until it has been decoded
export const makeStructuredOutput = (schema: Schema.Schema<any, any>): StructuredOutput => {
  const encode = Schema.encode(schema)
  const structuredOutput: StructuredOutput = {
    answer: undefined,
    failures: 0,
    tool: define({
      name: finalAnswer,
      describe:
        "Gives your final answer in the form that is asked for, and ends your work. Call it once, at the end, alone.",
      parameters: Schema.Struct({ answer: schema }),
      inputSchema: wholeSchema({ ...JSONSchema.make(Schema.Struct({ answer: schema })) }),
      effect: "safe",
      title: () => "Final answer",
      authorise: () => Effect.succeed([]),
      execute: ({ answer }) =>
        Effect.map(Effect.mapError(encode(answer), ({ message }) => unwritable(message)), (json) => {
          structuredOutput.answer = { value: answer }
          return { title: "Final answer", output: "Accepted.", metadata: { answer: json } }
        })
    })
  }
  return structuredOutput
}
