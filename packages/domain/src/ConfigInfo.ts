/**
 * Defines the config: each key with its meaning, and with how far a project's file may set it. Durations are
 * milliseconds, and may be written as `30m`.
 */
import * as Schema from "effect/Schema"
import { AgentMode } from "./AgentInfo.ts"
import { Budget } from "./Budget.ts"
import { free, key, narrows, never, setting, trust } from "./ConfigKey.ts"
import { ClaudeHooksConfig, HooksConfig } from "./HookConfig.ts"
import { JsonSchema } from "./JsonSchema.ts"
import { McpServerConfig } from "./McpConfig.ts"
import { ageFrom, Milliseconds } from "./Milliseconds.ts"
import { PermissionConfig } from "./Rule.ts"
import { Cost } from "./Usage.ts"

const count = Schema.Positive.pipe(Schema.int())
const names = Schema.Array(Schema.NonEmptyString)
const texts = Schema.Record({ key: Schema.NonEmptyString, value: Schema.String })
const ModelName = Schema.String.pipe(
  Schema.pattern(/^[^/\s]+\/\S+$/, { message: () => "a model as provider/model, such as openai/gpt-5" })
)

const HttpUrl = Schema.String.pipe(Schema.pattern(/^https?:\/\//, { message: () => "an http(s) URL" }))

/** A lower amount restricts. */
const amount = narrows("amount")

/** Appends the units of a duration. */
const duration = (text: string): string => `${text} In milliseconds, or text such as "30m".`

/** The maximum size of one model answer; a larger one is an error, and none of its calls runs. */
export const AnswerBounds = Schema.Struct({
  calls: setting(count, amount, "Tool calls."),
  text: setting(count, amount, "Characters of text and reasoning."),
  arguments: setting(count, amount, "Characters of the arguments of all calls."),
  nesting: setting(
    count.pipe(Schema.lessThanOrEqualTo(500)),
    amount,
    "Levels of objects and lists in the arguments of a call."
  )
})
/** The type of the bounds of an answer. */
export interface AnswerBounds extends Schema.Schema.Type<typeof AnswerBounds> {}

/** Limits; for their defaults see `defaults` in core's Config. */
export const Limits = Schema.Struct({
  subagent_depth: setting(
    Schema.NonNegativeInt,
    amount,
    "The deepest level of sessions below the root. Sessions there cannot delegate."
  ),
  concurrency: setting(count, amount, "Subagents at work below one root."),
  process_concurrency: setting(count, amount, "Subagents at work in the process."),
  requests: setting(
    count,
    narrows("amount", { like: "limits.process_concurrency" }),
    "Parallel requests to one model with one key. By default the same as `limits.process_concurrency`."
  ),
  max_tasks: setting(count, amount, "Tasks that one turn of a root may start, at all levels."),
  program_tasks: setting(
    count,
    amount,
    "Tasks that programs and tools may start in one tree while a process works in it."
  ),
  subagent_steps: setting(count, amount, "Model requests in a turn of a subagent whose definition has no `steps`."),
  answer: setting(
    AnswerBounds,
    amount,
    "What one answer of a model may hold. A larger one ends as `AnswerTooLarge`, and none of its calls runs."
  )
})
/** The type of the limits. */
export interface Limits extends Schema.Schema.Type<typeof Limits> {}

/** The time limits of a model request. */
export const Deadlines = Schema.Struct({
  connect: setting(Milliseconds, trust, duration("Time to connect.")),
  first_event: setting(Milliseconds, trust, duration("Time from connecting to the first content.")),
  idle: setting(Milliseconds, trust, duration("The longest silence between two pieces of content."))
})
/** The type of the deadlines. */
export interface Deadlines extends Schema.Schema.Type<typeof Deadlines> {}

/** How to retry a failed model request. */
export const Retry = Schema.Struct({
  attempts: setting(count, trust, "Tries in total."),
  base: setting(Milliseconds, trust, duration("The wait before the second try. It doubles with each try.")),
  max_delay: setting(Milliseconds, trust, duration("The longest wait between two tries.")),
  max_retry_after: setting(Milliseconds, trust, duration("The longest wait that a `retry-after` header may ask for."))
})
/** The type of the retry settings. */
export interface Retry extends Schema.Schema.Type<typeof Retry> {}

/** Whether conversations are compacted automatically, and at which share of their model's context. */
export const Compaction = Schema.Struct({
  auto: setting(Schema.Boolean, trust, "Whether it happens automatically."),
  threshold: setting(
    Schema.Positive.pipe(Schema.lessThanOrEqualTo(1)),
    trust,
    "The share of the model's context window at which it starts."
  )
})
/** The type of the compaction settings. */
export interface Compaction extends Schema.Schema.Type<typeof Compaction> {}

/** How long events are kept. */
export const EventLog = Schema.Struct({
  keep: setting(
    ageFrom(60 * 60_000, "an hour"),
    trust,
    "How long events are kept for replay: milliseconds, or text such as \"36h\", \"30d\" or \"12w\". At least an hour."
  )
})
/** The type of the settings of the event log. */
export interface EventLog extends Schema.Schema.Type<typeof EventLog> {}

/** A budget in the config. */
const BudgetConfig = Schema.Struct({
  tokens: key(Budget.fields.tokens.from, amount, "Input and output tokens of all model requests."),
  usd: key(Budget.fields.usd.from, amount, "US dollars, as a decimal in quotes such as \"0.50\"."),
  steps: key(Budget.fields.steps.from, amount, "Model requests."),
  time: key(Milliseconds, amount, duration("Time at work. Waiting for a person does not count.")),
  tasks: key(Budget.fields.tasks.from, amount, "Tasks started.")
})

const PriceConfig = Schema.Struct({
  input: setting(Cost, trust, "For input."),
  output: setting(Cost, trust, "For output."),
  cacheRead: key(Cost, trust, "For input that is read from the provider's cache."),
  cacheWrite: key(Cost, trust, "For input that is written to the provider's cache.")
}).annotations({
  description: "an object such as {\"input\": \"0.15\", \"output\": \"0.6\"}, in USD for a million tokens"
})

/** The settings of a model. */
export const ModelConfig = Schema.Struct({
  name: key(Schema.String, trust, "The name of the model for people."),
  limit: key(
    Schema.Struct({
      context: setting(count, trust, "Tokens of its context window."),
      output: setting(count, trust, "Tokens of one answer.")
    }),
    trust,
    "How much the model can read and write."
  ),
  price: key(PriceConfig, trust, "Prices in US dollars per million tokens, as decimals in quotes."),
  abilities: key(
    Schema.Struct({
      tools: setting(Schema.Boolean, trust, "Whether it calls tools."),
      reasoning: setting(Schema.Boolean, trust, "Whether it reasons."),
      images: setting(Schema.Boolean, trust, "Whether it reads images.")
    }),
    trust,
    "What the model can do."
  )
})

/** The settings of a provider. A project that adds one would change which provider answers by default. */
export const ProviderConfig = Schema.Struct({
  type: key(
    Schema.Literal("openai", "openai-compatible", "anthropic", "google"),
    trust,
    "The API of a provider of your own. `openai-compatible` if absent."
  ),
  package: key(
    Schema.String.pipe(Schema.pattern(/^(?:\/|(?:@[\w.-]+\/)?[\w-][\w.-]*$)/, {
      message: () => "the name of a package, or an absolute path"
    })),
    never,
    "A provider package of the AI SDK, installed beside your config. Ignored in a project's file."
  ),
  options: key(Schema.Record({ key: Schema.String, value: Schema.Unknown }), never, "What the package is set up with."),
  base_url: key(HttpUrl, trust, "The address of its API."),
  api: key(Schema.Literal("chat", "responses"), trust, "OpenAI's API to use: `chat` or `responses`."),
  key_env: key(Schema.NonEmptyString, trust, "The environment variable that holds the key."),
  headers: key(texts, trust, "Headers that are sent with each request."),
  max_requests: key(
    count,
    narrows("amount", { like: "limits.requests" }),
    "Parallel requests to each of its models. Replaces `limits.requests`."
  ),
  models: key(Schema.Record({ key: Schema.String, value: ModelConfig }), trust, "Its models by name.")
})
/** The type of a provider's settings. */
export interface ProviderConfig extends Schema.Schema.Type<typeof ProviderConfig> {}

/** Where to send traces, metrics and logs by OTLP over HTTP. */
export const TelemetryConfig = Schema.Struct({
  endpoint: key(HttpUrl, trust, "The base URL of the collector."),
  headers: key(texts, trust, "Headers that are sent with each request, such as a key.")
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
  description: key(Schema.String, free, "When other agents should use this agent."),
  mode: key(AgentMode, narrows("own"), "`primary`: you prompt it. `subagent`: agents delegate to it. `all`: both."),
  model: key(
    Schema.Union(ModelName, Schema.Array(ModelName)),
    narrows("vendor"),
    "Its model, or a list of models. The next one answers when a model fails."
  ),
  variant: key(Schema.String, free, "A variant of the model, such as a reasoning effort that the provider knows."),
  temperature: key(Schema.Number, free, "The sampling temperature that is sent to the model."),
  topP: key(Schema.Number, free, "The nucleus sampling value that is sent to the model."),
  prompt: key(
    Schema.String,
    narrows("unset"),
    "Who the agent is. `{task_description}` becomes the description of its task, or the title of another session."
  ),
  prompt_mode: key(
    Schema.Literal("replace"),
    never,
    "`replace` sends the prompt alone, without role, working rules, instructions and environment."
  ),
  permission: key(PermissionConfig, narrows("rules"), "Its rules, over the rules for all agents."),
  ceiling: key(
    PermissionConfig,
    narrows("rules"),
    "Rules that it and all its subagents cannot exceed. By default, what its `permission` denies."
  ),
  steps: key(
    count,
    narrows("amount", { like: "limits.subagent_steps" }),
    "Model requests in a turn before the agent has to conclude."
  ),
  timeout: key(
    Milliseconds,
    narrows("amount", { standard: 30 * 60_000 }),
    duration("How long one of its tasks may take, half an hour by default.")
  ),
  maxRetries: key(
    Schema.NonNegativeInt,
    narrows("amount", { standard: 0 }),
    "How often a failed task of it runs again in the same session."
  ),
  budget: key(BudgetConfig, amount, "What each of its tasks may use, with all tasks below it."),
  isolation: key(
    Schema.Literal("worktree"),
    narrows("own"),
    "`worktree` gives each of its tasks a git worktree and a branch."
  ),
  output: key(JsonSchema, { ...free, whole: true }, "A JSON Schema that each of its answers must match."),
  hidden: key(Schema.Boolean, narrows([false, true]), "Hides it from lists and from other agents."),
  color: key(
    AgentColor,
    free,
    "Its colour on a terminal: red, green, yellow, blue, magenta, cyan, white, gray or #rrggbb."
  ),
  disable: key(Schema.Boolean, narrows("alone"), "Removes the agent, also a built-in one."),
  allowedTools: key(
    Schema.Array(Schema.String),
    narrows("tools"),
    "The only tools that it may use. Short for rules in `permission`."
  ),
  deniedTools: key(
    Schema.Array(Schema.String),
    narrows("tools"),
    "Tools that it may not use. Short for rules in `permission`."
  ),
  allowAgents: key(
    Schema.Array(Schema.String),
    narrows("tools"),
    "The only agents that it may delegate to. Short for rules of `task`."
  )
})
/** The type of an agent's settings. */
export interface AgentConfig extends Schema.Schema.Type<typeof AgentConfig> {}

/** The settings of a command; the same keys as in a command's file, whose text is the template. */
export const CommandConfig = Schema.Struct({
  template: setting(Schema.NonEmptyString, free, "The prompt. It may use `$ARGUMENTS`, `$1`, shell text and `@file`."),
  description: key(Schema.String, free, "What `skein commands` shows."),
  agent: key(Schema.NonEmptyString, free, "The agent that runs it."),
  model: key(ModelName, narrows("vendor"), "The model that runs it."),
  subtask: key(Schema.Boolean, free, "Whether it runs as a task. By default it does when its agent is a subagent.")
})
/** The type of a command's settings. */
export interface CommandConfig extends Schema.Schema.Type<typeof CommandConfig> {}

/** A config file; every key is optional. */
export const ConfigInfo = Schema.Struct({
  $schema: key(Schema.String, free, "The JSON Schema of this file, for editors. `skein init` writes it."),
  model: key(ModelName, narrows("vendor"), "The model of agents that name none, as provider/model."),
  small_model: key(ModelName, narrows("vendor"), "The model that writes titles and summaries."),
  summaries: key(
    Schema.Boolean,
    narrows([true, false], { standard: false }),
    "Whether a model summarises the session after each turn that changed files. This costs one request."
  ),
  default_agent: key(Schema.NonEmptyString, narrows("unset"), "The agent of a new session."),
  permission: key(
    PermissionConfig,
    narrows("rules"),
    "Rules for all agents: `allow`, `ask` or `deny`, by permission and pattern."
  ),
  instructions: key(
    names,
    free,
    "Files that every agent reads besides AGENTS.md. Paths are relative to this file; `*` and `**` work."
  ),
  agent: key(Schema.Record({ key: Schema.NonEmptyString, value: AgentConfig }), free, "Agents by name."),
  command: key(
    Schema.Record({ key: Schema.NonEmptyString, value: CommandConfig }),
    free,
    "Commands by name: prompts that you run with `skein run --command NAME`."
  ),
  provider: key(
    Schema.Record({ key: Schema.NonEmptyString, value: ProviderConfig }),
    trust,
    "Providers of models by name."
  ),
  mcp: key(
    Schema.Record({ key: Schema.NonEmptyString, value: McpServerConfig }),
    trust,
    "MCP servers by name. Agents are offered their tools as `mcp_NAME_TOOL`."
  ),
  mcp_budget: key(
    Schema.NonNegativeInt,
    narrows("amount", { standard: 8_000 }),
    "How many tokens the tools of MCP servers may take in each request, 8000 by default. Agents search for tools beyond."
  ),
  limits: key(
    Schema.partial(Schema.Struct({
      ...Limits.fields,
      answer: setting(
        Schema.partial(AnswerBounds),
        amount,
        "What one answer of a model may hold. A larger one ends as `AnswerTooLarge`, and none of its calls runs."
      )
    })),
    amount,
    "Limits on how much there may be of something."
  ),
  budget: key(BudgetConfig, amount, "What each new session at a root may use, with all its subagents."),
  deadlines: key(Schema.partial(Deadlines), trust, "How long a model request may take."),
  retry: key(Schema.partial(Retry), trust, "How failed model requests are retried."),
  compaction: key(Schema.partial(Compaction), trust, "When long conversations are compacted."),
  events: key(Schema.partial(EventLog), trust, "The log of events, from which clients of the server catch up."),
  telemetry: key(TelemetryConfig, trust, "Where traces, metrics and logs are sent, by OTLP over HTTP."),
  sandbox: key(
    Schema.Literal("auto", "on", "off"),
    narrows(["off", "auto", "on"], { standard: "auto", never: true }),
    "`auto` runs shell commands in a sandbox where one is available, `on` only in one, `off` never."
  ),
  sandbox_network: key(
    Schema.Boolean,
    narrows([true, false], { standard: false }),
    "Whether commands in the sandbox may use the network."
  ),
  sandbox_ask: key(
    Schema.Literal("auto", "always"),
    narrows(["auto", "always"], { standard: "auto" }),
    "`auto` lets the sandbox answer for commands that no rule names, `always` asks you as without a sandbox."
  ),
  sandbox_read: key(
    Schema.Array(
      Schema.String.pipe(Schema.pattern(/^(?:\/|~(?:\/|$))/, { message: () => "an absolute path, or one with ~/" }))
    ),
    trust,
    "Paths that commands in the sandbox may read besides the project, the system and toolchains."
  ),
  sandbox_env: key(names, trust, "Environment variables that commands may see besides the usual ones, by name."),
  workspace: key(
    Schema.Literal("git"),
    trust,
    "`git` keeps the files of new sessions in a repository, so that another host of a cluster can continue."
  ),
  workspace_remote: key(
    Schema.NonEmptyString,
    trust,
    "Where `workspace` pushes to: the name of a remote, or a URL. By default `origin`."
  ),
  env: key(
    Schema.Record({
      key: Schema.String.pipe(
        Schema.pattern(/^[A-Za-z_][A-Za-z0-9_]*$/, { message: () => "the name of a variable, such as NODE_ENV" })
      ),
      value: Schema.String.pipe(Schema.pattern(/^[^\0]*$/, { message: () => "a text without a NUL character" }))
    }),
    trust,
    "Environment variables for shell commands and hooks."
  ),
  hooks: key(HooksConfig, trust, "Shell commands that run on events, by event."),
  claude_hooks: key(ClaudeHooksConfig, trust, "Hooks written for Claude Code, by event.")
})
/** The type of config. */
export interface ConfigInfo extends Schema.Schema.Type<typeof ConfigInfo> {}
