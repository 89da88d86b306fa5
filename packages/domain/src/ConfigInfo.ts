/** Decides what can be configured. Durations are milliseconds, and may be written as `30m`. */
import * as Schema from "effect/Schema"
import { AgentMode } from "./AgentInfo.ts"
import { Budget } from "./Budget.ts"
import { ClaudeHooksConfig, HooksConfig } from "./HookConfig.ts"
import { JsonSchema } from "./JsonSchema.ts"
import { Milliseconds } from "./Milliseconds.ts"
import { PermissionConfig } from "./Rule.ts"
import { Price } from "./Usage.ts"

const count = Schema.Positive.pipe(Schema.int())
const ModelName = Schema.String.pipe(
  Schema.pattern(/^[^/\s]+\/\S+$/, { message: () => "a model as provider/model, such as openai/gpt-5" })
)

const HttpUrl = Schema.String.pipe(Schema.pattern(/^https?:\/\//, { message: () => "an http(s) URL" }))

/** What one answer of a model may hold; one that holds more ends as an error, and nothing of it is run. */
export const AnswerBounds = Schema.Struct({
  calls: count,
  /** Characters of text and reasoning together. */
  text: count,
  /** Characters of the arguments of all calls together. */
  arguments: count,
  /** Levels of objects and lists in the arguments of a call. */
  nesting: count.pipe(Schema.lessThanOrEqualTo(500))
})
/** The type of the bounds of an answer. */
export interface AnswerBounds extends Schema.Schema.Type<typeof AnswerBounds> {}

/** How many of a thing there may be; see `defaults` in core's Config for what holds without a value. */
export const Limits = Schema.Struct({
  /** The deepest level at which a session may be: sessions there are not offered `task`. */
  subagent_depth: Schema.NonNegativeInt,
  /** Subagents that run at once below one root. */
  concurrency: count,
  /** Subagents that run at once in the process. */
  process_concurrency: count,
  /** Requests that are sent at once to one model with one key; as many as `process_concurrency` where absent. */
  requests: count,
  /** Tasks that one turn of a root may start, at all levels together. */
  max_tasks: count,
  /** Model requests that a subagent may make in a turn, where its definition names no `steps`. */
  subagent_steps: count,
  answer: AnswerBounds
})
/** The type of the limits. */
export interface Limits extends Schema.Schema.Type<typeof Limits> {}

/** How long a model request may take to connect, to say its first word, and to be silent. */
export const Deadlines = Schema.Struct({
  connect: Milliseconds,
  first_event: Milliseconds,
  idle: Milliseconds
})
/** The type of the deadlines. */
export interface Deadlines extends Schema.Schema.Type<typeof Deadlines> {}

/** How a failed model request is tried again; `max_retry_after` caps what a `retry-after` header asks for. */
export const Retry = Schema.Struct({
  attempts: count,
  base: Milliseconds,
  max_delay: Milliseconds,
  max_retry_after: Milliseconds
})
/** The type of the retry settings. */
export interface Retry extends Schema.Schema.Type<typeof Retry> {}

/** Whether conversations are shortened by themselves, and from which share on of what their model reads. */
export const Compaction = Schema.Struct({
  auto: Schema.Boolean,
  threshold: Schema.Positive.pipe(Schema.lessThanOrEqualTo(1))
})
/** The type of the settings of compaction. */
export interface Compaction extends Schema.Schema.Type<typeof Compaction> {}

/** A budget as config has it. */
const BudgetConfig = Schema.Struct({ ...Budget.fields, time: Schema.optional(Milliseconds) })

/** What config may say of a model. */
export const ModelConfig = Schema.Struct({
  name: Schema.optional(Schema.String),
  limit: Schema.optional(Schema.Struct({ context: count, output: count })),
  price: Schema.optional(Price),
  abilities: Schema.optional(
    Schema.Struct({ tools: Schema.Boolean, reasoning: Schema.Boolean, images: Schema.Boolean })
  )
})

/** What config may say of a provider. */
export const ProviderConfig = Schema.Struct({
  /** The API of a provider of your own; `openai-compatible` where absent. */
  type: Schema.optional(Schema.Literal("openai", "openai-compatible", "anthropic", "google")),
  base_url: Schema.optional(HttpUrl),
  api: Schema.optional(Schema.Literal("chat", "responses")),
  /** The name of the environment variable that holds the key. */
  key_env: Schema.optional(Schema.NonEmptyString),
  headers: Schema.optional(Schema.Record({ key: Schema.String, value: Schema.String })),
  /** What `limits.requests` is for each model of this provider. */
  max_requests: Schema.optional(count),
  models: Schema.optional(Schema.Record({ key: Schema.String, value: ModelConfig }))
})
/** The type of a provider's settings. */
export interface ProviderConfig extends Schema.Schema.Type<typeof ProviderConfig> {}

/** Where traces, metrics and logs are sent, by OTLP over HTTP: the base URL, and headers such as a key. */
export const TelemetryConfig = Schema.Struct({
  endpoint: Schema.optional(HttpUrl),
  headers: Schema.optional(Schema.Record({ key: Schema.NonEmptyString, value: Schema.String }))
})
/** The type of the telemetry settings. */
export interface TelemetryConfig extends Schema.Schema.Type<typeof TelemetryConfig> {}

/** The colour that marks an agent while it works. */
const AgentColor = Schema.String.pipe(
  Schema.pattern(/^(?:red|green|yellow|blue|magenta|cyan|white|gray|#[\da-fA-F]{6})$/, {
    description: "red, green, yellow, blue, magenta, cyan, white, gray, or #rrggbb"
  })
)

/** What config may say of an agent; the same keys as an agent's file. */
export const AgentConfig = Schema.Struct({
  description: Schema.optional(Schema.String),
  mode: Schema.optional(AgentMode),
  model: Schema.optional(Schema.Union(ModelName, Schema.Array(ModelName))),
  variant: Schema.optional(Schema.String),
  temperature: Schema.optional(Schema.Number),
  topP: Schema.optional(Schema.Number),
  /** `{task_description}` in it is what the agent was called for: the task's description, or the title of a session that is no task. */
  prompt: Schema.optional(Schema.String),
  /** `replace`: the prompt is all that the agent is told, without role, working rules, instructions and environment. */
  prompt_mode: Schema.optional(Schema.Literal("replace")),
  permission: Schema.optional(PermissionConfig),
  ceiling: Schema.optional(PermissionConfig),
  steps: Schema.optional(count),
  timeout: Schema.optional(Milliseconds),
  maxRetries: Schema.optional(Schema.NonNegativeInt),
  budget: Schema.optional(BudgetConfig),
  isolation: Schema.optional(Schema.Literal("worktree")),
  /** The form of its answers, as a JSON Schema. */
  output: Schema.optional(JsonSchema),
  hidden: Schema.optional(Schema.Boolean),
  color: Schema.optional(AgentColor),
  disable: Schema.optional(Schema.Boolean),
  allowedTools: Schema.optional(Schema.Array(Schema.String)),
  deniedTools: Schema.optional(Schema.Array(Schema.String)),
  allowAgents: Schema.optional(Schema.Array(Schema.String))
})
/** The type of an agent's settings. */
export interface AgentConfig extends Schema.Schema.Type<typeof AgentConfig> {}

/** What config may say of a command; the same keys as a command's file, whose text is the template. */
export const CommandConfig = Schema.Struct({
  /** What the prompt is made of: `$ARGUMENTS`, `$1` and so on, `` !`shell` ``, `@file`. */
  template: Schema.NonEmptyString,
  description: Schema.optional(Schema.String),
  /** Who works on it. */
  agent: Schema.optional(Schema.NonEmptyString),
  model: Schema.optional(ModelName),
  /** Whether it runs as a subagent with a context of its own; where absent, it does if its agent is a subagent. */
  subtask: Schema.optional(Schema.Boolean)
})
/** The type of a command's settings. */
export interface CommandConfig extends Schema.Schema.Type<typeof CommandConfig> {}

/** One file of config; every key may be left out. */
export const ConfigInfo = Schema.Struct({
  $schema: Schema.optional(Schema.String),
  /** The model of agents that name none. */
  model: Schema.optional(ModelName),
  /** The model of small jobs: titles and summaries. */
  small_model: Schema.optional(ModelName),
  /** Whether a model summarises the session after each turn that changed files, with one more request. */
  summaries: Schema.optional(Schema.Boolean),
  /** The agent of a new session. */
  default_agent: Schema.optional(Schema.NonEmptyString),
  permission: Schema.optional(PermissionConfig),
  /** Files that every agent reads besides AGENTS.md: paths, also with `*` and `**`, from where the config file lies. */
  instructions: Schema.optional(Schema.Array(Schema.NonEmptyString)),
  agent: Schema.optional(Schema.Record({ key: Schema.NonEmptyString, value: AgentConfig })),
  /** Prompts with a name, for `skein run --command`. */
  command: Schema.optional(Schema.Record({ key: Schema.NonEmptyString, value: CommandConfig })),
  provider: Schema.optional(Schema.Record({ key: Schema.NonEmptyString, value: ProviderConfig })),
  limits: Schema.optional(
    Schema.partial(Schema.Struct({ ...Limits.fields, answer: Schema.partial(AnswerBounds) }))
  ),
  /** What each new session at a root may use, with everything below it. */
  budget: Schema.optional(BudgetConfig),
  deadlines: Schema.optional(Schema.partial(Deadlines)),
  retry: Schema.optional(Schema.partial(Retry)),
  compaction: Schema.optional(Schema.partial(Compaction)),
  telemetry: Schema.optional(TelemetryConfig),
  /** Whether commands of `bash` run in a sandbox: where there is one (`auto`, the usual), in one or not at all, or never. */
  sandbox: Schema.optional(Schema.Literal("auto", "on", "off")),
  /** Whether commands in a sandbox may use the network. */
  sandbox_network: Schema.optional(Schema.Boolean),
  /** `always`: a person is asked before commands run in the sandbox too. */
  sandbox_ask: Schema.optional(Schema.Literal("auto", "always")),
  /** Paths that commands in the sandbox may read besides the project, the system and toolchains: absolute, or with `~/`. */
  sandbox_read: Schema.optional(
    Schema.Array(
      Schema.String.pipe(Schema.pattern(/^(?:\/|~(?:\/|$))/, { message: () => "an absolute path, or one with ~/" }))
    )
  ),
  /** Names of environment variables that commands may see besides the usual ones. */
  sandbox_env: Schema.optional(Schema.Array(Schema.NonEmptyString)),
  /** Variables that commands of `bash` and hooks see besides. */
  env: Schema.optional(
    Schema.Record({
      key: Schema.String.pipe(
        Schema.pattern(/^[A-Za-z_][A-Za-z0-9_]*$/, { message: () => "the name of a variable, such as NODE_ENV" })
      ),
      value: Schema.String.pipe(Schema.pattern(/^[^\0]*$/, { message: () => "a text without a NUL character" }))
    })
  ),
  /** Commands that run on events, and may block or change them. */
  hooks: Schema.optional(HooksConfig),
  /** The same for commands that are written for Claude Code, as its settings have them. */
  claude_hooks: Schema.optional(ClaudeHooksConfig)
})
/** The type of config. */
export interface ConfigInfo extends Schema.Schema.Type<typeof ConfigInfo> {}
