/** Owns the agents: which ones exist, and which rules each follows. */
import type { AgentInfo } from "@skein/domain/AgentInfo"
import { didYouMean } from "@skein/domain/Lookup"
import { fromConfig, type PermissionConfig, type Ruleset } from "@skein/domain/Rule"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import type { AgentWish } from "./internal/model/generateAgent.ts"
import * as prompts from "./internal/prompts.ts"
import { denials, readingCommands } from "./Ruleset.ts"

/** No agent has this name, or you cannot use it this way. */
export class AgentNotFound extends Schema.TaggedError<AgentNotFound>()("AgentNotFound", {
  name: Schema.String,
  message: Schema.String,
  /** What is wrong with its file, if it has one. */
  fault: Schema.optional(Schema.String)
}) {}

/** Commands that only read, whatever their environment. Each is allowed exactly as written. */
export const readOnlyCommands: ReadonlyArray<string> = [
  "pwd",
  "ls",
  "ls -a",
  "ls -l",
  "ls -la",
  "ls -al",
  "whoami",
  "id",
  "date",
  "uname",
  "uname -a",
  "node --version",
  "npm --version",
  "python3 --version",
  "go version"
]

const readOnly = Object.fromEntries(
  [...readOnlyCommands, readingCommands].map((command) => [command, "allow" as const])
)

/**
 * Rules that allow the commands that only read. They apply to each simple command of a line, in every agent. Permission
 * to read the given paths is asked for separately.
 */
export const readOnlyBash: Ruleset = fromConfig({ bash: readOnly })

/** The rules of every agent, before its own. */
export const defaultRules: Ruleset = fromConfig({
  "*": "ask",
  read: { "*": "allow", "*.env": "ask", "*.env.*": "ask", "*.env.example": "allow" },
  glob: "allow",
  grep: "allow",
  list: "allow",
  task: "allow",
  task_agent: "deny",
  todowrite: "allow",
  todoread: "allow",
  skill: "allow",
  question: "allow",
  bash: { "*": "ask", ...readOnly }
})

/** Where plan mode may write. */
export const planFiles = ".skein/plans/*.md"

const agent = (
  name: string,
  mode: AgentInfo["mode"],
  info: {
    readonly description?: string
    readonly prompt: string
    readonly permission?: PermissionConfig
    readonly ceiling?: PermissionConfig
    readonly hidden?: boolean
  }
): AgentInfo => ({
  name,
  mode,
  ...(info.description === undefined ? {} : { description: info.description }),
  prompt: info.prompt,
  model: [],
  permission: info.permission === undefined ? [] : fromConfig(info.permission),
  ...(info.ceiling === undefined ? {} : { ceiling: fromConfig(info.ceiling) }),
  hidden: info.hidden ?? false,
  origin: "built in"
})

/** The built-in agents. */
export const builtins: ReadonlyArray<AgentInfo> = [
  agent("build", "primary", {
    description: "Works on the project with all tools; asks before it edits or runs commands.",
    prompt: prompts.build
  }),
  agent("plan", "primary", {
    description: "Explores and writes a plan; changes nothing but its plan files.",
    prompt: prompts.plan,
    permission: { edit: { "*": "deny", [planFiles]: "allow" } },
    ceiling: { edit: { "*": "deny", [planFiles]: "allow" } }
  }),
  agent("coordinator", "primary", {
    description: "Divides work among subagents and puts their conclusions together; edits nothing itself.",
    prompt: prompts.coordinator,
    permission: {
      "*": "deny",
      task: "allow",
      task_status: "allow",
      task_message: "allow",
      task_stop: "allow",
      task_wait: "allow",
      read: "allow",
      todowrite: "allow",
      todoread: "allow"
    },
    ceiling: {}
  }),
  agent("general", "subagent", {
    description: "Researches questions and carries out tasks of several steps; for work that no other agent fits.",
    prompt: prompts.general
  }),
  agent("explore", "subagent", {
    description:
      "Explores a codebase quickly: finds files, searches, reads, and answers with evidence. Changes nothing. Say where to look and what to report.",
    prompt: prompts.explore,
    permission: {
      "*": "deny",
      read: { "*": "allow", "*.env": "ask", "*.env.*": "ask", "*.env.example": "allow" },
      glob: "allow",
      grep: "allow",
      list: "allow",
      external_directory: "ask",
      doom_loop: "ask",
      bash: { "*": "deny", ...readOnly }
    }
  }),
  agent("title", "primary", { prompt: prompts.title, permission: "deny", hidden: true }),
  agent("compaction", "primary", { prompt: prompts.compaction, permission: "deny", hidden: true }),
  agent("summary", "primary", { prompt: prompts.summary, permission: "deny", hidden: true })
]

