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

/** Says that a session is not known. */
export const notFound = (id: string) =>
  new SessionNotFound({ id, message: `There is no session ${id}. See \`skein sessions\` for those that there are.` })
