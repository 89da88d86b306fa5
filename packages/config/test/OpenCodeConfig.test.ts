import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import { expect, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { loadFiles, mistakes, told, type workspace } from "./workspace.ts"

const file = "project/opencode.json"
const hidden = "project/.opencode/opencode.jsonc"

const read = (files: Parameters<typeof workspace>[0], providers?: ReadonlyArray<string>) =>
  Effect.map(
    loadFiles(files, providers === undefined ? {} : { providers }),
    ({ root, settings, warnings, ...loaded }) => ({
      ...loaded,
      settings,
      warnings: warnings.map((issue) => told(root, issue))
    })
  )

layer(NodeFileSystem.layer)("opencode.json", (it) => {
  it.scoped("gives agents, models and rules in its newer shape", () =>
    Effect.gen(function*() {
      const { settings, warnings } = yield* read({
        [file]: {
          $schema: "https://opencode.ai/config.json",
          model: "openai/gpt-5.1",
          small_model: "openai/gpt-5-mini",
          default_agent: "lead",
          permission: { edit: "ask", bash: { "*": "ask", "rm *": "deny" } },
          agent: {
            lead: {
              mode: "primary",
              prompt: "{file:./prompts/lead.txt}",
              permission: { task: { "*": "deny", "scout-*": "ask" } },
              top_p: 0.2,
              reasoningEffort: "high"
            },
            "scout-a": { mode: "subagent", description: "Looks", tools: { write: false, edit: false } },
            general: { disable: true }
          },
          compaction: { auto: false }
        },
        "project/prompts/lead.txt": "You lead.\n"
      })
      expect(settings).toMatchObject({
        model: "openai/gpt-5.1",
        small_model: "openai/gpt-5-mini",
        default_agent: "lead",
        compaction: { auto: false },
        permission: [
          { permission: "edit", pattern: "*", action: "ask" },
          { permission: "bash", pattern: "*", action: "ask" },
          { permission: "bash", pattern: "rm *", action: "deny" }
        ],
        agent: {
          lead: {
            prompt: "You lead.",
            topP: 0.2,
            variant: "high",
            permission: [
              { permission: "task", pattern: "*", action: "deny" },
              { permission: "task", pattern: "scout-*", action: "ask" }
            ]
          },
          "scout-a": { mode: "subagent", deniedTools: ["write", "edit"] },
          general: { disable: true }
        }
      })
      expect(warnings).toEqual([])
    }))

  it.scoped("gives modes as primary agents, and tools as rules, in its older shape", () =>
    Effect.gen(function*() {
      const { settings, warnings } = yield* read({
        [file]: {
          permission: "ask",
          tools: { bash: false, "github_*": false, read: true },
          mode: { build: { tools: { webfetch: false } }, docs: { prompt: "You write.", maxSteps: 9 } }
        }
      })
      expect(settings.permission).toEqual([
        { permission: "*", pattern: "*", action: "ask" },
        { permission: "bash", pattern: "*", action: "deny" },
        { permission: "github_*", pattern: "*", action: "deny" }
      ])
      expect(settings.agent).toEqual({
        build: { mode: "primary", deniedTools: ["webfetch"] },
        docs: { mode: "primary", prompt: "You write.", steps: 9 }
      })
      expect(warnings).toEqual([])
    }))

  it.scoped("has what it denies denied, whichever of its versions reads the order of rules", () =>
    Effect.gen(function*() {
      const { settings, warnings } = yield* read({
        [file]: {
          permission: { bash: { "git push *": "deny", "git *": "ask", "*": "ask" }, webfetch: "deny", "*": "ask" },
          tools: { edit: false }
        }
      })
      expect(settings.permission).toEqual([
        { permission: "*", pattern: "*", action: "ask" },
        { permission: "bash", pattern: "git *", action: "ask" },
        { permission: "bash", pattern: "*", action: "ask" },
        { permission: "bash", pattern: "git push *", action: "deny" },
        { permission: "webfetch", pattern: "*", action: "deny" },
        { permission: "edit", pattern: "*", action: "deny" }
      ])
      expect(warnings).toEqual([
        `${file}:4:7 permission: the rule for "git push *" counts, though a wider one follows it`,
        `${file}:3:5 permission: the rule for "bash" counts, though a wider one follows it`,
        `${file}:8:5 permission: the rule for "webfetch" counts, though a wider one follows it`
      ])
    }))

  it.scoped("leaves only what it turns on where it turns all off, and then that is asked for", () =>
    Effect.gen(function*() {
      const { settings } = yield* read({ [file]: { tools: { "*": false, read: true } } })
      expect(settings.permission).toEqual([
        { permission: "*", pattern: "*", action: "deny" },
        { permission: "read", pattern: "*", action: "ask" }
      ])
    }))

  it.scoped("says what of it cannot be honoured, with its line", () =>
    Effect.gen(function*() {
      const { settings, warnings } = yield* read({
        [file]: JSON.stringify(
          {
            theme: "tokyonight",
            mcp: { x: { type: "local", command: ["x"] } },
            model: "anthropic/claude-sonnet-4-5",
            instructions: ["https://example.com/rules.md"],
            agent: { a: { model: "anthropic/claude-haiku-4-5", color: "accent" } }
          },
          undefined,
          1
        )
      }, ["openai"])
      expect(settings.model).toBeUndefined()
      expect(settings.agent).toEqual({ a: {} })
      expect(warnings).toEqual([
        `${file}:2:2 theme: Skein has no use for it`,
        `${file}:3:2 mcp: there are no MCP servers here, and agents have none of their tools`,
        `${file}:11:2 model: there is no provider "anthropic" here, so that the model of the session is used; agent.NAME.model in skein.json can choose one`,
        `${file}:12:2 instructions: https://example.com/rules.md is not fetched; put the text into a file of the project`,
        `${file}:17:4 agent.a.model: there is no provider "anthropic" here, so that the model of the session is used; agent.NAME.model in skein.json can choose one`,
        `${file}:18:4 agent.a.color: Skein has no colour "accent"`
      ])
    }))

  it.scoped("stands below the files of agents and skein.json, and opencode.json below .opencode/opencode.jsonc", () =>
    Effect.gen(function*() {
      const { files, settings } = yield* read({
        [file]: {
          agent: { a: { description: "1", top_p: 1, steps: 1, temperature: 1, permission: { edit: "deny" } } }
        },
        [hidden]: "// comment\n{ \"agent\": { \"a\": { \"top_p\": 0.5, \"steps\": 2, \"temperature\": 2 } } }",
        "project/.opencode/agents/a.md": "---\nsteps: 3\ntemperature: 3\n---\n",
        "project/skein.json": { agent: { a: { temperature: 4 } } }
      })
      expect(settings.agent).toEqual({
        a: {
          description: "1",
          topP: 0.5,
          steps: 3,
          temperature: 4,
          permission: [{ permission: "edit", pattern: "*", action: "deny" }]
        }
      })
      expect(files.map((path) => path.replace(/^.*?\/project\//, ""))).toEqual([
        "opencode.json",
        ".opencode/opencode.jsonc",
        ".opencode/agents/a.md",
        "skein.json"
      ])
    }))

  it.scoped("has modes in files as well, which agents of the same name replace", () =>
    Effect.gen(function*() {
      const { settings } = yield* read({
        "project/.opencode/mode/ask.md": "---\ntools:\n  edit: false\n---\nYou answer.",
        "project/.opencode/modes/both.md": "---\nmode: all\n---\nBoth.",
        "project/.opencode/mode/twice.md": "mode",
        "project/.opencode/agent/twice.md": "agent"
      })
      expect(settings.agent).toEqual({
        ask: { mode: "primary", deniedTools: ["edit"], prompt: "You answer." },
        both: { mode: "all", prompt: "Both." },
        twice: { prompt: "agent" }
      })
    }))

  it.scoped("is of a project: it does not allow, and reads no secrets", () =>
    Effect.gen(function*() {
      const { settings, warnings } = yield* read({
        [file]:
          "{\n\"permission\": { \"bash\": \"allow\" },\n\"agent\": { \"a\": { \"prompt\": \"{file:../../secret}\" } }\n}"
      })
      expect(settings.permission).toEqual([])
      expect(settings.agent).toEqual({ a: {} })
      expect(warnings).toEqual([
        `${file}:3:29 agent.a.prompt is ignored: a project's file may not read files outside of the project ({file:../../secret})`,
        expect.stringContaining(`${file}:2 permission.bash is ignored: a project's file may not allow`)
      ])
    }))

  it.scoped.each<[string, string | Uint8Array, ReadonlyArray<string>]>([
    ["a misspelt key", "{ \"permissions\": {} }", [":1:3 unknown key \"permissions\"; did you mean \"permission\"?"]],
    ["a key of its own", "{ \"limits\": {} }", [":1:3 unknown key \"limits\"; opencode.json has no such key"]],
    [
      "a misspelt key of an agent",
      "{ \"agent\": { \"a\": { \"promt\": \"x\" } } }",
      [":1:21 unknown key \"promt\" in agent.a; did you mean \"prompt\"?"]
    ],
    [
      "a rule that is none",
      "{ \"permission\": { \"bash\": { \"*\": \"never\" } } }",
      [":1:34 permission.bash.* must be \"allow\", \"ask\" or \"deny\", found \"never\""]
    ],
    [
      "tools that are none",
      "{ \"tools\": { \"bash\": \"no\" } }",
      [":1:12 tools must be an object of names of tools, each true or false"]
    ],
    [
      "one name twice",
      "{ \"agent\": { \"a\": {} },\n\"mode\": { \"a\": {} } }",
      [":2:11 mode.a is the agent that line 1 speaks of already; keep one"]
    ],
    ["an agent that is none", "{ \"agent\": { \"a\": 1 } }", [":1:19 agent.a must be an object"]],
    ["agents that are none", "{ \"agent\": [] }", [":1:12 agent must be an object with a key for each agent"]],
    ["a list", "[]", [":1:1 this must be an object"]],
    ["no JSON", "{ \"model\": }", [":1:12 expected a value"]],
    ["bytes that are not UTF-8", new Uint8Array([123, 10, 0xff]), [":2 this is not UTF-8; save it in that encoding"]],
    ["too much", `{ "username": "${"x".repeat(1024 * 1024)}" }`, [
      " it is too large: 1025 KiB, and 1024 KiB is the most"
    ]]
  ])("is refused with file and line: %s", ([, content, expected]) =>
    Effect.map(
      mistakes({ [file]: content }),
      (found) => expect(found).toEqual(expected.map((message) => `${file}${message}`))
    ))
})
