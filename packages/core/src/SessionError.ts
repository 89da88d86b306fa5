/** Decides how a session says that it cannot do what was asked. */
import { SessionID } from "@skein/domain/Id"
import * as Schema from "effect/Schema"

/** There is no session of this id. */
export class SessionNotFound extends Schema.TaggedError<SessionNotFound>()("SessionNotFound", {
  id: Schema.String,
  message: Schema.String
}) {}

/** The session was stopped before it answered. */
export class SessionStopped extends Schema.TaggedError<SessionStopped>()("SessionStopped", {
  id: SessionID,
  message: Schema.String
}) {}

/** The prompt cannot be taken as it is. */
export class PromptInvalid extends Schema.TaggedError<PromptInvalid>()("PromptInvalid", {
  message: Schema.String
}) {}

/** The model did not give an answer of the form that was asked for; `last` is what it gave in the end. */
export class OutputInvalid extends Schema.TaggedError<OutputInvalid>()("OutputInvalid", {
  message: Schema.String,
  last: Schema.String
}) {}

/** A session has no new summary; one that it had stays. */
export class SummaryFailed extends Schema.TaggedError<SummaryFailed>()("SummaryFailed", {
  id: SessionID,
  reason: Schema.Literal(
    /** Nothing was said in the session yet. */
    "nothing_said",
    /** There is no agent or no model that could write it. */
    "unavailable",
    /** The model failed, refused, or answered nothing. */
    "model"
  ),
  message: Schema.String
}) {}

/** A conversation is longer than its model reads, and cannot be made shorter. */
export class ContextOverflow extends Schema.TaggedError<ContextOverflow>()("ContextOverflow", {
  id: SessionID,
  /** The model, as `provider/model`. */
  model: Schema.String,
  /** How often it was tried to make the conversation shorter. */
  tries: Schema.NonNegativeInt,
  message: Schema.String
}) {}

/** A conversation was not made shorter; it is as it was. */
export class CompactionFailed extends Schema.TaggedError<CompactionFailed>()("CompactionFailed", {
  id: SessionID,
  reason: Schema.Literal(
    /** A turn of it goes on, which sees to its length by itself. */
    "at_work",
    /** There is nothing in it that a summary would be shorter than. */
    "nothing_to_do",
    /** There is no agent or no model that could summarise it. */
    "unavailable",
    /** The model failed, refused, or answered nothing. */
    "model"
  ),
  message: Schema.String
}) {}

/** A session cannot be copied as it was asked for. */
export class ForkRefused extends Schema.TaggedError<ForkRefused>()("ForkRefused", {
  id: SessionID,
  reason: Schema.Literal(
    /** A turn or a task of it goes on. */
    "at_work",
    /** The message at which the copy is to end is none of the session. */
    "unknown_message"
  ),
  message: Schema.String
}) {}

/** A budget that bounds nothing, or that nothing can be within. */
export class BudgetInvalid extends Schema.TaggedError<BudgetInvalid>()("BudgetInvalid", {
  message: Schema.String
}) {}

/** What a session may use is used up, so that nothing more is asked of a model; `text` is what it had said by then. */
export class BudgetExhausted extends Schema.TaggedError<BudgetExhausted>()("BudgetExhausted", {
  /** Whose budget it is: the session's own, or that of one above it. */
  holder: SessionID,
  which: Schema.Literal("tokens", "usd", "steps", "time"),
  text: Schema.String,
  message: Schema.String
}) {}

/** Says that a session was stopped before what was asked of it. */
export const stoppedBefore = (id: SessionID, what: string) =>
  new SessionStopped({ id, message: `The session ${id} was stopped before ${what}. What it did is kept.` })

/** Says that a session is not known. */
export const notFound = (id: string) =>
  new SessionNotFound({ id, message: `There is no session ${id}. See \`skein sessions\` for those that there are.` })
