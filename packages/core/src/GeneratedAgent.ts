/** Decides how a model turns a description into an agent, and how that fails. */
import * as Schema from "effect/Schema"

/** A new agent, as a model designed it. */
export const GeneratedAgent = Schema.Struct({
  identifier: Schema.String.pipe(
    Schema.pattern(/^[a-z][a-z0-9]*(?:-[a-z0-9]+)*$/),
    Schema.maxLength(50)
  ).annotations({
    description: "The name of the agent: one to four words in lower case, joined by hyphens, at most 50 characters"
  }),
  whenToUse: Schema.String.pipe(Schema.minLength(1), Schema.maxLength(1_000)).annotations({
    description:
      "For agents that may delegate to it: one or two sentences that begin with \"Use this agent\" and say when"
  }),
  systemPrompt: Schema.String.pipe(Schema.minLength(1), Schema.maxLength(20_000)).annotations({
    description: "The system prompt of the agent, in the second person"
  })
})
/** The type of such an agent. */
export interface GeneratedAgent extends Schema.Schema.Type<typeof GeneratedAgent> {}

/** The model did not produce a usable agent. */
export class AgentNotGenerated extends Schema.TaggedError<AgentNotGenerated>()("AgentNotGenerated", {
  message: Schema.String,
  /** The model's last attempt. */
  last: Schema.String
}) {}
