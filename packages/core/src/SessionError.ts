/** Decides how a session reports that it cannot do what was asked. */
import { SessionID } from "@skein/domain/Id"
import * as Schema from "effect/Schema"

/** No session has this id. */
export class SessionNotFound extends Schema.TaggedError<SessionNotFound>()("SessionNotFound", {
  id: Schema.String,
  message: Schema.String
}) {}

/** The session was stopped before it answered. */
export class SessionStopped extends Schema.TaggedError<SessionStopped>()("SessionStopped", {
  id: SessionID,
  message: Schema.String
}) {}

/** The prompt is not acceptable as it is. */
export class PromptInvalid extends Schema.TaggedError<PromptInvalid>()("PromptInvalid", {
  message: Schema.String
}) {}

/** The model did not give an answer of the requested schema; `last` is its last attempt. */
export class OutputInvalid extends Schema.TaggedError<OutputInvalid>()("OutputInvalid", {
  message: Schema.String,
  last: Schema.String
}) {}

/** A session has no new summary; an earlier one stays. */
export class SummaryFailed extends Schema.TaggedError<SummaryFailed>()("SummaryFailed", {
  id: SessionID,
  reason: Schema.Literal(
    /** The session has no messages yet. */
    "nothing_said",
    /** No agent or model is available to write it. */
    "unavailable",
    /** The model failed, refused, or gave an empty answer. */
    "model"
  ),
  message: Schema.String
}) {}

/** A conversation exceeds its model's context, and cannot be compacted. */
export class ContextOverflow extends Schema.TaggedError<ContextOverflow>()("ContextOverflow", {
  id: SessionID,
  /** The model, as `provider/model`. */
  model: Schema.String,
  /** How often compaction was tried. */
  tries: Schema.NonNegativeInt,
  message: Schema.String
}) {}

/** A conversation was not compacted; it is unchanged. */
export class CompactionFailed extends Schema.TaggedError<CompactionFailed>()("CompactionFailed", {
  id: SessionID,
  reason: Schema.Literal(
    /** A turn is running, which compacts automatically. */
    "at_work",
    /** A summary would not be shorter. */
    "nothing_to_do",
    /** No agent or model is available to summarise it. */
    "unavailable",
    /** The model failed, refused, or gave an empty answer. */
    "model"
  ),
  message: Schema.String
}) {}

/** A session cannot be copied as requested. */
export class ForkRefused extends Schema.TaggedError<ForkRefused>()("ForkRefused", {
  id: SessionID,
  reason: Schema.Literal(
    /** It has a running turn or task. */
    "at_work",
    /** The session has no such last message. */
    "unknown_message"
  ),
  message: Schema.String
}) {}

/** A budget that limits nothing, or that no request can meet. */
export class BudgetInvalid extends Schema.TaggedError<BudgetInvalid>()("BudgetInvalid", {
  message: Schema.String
}) {}

/** A session's budget is exhausted, so no more requests are sent; `text` is what it said until then. */
export class BudgetExhausted extends Schema.TaggedError<BudgetExhausted>()("BudgetExhausted", {
  /** The session with that budget: this one, or one above it. */
  holder: SessionID,
  which: Schema.Literal("tokens", "usd", "steps", "time"),
  /** The limit with its unit, such as `5 steps`. */
  amount: Schema.String,
  text: Schema.String,
  message: Schema.String
}) {}

/** The error for a session that was stopped first. */
export const stoppedBefore = (id: SessionID, what: string) =>
  new SessionStopped({ id, message: `The session ${id} was stopped before ${what}. What it did is kept.` })

/** The error for an unknown session. */
export const notFound = (id: string) =>
  new SessionNotFound({ id, message: `There is no session ${id}. See \`skein sessions\`.` })
