/** Defines the config. Durations are milliseconds, and may be written as `30m`. */
import * as Schema from "effect/Schema"
import { ageFrom } from "./Age.ts"
import { AgentMode } from "./AgentInfo.ts"
import { Budget } from "./Budget.ts"
import { ClaudeHooksConfig, HooksConfig } from "./HookConfig.ts"
import { JsonSchema } from "./JsonSchema.ts"
import { McpServerConfig } from "./McpConfig.ts"
import { Milliseconds } from "./Milliseconds.ts"
import { PermissionConfig } from "./Rule.ts"
import { Price } from "./Usage.ts"

const count = Schema.Positive.pipe(Schema.int())
const ModelName = Schema.String.pipe(
  Schema.pattern(/^[^/\s]+\/\S+$/, { message: () => "a model as provider/model, such as openai/gpt-5" })
)

const HttpUrl = Schema.String.pipe(Schema.pattern(/^https?:\/\//, { message: () => "an http(s) URL" }))

/** The maximum size of one model answer; a larger one is an error, and none of its calls runs. */
export const AnswerBounds = Schema.Struct({
  calls: count,
  /** Characters of text and reasoning together. */
  text: count,
  /** Characters of the arguments of all calls together. */
  arguments: count,
  /** Levels of nested objects and lists in the arguments of a call. */
  nesting: count.pipe(Schema.lessThanOrEqualTo(500))
})
/** The type of the bounds of an answer. */
export interface AnswerBounds extends Schema.Schema.Type<typeof AnswerBounds> {}

/** Limits; for their defaults see `defaults` in core's Config. */
export const Limits = Schema.Struct({
  /** The maximum depth of sessions: those at this depth are not offered `task`. */
  subagent_depth: Schema.NonNegativeInt,
  /** The maximum number of parallel subagents below one root. */
  concurrency: count,
  /** The maximum number of parallel subagents in the process. */
  process_concurrency: count,
  /** The maximum number of parallel requests to one model with one key; by default `process_concurrency`. */
  requests: count,
  /** The maximum number of tasks that one turn of a root may start, at all levels together. */
  max_tasks: count,
  /** The maximum number of model requests of a subagent in a turn, unless its definition has `steps`. */
  subagent_steps: count,
  answer: AnswerBounds
})
/** The type of the limits. */
export interface Limits extends Schema.Schema.Type<typeof Limits> {}

/** The time limits of a model request: to connect, to the first word, and between words. */
export const Deadlines = Schema.Struct({
  connect: Milliseconds,
  first_event: Milliseconds,
  idle: Milliseconds
})
/** The type of the deadlines. */
export interface Deadlines extends Schema.Schema.Type<typeof Deadlines> {}

/** How to retry a failed model request; `max_retry_after` caps the delay in a `retry-after` header. */
export const Retry = Schema.Struct({
  attempts: count,
  base: Milliseconds,
  max_delay: Milliseconds,
  max_retry_after: Milliseconds
})
/** The type of the retry settings. */
export interface Retry extends Schema.Schema.Type<typeof Retry> {}

/** Whether conversations are compacted automatically, and at which share of their model's context. */
export const Compaction = Schema.Struct({
  auto: Schema.Boolean,
  threshold: Schema.Positive.pipe(Schema.lessThanOrEqualTo(1))
})
/** The type of the compaction settings. */
export interface Compaction extends Schema.Schema.Type<typeof Compaction> {}

/** How long events are kept. */
export const EventLog = Schema.Struct({ keep: ageFrom(60 * 60_000, "an hour") })
/** The type of the settings of the event log. */
export interface EventLog extends Schema.Schema.Type<typeof EventLog> {}

/** A budget in the config. */
const BudgetConfig = Schema.Struct({ ...Budget.fields, time: Schema.optional(Milliseconds) })

/** The settings of a model. */
export const ModelConfig = Schema.Struct({
  name: Schema.optional(Schema.String),
  limit: Schema.optional(Schema.Struct({ context: count, output: count })),
  price: Schema.optional(Price),
  abilities: Schema.optional(
    Schema.Struct({ tools: Schema.Boolean, reasoning: Schema.Boolean, images: Schema.Boolean })
  )
})

/** The settings of a provider. */
export const ProviderConfig = Schema.Struct({
  /** The API of a custom provider; `openai-compatible` by default. */
  type: Schema.optional(Schema.Literal("openai", "openai-compatible", "anthropic", "google")),
  /** A provider package of the AI SDK, installed beside the user's config, or the absolute path of a module. */
  package: Schema.optional(
    Schema.String.pipe(Schema.pattern(/^(?:\/|(?:@[\w.-]+\/)?[\w-][\w.-]*$)/, {
      message: () => "the name of a package, or an absolute path"
    }))
  ),
  /** What the package is set up with. */
  options: Schema.optional(Schema.Record({ key: Schema.String, value: Schema.Unknown })),
  base_url: Schema.optional(HttpUrl),
  api: Schema.optional(Schema.Literal("chat", "responses")),
  /** The name of the environment variable that holds the key. */
  key_env: Schema.optional(Schema.NonEmptyString),
  headers: Schema.optional(Schema.Record({ key: Schema.String, value: Schema.String })),
  /** `limits.requests` for each model of this provider. */
  max_requests: Schema.optional(count),
  models: Schema.optional(Schema.Record({ key: Schema.String, value: ModelConfig }))
})
/** The type of a provider's settings. */
export interface ProviderConfig extends Schema.Schema.Type<typeof ProviderConfig> {}

/** Where to send traces, metrics and logs by OTLP over HTTP: the base URL, and headers such as a key. */
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

/** The settings of an agent; the same keys as in an agent's file. */
export const AgentConfig = Schema.Struct({
  description: Schema.optional(Schema.String),
  mode: Schema.optional(AgentMode),
  model: Schema.optional(Schema.Union(ModelName, Schema.Array(ModelName))),
  variant: Schema.optional(Schema.String),
  temperature: Schema.optional(Schema.Number),
  topP: Schema.optional(Schema.Number),
  /** `{task_description}` in it is replaced by the task's description, or the title of a session that is not a task. */
  prompt: Schema.optional(Schema.String),
  /** `replace`: the prompt is the whole system prompt, without role, working rules, instructions and environment. */
  prompt_mode: Schema.optional(Schema.Literal("replace")),
  permission: Schema.optional(PermissionConfig),
  ceiling: Schema.optional(PermissionConfig),
  steps: Schema.optional(count),
  timeout: Schema.optional(Milliseconds),
  maxRetries: Schema.optional(Schema.NonNegativeInt),
  budget: Schema.optional(BudgetConfig),
  isolation: Schema.optional(Schema.Literal("worktree")),
  /** The JSON Schema of its answers. */
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

/** The settings of a command; the same keys as in a command's file, whose text is the template. */
export const CommandConfig = Schema.Struct({
  /** The template of the prompt: `$ARGUMENTS`, `$1` and so on, `` !`shell` ``, `@file`. */
  template: Schema.NonEmptyString,
  description: Schema.optional(Schema.String),
  /** The agent that answers. */
  agent: Schema.optional(Schema.NonEmptyString),
  model: Schema.optional(ModelName),
  /** Whether it runs as a subagent with its own context; by default it does if its agent is a subagent. */
  subtask: Schema.optional(Schema.Boolean)
})
/** The type of a command's settings. */
export interface CommandConfig extends Schema.Schema.Type<typeof CommandConfig> {}

/** A config file; every key is optional. */
export const ConfigInfo = Schema.Struct({
  $schema: Schema.optional(Schema.String),
  /** The model of agents without their own. */
  model: Schema.optional(ModelName),
  /** The model for small jobs: titles and summaries. */
  small_model: Schema.optional(ModelName),
  /** Whether a model summarises the session after each turn that changed files, with one more request. */
  summaries: Schema.optional(Schema.Boolean),
  /** The agent of a new session. */
  default_agent: Schema.optional(Schema.NonEmptyString),
  permission: Schema.optional(PermissionConfig),
  /** Files that every agent reads besides AGENTS.md: paths relative to the config file, `*` and `**` included. */
  instructions: Schema.optional(Schema.Array(Schema.NonEmptyString)),
  agent: Schema.optional(Schema.Record({ key: Schema.NonEmptyString, value: AgentConfig })),
  /** Prompts with a name, for `skein run --command`. */
  command: Schema.optional(Schema.Record({ key: Schema.NonEmptyString, value: CommandConfig })),
  provider: Schema.optional(Schema.Record({ key: Schema.NonEmptyString, value: ProviderConfig })),
  /** MCP servers by name, whose tools agents have. */
  mcp: Schema.optional(Schema.Record({ key: Schema.NonEmptyString, value: McpServerConfig })),
  /** How many tokens the tools of MCP servers may take in each request; models search for what is beyond. */
  mcp_budget: Schema.optional(Schema.NonNegativeInt),
  limits: Schema.optional(
    Schema.partial(Schema.Struct({ ...Limits.fields, answer: Schema.partial(AnswerBounds) }))
  ),
  /** The budget of each new root session, with everything below it. */
  budget: Schema.optional(BudgetConfig),
  deadlines: Schema.optional(Schema.partial(Deadlines)),
  retry: Schema.optional(Schema.partial(Retry)),
  compaction: Schema.optional(Schema.partial(Compaction)),
  events: Schema.optional(Schema.partial(EventLog)),
  telemetry: Schema.optional(TelemetryConfig),
  /** Whether commands of `bash` run in a sandbox: if there is one (`auto`, the default), only in one, or never. */
  sandbox: Schema.optional(Schema.Literal("auto", "on", "off")),
  /** Whether commands in a sandbox may use the network. */
  sandbox_network: Schema.optional(Schema.Boolean),
  /** `always`: a person is asked before sandboxed commands run, too. */
  sandbox_ask: Schema.optional(Schema.Literal("auto", "always")),
  /** Paths that sandboxed commands may read besides the project, the system and toolchains: absolute, or with `~/`. */
  sandbox_read: Schema.optional(
    Schema.Array(
      Schema.String.pipe(Schema.pattern(/^(?:\/|~(?:\/|$))/, { message: () => "an absolute path, or one with ~/" }))
    )
  ),
  /** Names of environment variables that commands may see besides the default ones. */
  sandbox_env: Schema.optional(Schema.Array(Schema.NonEmptyString)),
  /** `git`: the files of new sessions are kept in a repository after each step, so that other hosts can continue them. */
  workspace: Schema.optional(Schema.Literal("git")),
  /** The repository for that: the name of a remote, `origin` by default, or a URL. */
  workspace_remote: Schema.optional(Schema.NonEmptyString),
  /** Additional variables for commands of `bash` and for hooks. */
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
  /** Hooks in the format of Claude Code's settings. */
  claude_hooks: Schema.optional(ClaudeHooksConfig)
})
/** The type of config. */
export interface ConfigInfo extends Schema.Schema.Type<typeof ConfigInfo> {}
