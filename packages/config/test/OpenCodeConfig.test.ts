import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import { expect, layer } from "@effect/vitest"
import { defaultRules } from "@skein/core/Agent"
import { evaluate } from "@skein/core/Ruleset"
import { fromConfig } from "@skein/domain/Rule"
import * as Effect from "effect/Effect"
import { formatIssue, loadFiles, remarks, type workspace } from "./workspace.ts"

const file = "project/opencode.json"
const hidden = "project/.opencode/opencode.jsonc"

const read = (files: Parameters<typeof workspace>[0], providers?: ReadonlyArray<string>) =>
  Effect.map(
    loadFiles(files, providers === undefined ? {} : { providers }),
    ({ root, settings, warnings, ...loaded }) => ({
      ...loaded,
      settings,
      warnings: warnings.map((issue) => formatIssue(root, issue))
    })
  )

layer(NodeFileSystem.layer)("opencode.json", (it) => {
  it.scoped("defines agents, models and rules in its newer form", () =>
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
          compaction: { auto: true }
        },
        "project/prompts/lead.txt": "You lead.\n"
      })
      expect(settings).toMatchObject({
        model: "openai/gpt-5.1",
        small_model: "openai/gpt-5-mini",
        default_agent: "lead",
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
          "scout-a": { mode: "subagent", deniedTools: ["edit"] },
          general: { disable: true }
        }
      })
      expect(warnings).toEqual([])
    }))

  it.scoped("defines modes as primary agents, and tools as rules, in its older form", () =>
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
        { permission: "github_*", pattern: "*", action: "deny" },
        { permission: "mcp_github_*", pattern: "*", action: "deny" }
      ])
      expect(settings.agent).toEqual({
        build: { mode: "primary", deniedTools: ["webfetch"] },
        docs: { mode: "primary", prompt: "You write.", steps: 9 }
      })
      expect(warnings).toEqual([])
    }))

  it.scoped("denies what any of its versions denies, despite their different order of rules", () =>
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
        `${file}:4:7 permission: the rule for "git push *" applies, although a wider one follows it`,
        `${file}:3:5 permission: the rule for "bash" applies, although a wider one follows it`,
        `${file}:8:5 permission: the rule for "webfetch" applies, although a wider one follows it`
      ])
    }))

  it.scoped("keeps only what it turns on if it turns everything off, with the other rules", () =>
    Effect.gen(function*() {
      const { settings } = yield* read({ [file]: { tools: { "*": false, read: true, webfetch: true } } })
      const of = (permission: string, pattern: string) =>
        evaluate([...defaultRules, ...fromConfig(settings.permission ?? {})], permission, pattern)
      expect([of("read", "a"), of("read", "a.env"), of("webfetch", "x"), of("grep", "x"), of("bash", "ls")])
        .toEqual(["allow", "ask", "ask", "deny", "deny"])
    }))

  it.scoped("treats a model of an unusable provider as a preference, even from the environment", () =>
    Effect.gen(function*() {
      const loaded = yield* loadFiles({
        [file]: {
          model: "{env:MODEL}",
          small_model: "{env:SMALL}",
          agent: { a: { model: "{env:MODEL}" }, b: { model: "{env:UNSET}" } }
        }
      }, { providers: ["openai"], env: { MODEL: "zed/z-1", SMALL: "openai/gpt-5-mini" } })
      expect(loaded.settings.model).toBeUndefined()
      expect(loaded.settings.small_model).toBe("openai/gpt-5-mini")
      expect(loaded.settings.agent).toEqual({ a: {}, b: {} })
      expect(loaded.warnings.map(({ key, kind }) => [kind, key])).toEqual([
        ["note", "model"],
        ["note", "agent.a.model"],
        ["note", "agent.b.model"]
      ])
      // The value of a variable is not shown.
      expect(JSON.stringify(loaded.warnings)).not.toContain("zed")
    }))

  it.scoped("reports ignored parts with their line", () =>
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
      expect(settings.agent).toEqual({ a: { model: "session/small" } })
      expect(warnings).toEqual([
        `${file}:2:2 theme: Skein ignores it`,
        `${file}:12:2 instructions: https://example.com/rules.md is not fetched; copy the text into a file of the project`,
        `${file}:18:4 agent.a.color: Skein has no colour "accent"`,
        `${file}:4 mcp.x is ignored: a project's file sets it only with your trust; it may be trusted`
      ])
    }))

  it.scoped("is overridden by agent files and skein.json, and opencode.json by .opencode/opencode.jsonc", () =>
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

  it.scoped("defines modes in files as well, which agents of the same name replace", () =>
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

  it.scoped("in a project cannot allow, and reads no secrets", () =>
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
    ["rules under a misspelt key", "{ \"permissions\": { \"bash\": \"deny\" } }", []],
    ["an unused key", "{ \"reference\": 1, \"subagent_depth\": 2 }", [
      "note FILE:1:3 reference: Skein ignores it",
      "note FILE:1:19 subagent_depth: Skein ignores it"
    ]],
    [
      "a misspelt key of an agent",
      "{ \"agent\": { \"a\": { \"promt\": \"x\" } } }",
      ["note FILE:1:21 agent.a.promt: Skein ignores it"]
    ],
    [
      "an invalid rule",
      "{ \"permission\": { \"bash\": { \"*\": \"perhaps\" } } }",
      ["note FILE:1:19 bash: \"perhaps\" is not an action, and is read as \"deny\""]
    ],
    ["one name twice", "{ \"agent\": { \"a\": {} },\n\"mode\": { \"a\": {} } }", []],
    ["an invalid agent", "{ \"agent\": { \"a\": 1 } }", [
      "restriction FILE:1:14 the agent \"a\" is left out: agent.a: this is not an object"
    ]],
    ["invalid rules", "{ \"permission\": 3 }", [
      "restriction FILE:1:3 permission: this restriction is not understood, so every call is denied; write it as permission in skein.json, and remove it here"
    ]],
    ["invalid agents", "{ \"agent\": [1] }", [
      "restriction FILE:1:3 agent: no agent is read; write an object with a key for each agent"
    ]],
    ["a list", "[]", ["restriction FILE:1:1 this file is left out: it must be an object"]],
    ["no JSON", "{ \"model\": }", ["restriction FILE:1:12 this file is left out: expected a value"]],
    ["rules in invalid JSON", "{ \"permission\": { \"bash\": \"deny\" }, }x", [
      "restriction FILE:1:38 this file cannot be read: this is not a JSON value; strings and keys need double quotes; it may hold rules, so every call is denied until you fix it"
    ]],
    ["a key twice", "{ \"model\": \"a/b\",\n\"model\": \"a/d\" }", [
      "note FILE:2:1 the key \"model\" is also in line 1; keep one"
    ]],
    ["too much", `{ "username": "${"x".repeat(1024 * 1024)}" }`, [
      "restriction FILE this file cannot be read: it is too large: 1025 KiB; the limit is 1024 KiB; it may hold rules, so every call is denied until you fix it"
    ]]
  ])("stops nothing if it is written differently: %s", ([, content, expected]) =>
    Effect.map(
      remarks({ [file]: content }),
      (found) => expect(found).toEqual(expected.map((message) => message.replace("FILE", file)))
    ))

  it.scoped.each(
    [
      [file, "{ \"permission\": { \"bash\": \"deny\" }, }x", true],
      [file, "{ \"model\": }", false],
      ["project/.claude/settings.json", "{ \"permissions\": { \"deny\": [\"Read(a.txt)\"] },}x", true],
      ["project/.claude/settings.json", "{ \"hooks\": { \"PreToolUse\": [ }", true],
      ["project/.claude/settings.json", "{ \"theme\": }", false]
    ] as const
  )("in %s that is unreadable, %s: every call is denied is %s", ([path, content, isDenied]) =>
    Effect.gen(function*() {
      const { settings } = yield* loadFiles({ [path]: content })
      expect(settings.permission).toEqual(isDenied ? [{ permission: "*", pattern: "*", action: "deny" }] : undefined)
    }))

  it.scoped("denies every call if a restriction is not understood", () =>
    Effect.gen(function*() {
      const { settings } = yield* loadFiles({ [file]: { permission: "as usual", tools: { edit: false } } })
      expect(settings.permission).toEqual([
        { permission: "*", pattern: "*", action: "deny" },
        { permission: "edit", pattern: "*", action: "deny" }
      ])
    }))

  it.scoped("in version 2 has rules, agents and servers under other names", () =>
    Effect.gen(function*() {
      const { settings, warnings } = yield* read({
        [file]: {
          model: "openai/gpt-5.1#high",
          permissions: [
            { action: "*", resource: "*", effect: "ask" },
            { action: "edit", resource: "*", effect: "deny" },
            { action: "read", resource: "secrets/*", effect: "deny" },
            { action: "shell", resource: "git push *", effect: "deny" },
            { action: "github_*", resource: "*", effect: "deny" }
          ],
          agents: {
            lead: {
              mode: "primary",
              system: "You lead.",
              model: { providerID: "openai", model: "gpt-5.1", variant: "low" },
              permissions: [
                { action: "subagent", resource: "*", effect: "deny" },
                { action: "subagent", resource: "scout", effect: "ask" }
              ]
            },
            general: { disabled: true }
          },
          mcp: {
            timeout: { catalog: 5000 },
            servers: { x: { type: "local", command: ["x"], disabled: true } },
            y: { type: "local", command: ["y"], enabled: "false" }
          }
        }
      })
      expect(settings).toMatchObject({
        model: "openai/gpt-5.1",
        permission: [
          { permission: "*", pattern: "*", action: "ask" },
          { permission: "edit", pattern: "*", action: "deny" },
          { permission: "read", pattern: "secrets/*", action: "deny" },
          { permission: "bash", pattern: "git push *", action: "deny" },
          { permission: "github_*", pattern: "*", action: "deny" },
          { permission: "mcp_github_*", pattern: "*", action: "deny" }
        ],
        agent: {
          lead: {
            prompt: "You lead.",
            model: "openai/gpt-5.1",
            variant: "low",
            permission: [
              { permission: "task", pattern: "*", action: "deny" },
              { permission: "task", pattern: "scout", action: "ask" }
            ]
          },
          general: { disable: true }
        }
      })
      expect(settings.mcp).toMatchObject({ x: { enabled: false }, y: { enabled: false } })
      expect(warnings).toEqual([`${file}:57:5 mcp.timeout: Skein ignores timeout`])
    }))

  it.scoped("never lifts a denial by the rule of another key", () =>
    Effect.gen(function*() {
      const { settings } = yield* loadFiles({
        "home/.config/skein/skein.json": { permission: "allow" },
        [file]: {
          permissions: [{ action: "edit", resource: "*", effect: "ask" }, { action: "read", effect: "block" }, {
            resource: "*",
            effect: "allow"
          }],
          permission: { edit: "deny", todowrite: "deny" }
        }
      })
      const of = (permission: string) => evaluate(fromConfig(settings.permission ?? {}), permission, "x")
      expect([of("edit"), of("todowrite"), of("read"), of("glob")]).toEqual(["deny", "deny", "deny", "allow"])
    }))
})
