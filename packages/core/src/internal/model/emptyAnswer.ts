/** Answers in which a model says nothing: which of them are failures, and how those are told. */
import type { FinishReason } from "@skein/domain/Message"
import { formatRef, type ModelRef } from "@skein/domain/Model"
import { ModelError } from "../../Provider.ts"

/** A model ended its answer without having said anything. */
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

/** Whether a model had nothing to say. At the last step of a limit that is its end, and no failure. */
export const isSilence = (error: { readonly _tag: string }): error is ModelError =>
  error instanceof ModelError && error.reason === "empty_response" && error.finish !== "content-filter"

/** Whether an answer was cut off before it said anything: what the model thought took all that it might say. */
export const isCutEmpty = (error: unknown): error is ModelError =>
  error instanceof ModelError && error.reason === "empty_response" && error.finish === "length"
