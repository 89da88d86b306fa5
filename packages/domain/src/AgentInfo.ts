/** Decides what an agent's definition holds. */
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
  /** Its system prompt. `{task_description}` in it is what it was called for: the task's description, or a root's title. */
  prompt: Schema.optional(Schema.String),
  /** `replace`: its prompt is all that it is told; role, working rules, instructions and environment are left out. */
  promptMode: Schema.optional(Schema.Literal("replace")),
  /** The agent's own rules, over the defaults. */
  permission: Ruleset,
  /** What holds for it and everything below it; where absent, the `deny` rules of `permission`. */
  ceiling: Schema.optional(Ruleset),
  steps: Schema.optional(Schema.Positive.pipe(Schema.int())),
  timeout: Schema.optional(Schema.Positive),
  maxRetries: Schema.optional(Schema.NonNegativeInt),
  /** What each of its tasks may use, with everything below it. */
  budget: Schema.optional(Budget),
  /** `worktree`: its tasks work apart from their caller, each in a git worktree of its own. */
  isolation: Schema.optional(Schema.Literal("worktree")),
  /** The form of its answers, which then are JSON; what a prompt asks for itself counts before it. */
  output: Schema.optional(JsonSchema),
  hidden: Schema.Boolean,
  color: Schema.optional(Schema.String),
  /** Where the definition comes from: `built in`, or a file. */
  origin: Schema.String
})
/** The type of an agent. */
export interface AgentInfo extends Schema.Schema.Type<typeof AgentInfo> {}
