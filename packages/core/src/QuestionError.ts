/** Decides how to report that a question has no answer. */
import * as Schema from "effect/Schema"

/** No such question waits for an answer. */
export class QuestionNotFound extends Schema.TaggedError<QuestionNotFound>()("QuestionNotFound", {
  id: Schema.String,
  message: Schema.String
}) {}

/** The error for a question that is not open. */
export const notWaiting = (id: string) =>
  new QuestionNotFound({ id, message: `No question ${id} waits for an answer; it may have been answered.` })

/** A question has no answer, and will not get one. */
export class Unanswered extends Schema.TaggedError<Unanswered>()("Unanswered", {
  reason: Schema.Literal(
    /** Nobody can be asked here. */
    "nobody",
    /** The person dismissed it. */
    "dismissed",
    /** A day went by. */
    "expired"
  ),
  message: Schema.String
}) {}

/** The error if nobody can answer. */
export const nobody = new Unanswered({ reason: "nobody", message: "Nobody can be asked here." })
