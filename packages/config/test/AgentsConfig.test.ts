import { expect, it } from "@effect/vitest"
import { agentsFrom, layer } from "@skein/config/AgentsConfig"
import { formatIssue } from "@skein/config/ConfigError"
import { Agent, builtins } from "@skein/core/Agent"
import { Config, settle } from "@skein/core/Config"
import { deniesAll, evaluate } from "@skein/core/Ruleset"
import type { ConfigInfo } from "@skein/domain/ConfigInfo"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"

const agentsOf = (config: ConfigInfo) => Either.getOrThrow(agentsFrom(settle(config), builtins)).agents
const agentOf = (config: ConfigInfo, name: string) => agentsOf(config).find((each) => each.name === name)

const wrong = (config: ConfigInfo, origins: Readonly<Record<string, string>> = {}) =>
  Either.match(agentsFrom(settle(config), builtins, origins), {
    onLeft: ({ issues }) => issues.map(formatIssue),
    onRight: () => []
  })

/** The rules of an agent, combined as in core, for a call; and its ceiling. */
const decisions = (config: ConfigInfo, name: string) =>
  Effect.gen(function*() {
    const service = yield* Agent
    const info = yield* service.get(name)
    return {
      says: (permission: string, pattern = "x") => evaluate(service.rules(info), permission, pattern),
      offers: (permission: string) => !deniesAll(service.rules(info), permission),
      hands: (permission: string, pattern = "x") => evaluate(service.ceiling(info), permission, pattern)
    }
  }).pipe(Effect.provide(Layer.provide(layer, Config.layer(config))))

it("leaves the built-in agents unchanged without config", () => {
  expect(agentsOf({})).toEqual(builtins)
})

it("warns of keys of permissions that are nearly those of Skein, and of no others", () => {
  const config: ConfigInfo = {
    permission: {
      bahs: "deny",
      Edit: { "*": "deny" },
      external_dir: "deny",
      github_search: "allow",
      "github_*": "ask",
      bash: "ask"
    },
    agent: { lead: { permission: { webfetsh: "deny" }, ceiling: { reed: "deny" } } }
  }
  const { warnings } = Either.getOrThrow(agentsFrom(settle(config), builtins))
  expect(warnings.map(formatIssue)).toEqual([
    "config: permission.bahs: Skein has no permission or tool \"bahs\"; did you mean \"bash\"?",
    expect.stringContaining("\"Edit\"; did you mean \"edit\"?"),
    expect.stringContaining("did you mean \"external_directory\"?"),
    expect.stringContaining("agent.lead.permission.webfetsh"),
    expect.stringContaining("\"reed\"; did you mean \"read\"?")
  ])
})

it("refuses misspelt keys of permissions in Skein's own files, and notes them in those of other tools", () => {
  const config: ConfigInfo = {
    permission: { bsh: "deny", edti: "deny" },
    agent: {
      a: { permission: { raed: "deny" } },
      b: { permission: { raed: "deny" } },
      c: { permission: { raed: "deny" } }
    }
  }
  const origins = {
    "permission.bsh": "/p/skein.json:3",
    "permission.edti": "/p/.claude/settings.json:4",
    "agent.a.permission.raed": "/p/skein.json:5",
    "agent.b.permission.raed": "/p/.skein/agent/b.md:2",
    "agent.c.permission.raed": "/p/.claude/agents/c.md:2"
  }
  const refused = Either.flip(agentsFrom(settle(config), builtins, origins))
  expect(Either.getOrThrow(refused).issues.map(formatIssue)).toEqual([
    "/p/skein.json:3: permission.bsh: Skein has no permission or tool \"bsh\"; did you mean \"bash\"?",
    "/p/skein.json:5: agent.a.permission.raed: Skein has no permission or tool \"raed\"; did you mean \"read\"?"
  ])
  const { agent: { b, c } = {} } = config
  const others = settle({ permission: { edti: "deny" }, agent: { ...(b && { b }), ...(c && { c }) } })
  const { agents, broken, warnings } = Either.getOrThrow(agentsFrom(others, builtins, origins))
  // A mistake in an agent's file disables that agent.
  expect(broken).toEqual([{
    name: "b",
    message: expect.stringContaining("/p/.skein/agent/b.md:2: agent.b.permission.raed")
  }])
  expect(agents.map(({ name }) => name)).toContain("c")
  expect(warnings.map(({ file, key, kind }) => [file, key, kind])).toEqual([
    ["/p/.claude/settings.json", "permission.edti", undefined],
    ["/p/.claude/agents/c.md", "agent.c.permission.raed", undefined],
    ["/p/.skein/agent/b.md", "agent.b.permission.raed", "broken"]
  ])
})

it("changes only the configured fields of a built-in agent", () => {
  const before = builtins.find(({ name }) => name === "explore")
  const after = agentOf({ agent: { explore: { model: "a/b/c", temperature: 0, steps: 9, maxRetries: 2 } } }, "explore")
  expect(after).toEqual({
    ...before,
    model: [{ providerID: "a", modelID: "b/c" }],
    temperature: 0,
    steps: 9,
    maxRetries: 2,
    origin: "config"
  })
})

