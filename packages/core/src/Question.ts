/** Owns the questions that agents ask people, other than for permission: the open ones, and their answers. */
import type { QuestionRequest } from "@skein/domain/Event"
import type { PartID, SessionID } from "@skein/domain/Id"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { type Answerer, nobody, notWaiting, type QuestionNotFound, type Unanswered } from "./Answerer.ts"
import { makeQuestion } from "./internal/calls/makeQuestion.ts"
import type { Journal } from "./Journal.ts"
import type { SessionStorage } from "./SessionStorage.ts"
import type { StorageError } from "./StorageError.ts"
import type { ToolContext } from "./Tool.ts"

/** The questions of agents. */
export class Question extends Context.Tag("@skein/core/Question")<Question, {
  /** Whether a tree of sessions has somebody to ask. */
  readonly canAsk: (rootID: SessionID) => boolean
  /**
   * Asks the person at the root on behalf of a tool call, and waits for up to a day. The clocks of tasks pause
   * meanwhile. Returns labels of options, or the person's own words. Interruption withdraws the question. An answer that was
   * stored before the process ended is not asked for again.
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
  /** Dismisses a question. */
  readonly dismiss: (id: PartID) => Effect.Effect<void, QuestionNotFound | StorageError>
  /** The open questions, oldest first. */
  readonly pending: (rootID?: SessionID) => Effect.Effect<ReadonlyArray<QuestionRequest>>
}>() {
  /** Asks if a person answers for the tree; nobody else can answer. */
  static readonly layer: Layer.Layer<Question, never, Answerer | Journal | SessionStorage> = Layer.effect(
    Question,
    makeQuestion
  )

  /** There is nobody to ask. */
  static readonly layerNobody: Layer.Layer<Question> = Layer.succeed(Question, {
    canAsk: () => false,
    ask: () => nobody,
    reply: (id) => notWaiting(id),
    dismiss: (id) => notWaiting(id),
    pending: () => Effect.succeed([])
  })
}
