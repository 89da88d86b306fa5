/** Owns the questions that agents ask of people, other than for permission: who waits for an answer, and what it is. */
import type { QuestionRequest } from "@skein/domain/Event"
import type { PartID, SessionID } from "@skein/domain/Id"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { Answerer } from "./Answerer.ts"
import { makeQuestion } from "./internal/calls/makeQuestion.ts"
import type { Journal } from "./Journal.ts"
import { nobody, notWaiting, type QuestionNotFound, type Unanswered } from "./QuestionError.ts"
import type { StorageError } from "./StorageError.ts"
import type { ToolContext } from "./Tool.ts"

/** The questions of agents. */
export class Question extends Context.Tag("@skein/core/Question")<Question, {
  /** Whether there is anybody who could be asked for a tree of sessions. */
  readonly canAsk: (rootID: SessionID) => boolean
  /**
   * Asks the person at the root, for a call of a tool, and waits for a day at most; clocks of tasks stand still meanwhile.
   * Gives labels of options, or words of the person's own. Interruption withdraws the question.
   */
  readonly ask: (
    call: ToolContext,
    asked: Pick<QuestionRequest, "question" | "options" | "multiple">
  ) => Effect.Effect<ReadonlyArray<string>, Unanswered | StorageError>
  /** Answers a question. */
  readonly reply: (
    id: PartID,
    answers: readonly [string, ...ReadonlyArray<string>]
  ) => Effect.Effect<void, QuestionNotFound | StorageError>
  /** Says that a question will not be answered. */
  readonly dismiss: (id: PartID) => Effect.Effect<void, QuestionNotFound | StorageError>
  /** The questions that wait, oldest first. */
  readonly pending: (rootID?: SessionID) => Effect.Effect<ReadonlyArray<QuestionRequest>>
}>() {
  /** Asks where a person answers for the tree; nobody else can. */
  static readonly layer: Layer.Layer<Question, never, Answerer | Journal> = Layer.effect(Question, makeQuestion)

  /** There is nobody to ask. */
  static readonly layerNobody: Layer.Layer<Question> = Layer.succeed(Question, {
    canAsk: () => false,
    ask: () => nobody,
    reply: (id) => notWaiting(id),
    dismiss: (id) => notWaiting(id),
    pending: () => Effect.succeed([])
  })
}