it("adds agents, of mode all by default", () => {
  const config: ConfigInfo = {
    agent: {
      review: {
        description: "Reviews",
        prompt: "Review.",
        model: ["a/b", "c/d"],
        variant: "high",
        topP: 0.5,
        timeout: 60_000,
        color: "red",
        permission: { edit: "deny" }
      },
      sub: { mode: "subagent", hidden: true }
    }
  }
  expect(agentOf(config, "review")).toEqual({
    name: "review",
    description: "Reviews",
    prompt: "Review.",
    mode: "all",
    model: [{ providerID: "a", modelID: "b" }, { providerID: "c", modelID: "d" }],
    variant: "high",
    topP: 0.5,
    timeout: 60_000,
    color: "red",
    permission: [{ permission: "edit", pattern: "*", action: "deny" }],
    hidden: false,
    origin: "config"
  })
  expect(agentOf(config, "sub")).toMatchObject({ mode: "subagent", hidden: true })
})

it("removes disabled agents", () => {
  const names = agentsOf({ agent: { general: { disable: true }, mine: { disable: true } } }).map(({ name }) => name)
  expect(names).not.toContain("general")
  expect(names).not.toContain("mine")
  expect(names).toContain("explore")
})

it("reports the origin of an agent", () => {
  const { agents } = Either.getOrThrow(
    agentsFrom(settle({ agent: { mine: { prompt: "x" }, build: { steps: 1 } } }), builtins, {
      "agent.mine.prompt": "/p/skein.json:3",
      "agent.build.steps": "/p/skein.json:7"
    })
  )
  expect(agents.find(({ name }) => name === "mine")?.origin).toBe("/p/skein.json:3")
  expect(agents.find(({ name }) => name === "build")?.origin).toBe("/p/skein.json:7")
  expect(agents.find(({ name }) => name === "plan")?.origin).toBe("built in")
})

it("reports all mistakes, with file and line", () => {
  expect(wrong(
    {
      default_agent: "biuld",
      agent: { "a*": {}, b: { model: ["gpt", "a/b"] }, c: { model: "/x" } }
    },
    { default_agent: "/p/skein.json:2", "agent.b.model": "/p/skein.json:5" }
  )).toEqual([
    "config: \"a*\" is not a valid agent name; use up to 128 characters in one line, without * and ?",
    "/p/skein.json:5: agent.b.model: \"gpt\" is not a model; write provider/model",
    "config: agent.c.model: \"/x\" is not a model; write provider/model",
    "/p/skein.json:2: default_agent: there is no agent \"biuld\"; did you mean \"build\"?"
  ])
})

it("refuses a default agent that cannot be one", () => {
  expect(wrong({ default_agent: "explore" }, { default_agent: "--agent" })).toEqual([
    "--agent: explore is a subagent; the default agent must be primary, or of mode all"
  ])
  expect(wrong({ agent: { build: { disable: true } }, default_agent: "build" }, { default_agent: "skein.json:1" }))
    .toEqual([
      "skein.json:1: default_agent: build is disabled; name another agent"
    ])
})

it("uses another agent if the default one is missing, and another tool's choice only if it exists", () => {
  const chosen = (config: ConfigInfo, origins: Readonly<Record<string, string>> = {}) => {
    const { defaultAgent, warnings } = Either.getOrThrow(agentsFrom(settle(config), builtins, origins))
    return [defaultAgent, ...warnings.map(({ message }) => message)]
  }
  expect(chosen({})).toEqual(["build"])
  expect(chosen({ agent: { build: { disable: true } } })).toEqual(["plan"])
  expect(chosen({ agent: { build: { mode: "subagent" } } })).toEqual(["plan"])
  expect(chosen({ agent: { build: { disable: true }, lead: { mode: "primary" } } })).toEqual(["lead"])
  expect(chosen({ default_agent: "Gyoshu" }, { default_agent: "/p/opencode.json:4" })).toEqual([
    "build",
    "there is no agent \"Gyoshu\""
  ])
})

it.effect("applies top-level rules to every agent, below the rules of each", () =>
  Effect.gen(function*() {
    const config: ConfigInfo = {
      permission: { bash: "allow", read: "deny", webfetch: "allow" },
      agent: { mine: { permission: { webfetch: "deny" } } }
    }
    const build = yield* decisions(config, "build")
    expect([build.says("bash"), build.says("read"), build.says("edit")]).toEqual(["allow", "deny", "ask"])
    const mine = yield* decisions(config, "mine")
    expect([mine.says("bash"), mine.says("webfetch")]).toEqual(["allow", "deny"])
    // The built-in definition must not lift it.
    expect((yield* decisions(config, "explore")).says("read")).toBe("deny")
  }))

