/** Empty answers: which of them are failures, and how to report those. */
import type { FinishReason } from "@skein/domain/Message"
import { formatRef, type ModelRef } from "@skein/domain/Model"
import { ModelError } from "../../Provider.ts"

/** A model ended its answer without saying anything. */
export const nothingSaid = (model: ModelRef, finish: FinishReason) =>
  finish === "content-filter"
    ? new ModelError({
      reason: "invalid_request",
      retryable: false,
      finish,
      message: `${formatRef(model)} refused to answer: its content filter ended the answer.`
    })
    : new ModelError({
      reason: "empty_response",
      retryable: true,
      finish,
      message: `${formatRef(model)} ended without text or tool calls (finish reason: ${finish}).`
    })

/** Whether an answer is empty. At the last step of a limit that is a normal end, and no failure. */
export const isSilence = (error: { readonly _tag: string }): error is ModelError =>
  error instanceof ModelError && error.reason === "empty_response" && error.finish !== "content-filter"

/** Whether an answer was cut off before it said anything: reasoning took all its tokens. */
export const isCutEmpty = (error: unknown): error is ModelError =>
  error instanceof ModelError && error.reason === "empty_response" && error.finish === "length"