/** The agents. */
export class Agent extends Context.Tag("@skein/core/Agent")<Agent, {
  /** All agents, hidden ones too, sorted by name. */
  readonly all: ReadonlyArray<AgentInfo>
  /** The agent of this name; the error lists the agents that exist. */
  readonly get: (name: string) => Either.Either<AgentInfo, AgentNotFound>
  /** The rules for an agent's own calls: defaults, then the configured rules for all, then its own. */
  readonly rules: (agent: AgentInfo) => Ruleset
  /** The rules that an agent passes down to everything below it. */
  readonly ceiling: (agent: AgentInfo) => Ruleset
  /** The configured rules for all agents. */
  readonly shared: Ruleset
}>() {
  /**
   * These agents and no others. `permission` holds rules for all of them, below the rules of each. Asking for a
   * `broken` agent fails with what is wrong with it.
   */
  static readonly layer = (
    agents: ReadonlyArray<AgentInfo>,
    permission: Ruleset = [],
    broken: ReadonlyArray<{ readonly name: string; readonly message: string }> = []
  ): Layer.Layer<Agent> =>
    Layer.sync(Agent, () => {
      const byName = new Map(agents.map((each) => [each.name, each]))
      const all = [...byName.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1))
      const rules = new Map(all.map((each) => [each.name, [...defaultRules, ...permission, ...each.permission]]))
      const ceilings = new Map(all.map((each) => [each.name, each.ceiling ?? denials(each.permission)]))
      const names = all.filter((each) => !each.hidden).map((each) => each.name)
      return {
        all,
        get: (name) => {
          const found = byName.get(name)
          const wrong = broken.find((each) => each.name === name)
          return found === undefined
            ? Either.left(
              new AgentNotFound({
                name,
                ...(wrong === undefined ? {} : { fault: wrong.message }),
                message: wrong === undefined
                  ? `There is no agent "${name}".${didYouMean(name, names)} Agents: ${
                    names.join(", ")
                  }. See \`skein agents\`.`
                  : `The agent "${name}" cannot be used:
${wrong.message}`
              })
            )
            : Either.right(found)
        },
        rules: ({ name }) => rules.get(name) ?? [],
        ceiling: ({ name }) => ceilings.get(name) ?? [],
        shared: permission
      }
    })

  /** The built-in agents and these; yours replaces a built-in agent of the same name. */
  static readonly layerWith = (agents: ReadonlyArray<AgentInfo>, permission: Ruleset = []): Layer.Layer<Agent> =>
    Agent.layer([...builtins, ...agents], permission)

  /**
   * Asks a model to design an agent with an unused name. The result is a proposal: nothing is stored, and no session is
   * created.
   */
  static readonly generate = Effect.fnUntraced(function*(wish: AgentWish) {
    const { all } = yield* Agent
    // Loaded on first use, which keeps the start fast.
    const { generateAgent } = yield* Effect.promise(() => import("./internal/model/generateAgent.ts"))
    return yield* generateAgent(wish, new Set([...all.map(({ name }) => name), ...wish.taken ?? []]))
  })
}