it.effect("never lifts what a built-in agent denies, and keeps its exceptions", () =>
  Effect.gen(function*() {
    const config: ConfigInfo = {
      permission: { "*": "allow", edit: "ask" },
      agent: { plan: { permission: { edit: { "*": "allow" } } }, coordinator: { permission: { bash: "allow" } } }
    }
    const plan = yield* decisions(config, "plan")
    expect(plan.says("edit", "src/a.ts")).toBe("deny")
    expect(plan.says("edit", ".skein/plans/a.md")).toBe("allow")
    const coordinator = yield* decisions(config, "coordinator")
    expect([coordinator.says("edit"), coordinator.says("bash"), coordinator.offers("bash")]).toEqual([
      "deny",
      "deny",
      false
    ])
    const explore = yield* decisions(config, "explore")
    expect([explore.says("bash", "rm -r ."), explore.says("bash", "ls"), explore.says("grep")]).toEqual([
      "deny",
      "allow",
      "allow"
    ])
    expect([explore.offers("edit"), explore.offers("read")]).toEqual([false, true])
  }))

it.effect("never widens the ceiling of a built-in agent", () =>
  Effect.gen(function*() {
    const config: ConfigInfo = {
      agent: {
        plan: { ceiling: { "*": "allow", bash: "deny" } },
        explore: { ceiling: {} },
        coordinator: { ceiling: { webfetch: "deny" } },
        mine: { permission: { edit: "deny" }, ceiling: {} },
        other: { permission: { edit: "deny" } }
      }
    }
    const plan = yield* decisions(config, "plan")
    expect([plan.hands("edit"), plan.hands("edit", ".skein/plans/a.md"), plan.hands("bash")]).toEqual([
      "deny",
      "allow",
      "deny"
    ])
    expect((yield* decisions(config, "explore")).hands("edit")).toBe("deny")
    expect((yield* decisions(config, "coordinator")).hands("webfetch")).toBe("deny")
    expect((yield* decisions(config, "coordinator")).hands("edit")).toBeUndefined()
    expect((yield* decisions(config, "mine")).hands("edit")).toBeUndefined()
    expect((yield* decisions(config, "other")).hands("edit")).toBe("deny")
  }))

it.effect("denies all but the allowed tools, which keep their other rules", () =>
  Effect.gen(function*() {
    const agent = yield* decisions({
      permission: { bash: { "rm *": "deny" } },
      agent: {
        a: { allowedTools: ["read", "bash", "write"], permission: { bash: { "npm *": "allow" }, grep: "allow" } }
      }
    }, "a")
    expect([agent.says("read", "a.ts"), agent.says("read", ".env")]).toEqual(["allow", "ask"])
    expect([agent.says("bash", "make"), agent.says("bash", "rm x"), agent.says("bash", "npm i")]).toEqual([
      "ask",
      "deny",
      "allow"
    ])
    // Writing uses the permission to edit.
    expect(agent.says("edit")).toBe("ask")
    expect([agent.says("grep"), agent.says("webfetch"), agent.says("task")]).toEqual(["deny", "deny", "deny"])
    expect([agent.offers("webfetch"), agent.offers("bash"), agent.says("external_directory")]).toEqual([
      false,
      true,
      "ask"
    ])
    // It is a denial like others, so it applies below the agent too.
    expect([agent.hands("webfetch"), agent.hands("read")]).toEqual(["deny", "allow"])
  }))

it.effect("applies a tool's list entry to its whole family, and no catch-all to a tool by name", () =>
  Effect.gen(function*() {
    const config: ConfigInfo = {
      permission: { edit: "allow", patch: "ask" },
      agent: { a: { allowedTools: ["write", "task_wait"] } }
    }
    const agent = yield* decisions(config, "a")
    expect([agent.says("edit"), agent.says("patch"), agent.says("task")]).toEqual(["allow", "ask", "allow"])
    expect(agentOf(config, "a")?.permission.map(({ permission }) => permission)).not.toContain("write")
  }))

it.effect("denies the denied tools, whatever other rules say", () =>
  Effect.gen(function*() {
    const agent = yield* decisions({
      agent: { a: { allowedTools: ["read", "bash"], deniedTools: ["bash"], permission: { bash: "allow" } } }
    }, "a")
    expect([agent.says("bash"), agent.says("read")]).toEqual(["deny", "allow"])
  }))

it.effect("lets an agent start only the allowed agents", () =>
  Effect.gen(function*() {
    const config: ConfigInfo = {
      permission: { task: { "risky": "ask" } },
      agent: {
        a: { allowAgents: ["explore", "risky"] },
        b: { allowAgents: [] },
        c: { allowedTools: ["read"], allowAgents: ["explore"] }
      }
    }
    const a = yield* decisions(config, "a")
    expect([a.says("task", "explore"), a.says("task", "risky"), a.says("task", "general"), a.says("read")]).toEqual([
      "allow",
      "ask",
      "deny",
      "allow"
    ])
    expect((yield* decisions(config, "b")).offers("task")).toBe(false)
    const c = yield* decisions(config, "c")
    expect([c.says("task", "explore"), c.says("task", "general"), c.says("bash")]).toEqual(["allow", "deny", "deny"])
  }))

it.effect("fails as a layer with the mistakes", () =>
  Effect.gen(function*() {
    const error = yield* Effect.flip(decisions({ agent: { a: { model: "gpt" } } }, "a"))
    expect(error).toMatchObject({ _tag: "ConfigError", message: expect.stringContaining("write provider/model") })
  }))
