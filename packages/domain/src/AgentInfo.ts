/** Defines what an agent's definition contains. */
import * as Schema from "effect/Schema"
import { Budget } from "./Budget.ts"
import { JsonSchema } from "./JsonSchema.ts"
import { ModelRef } from "./Model.ts"
import { Ruleset } from "./Rule.ts"

/** Where an agent may be used: at the root, as a subagent, or both. */
export const AgentMode = Schema.Literal("primary", "subagent", "all")
/** The type of an agent's mode. */
export type AgentMode = typeof AgentMode.Type

/** An agent: who it is, what it may do, and how it runs. Durations are in milliseconds. */
export const AgentInfo = Schema.Struct({
  name: Schema.NonEmptyString,
  description: Schema.optional(Schema.String),
  mode: AgentMode,
  /** The models to try, in this order; empty means the caller's or the default one. */
  model: Schema.Array(ModelRef),
  variant: Schema.optional(Schema.String),
  temperature: Schema.optional(Schema.Number),
  topP: Schema.optional(Schema.Number),
  /** Its system prompt. `{task_description}` in it is replaced by the task's description, or a root's title. */
  prompt: Schema.optional(Schema.String),
  /** `replace`: its prompt is the whole system prompt, without role, working rules, instructions and environment. */
  promptMode: Schema.optional(Schema.Literal("replace")),
  /** The agent's own rules, over the defaults. */
  permission: Ruleset,
  /** The ceiling for it and everything below it; by default the `deny` rules of `permission`. */
  ceiling: Schema.optional(Ruleset),
  steps: Schema.optional(Schema.Positive.pipe(Schema.int())),
  timeout: Schema.optional(Schema.Positive),
  maxRetries: Schema.optional(Schema.NonNegativeInt),
  /** The budget of each of its tasks, with everything below it. */
  budget: Schema.optional(Budget),
  /** `worktree`: each of its tasks works in its own git worktree. */
  isolation: Schema.optional(Schema.Literal("worktree")),
  /** The schema of its answers, which are then JSON; a schema in the prompt takes precedence. */
  output: Schema.optional(JsonSchema),
  hidden: Schema.Boolean,
  color: Schema.optional(Schema.String),
  /** Where the definition comes from: `built in`, or a file. */
  origin: Schema.String
})
/** The type of an agent. */
export interface AgentInfo extends Schema.Schema.Type<typeof AgentInfo> {}
