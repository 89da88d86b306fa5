/** With several files of a project, no file of another tool lifts a restriction of another file. */
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import { expect, layer } from "@effect/vitest"
import { agentsFrom } from "@skein/config/AgentsConfig"
import { builtins } from "@skein/core/Agent"
import { evaluate } from "@skein/core/Ruleset"
import { fromConfig } from "@skein/domain/Rule"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { loadFiles, userFile, type workspace } from "./workspace.ts"

const settings = "project/.claude/settings.json"
const local = "project/.claude/settings.local.json"
const openCode = "project/opencode.json"
const deniesCurl = { permissions: { deny: ["Bash(curl:*)"] } }

/** What a command may do: for all agents, and for the agent `a` if it exists. */
const decide = (files: Parameters<typeof workspace>[0], command: string, at = "project") =>
  Effect.map(loadFiles(files, { at }), (loaded) => {
    const found = Either.getOrThrow(agentsFrom(loaded.settings, builtins, loaded.origins, loaded.broken))
    const agent = found.agents.find(({ name }) => name === "a")
    return {
      all: evaluate(fromConfig(loaded.settings.permission ?? []), "bash", command),
      agent: agent === undefined
        ? undefined
        : evaluate([...found.permission, ...agent.permission], "bash", command)
    }
  })

layer(NodeFileSystem.layer)("several files of other tools", (it) => {
  it.scoped.each<[string, Parameters<typeof workspace>[0], string, "allow" | "ask" | "deny"]>([
    [
      "a denial of Claude Code under a question of OpenCode",
      {
        [settings]: deniesCurl,
        [openCode]: { permission: { bash: "ask" } }
      },
      "curl x",
      "deny"
    ],
    [
      "a denial of Claude Code under what OpenCode allows",
      {
        [userFile]: { permission: { bash: "allow" } },
        [settings]: deniesCurl,
        [openCode]: { permission: { bash: "allow" } }
      },
      "curl x",
      "deny"
    ],
    [
      "a question of Claude Code under what OpenCode allows",
      {
        [userFile]: { permission: { bash: "allow" } },
        [settings]: { permissions: { ask: ["Bash(git push:*)"] } },
        [openCode]: { permission: { bash: "allow" } }
      },
      "git push origin",
      "ask"
    ],
    [
      "a command that neither of them restricts",
      {
        [userFile]: { permission: { bash: "allow" } },
        [settings]: { permissions: { ask: ["Bash(git push:*)"] } },
        [openCode]: { permission: { bash: "allow" } }
      },
      "ls",
      "allow"
    ],
    [
      "a denial of settings.json under a question of settings.local.json",
      {
        [settings]: deniesCurl,
        [local]: { permissions: { ask: ["Bash"] } }
      },
      "curl x",
      "deny"
    ],
    [
      "a question of settings.json under what settings.local.json allows",
      {
        [userFile]: { permission: { bash: "allow" } },
        [settings]: { permissions: { ask: ["Bash(git push:*)"] } },
        [local]: { permissions: { allow: ["Bash"] } }
      },
      "git push origin",
      "ask"
    ],
    [
      "unreadable settings under what OpenCode allows",
      {
        [userFile]: { permission: { bash: "allow" } },
        [settings]: { permissions: "strict" },
        [openCode]: { permission: { bash: "allow" } }
      },
      "ls",
      "deny"
    ],
    [
      "a denial of one opencode.json under a question of the other",
      {
        [openCode]: { permission: { bash: { "curl *": "deny" } } },
        "project/.opencode/opencode.json": { permission: { bash: "ask" } }
      },
      "curl x",
      "deny"
    ],
    [
      "a denial of skein.json further up",
      {
        "project/skein.json": { permission: { bash: { "curl *": "deny" } } },
        "project/app/opencode.json": { permission: { bash: "ask" } }
      },
      "curl x",
      "deny"
    ],
    [
      "a denial of the user",
      {
        [userFile]: { permission: { bash: { "curl *": "deny" } } },
        [openCode]: { permission: { bash: "ask" } }
      },
      "curl x",
      "deny"
    ],
    [
      "skein.json, which may override",
      {
        [settings]: deniesCurl,
        "project/skein.json": { permission: { bash: "ask" } }
      },
      "curl x",
      "ask"
    ]
  ])("%s", ([, files, command, expected]) =>
    Effect.gen(function*() {
      const at = Object.keys(files).some((path) => path.startsWith("project/app/")) ? "project/app" : "project"
      expect((yield* decide(files, command, at)).all).toBe(expected)
    }))

  it.scoped.each<[string, Parameters<typeof workspace>[0], string, "allow" | "ask" | "deny"]>([
    [
      "rules of an agent of OpenCode",
      {
        [settings]: deniesCurl,
        "project/.opencode/agent/a.md": "---\npermission:\n  bash: ask\n---\nx"
      },
      "curl x",
      "deny"
    ],
    [
      "rules of an agent in opencode.json",
      {
        [settings]: deniesCurl,
        [openCode]: { agent: { a: { prompt: "x", permission: { bash: "ask" } } } }
      },
      "curl x",
      "deny"
    ],
    [
      "settings nearer than the agent",
      {
        "project/.opencode/agent/a.md": "---\npermission:\n  bash: ask\n---\nx",
        "project/app/.claude/settings.json": deniesCurl
      },
      "curl x",
      "deny"
    ],
    [
      "tools of an agent of Claude Code that OpenCode does not limit",
      {
        "project/.claude/agents/a.md": "---\nname: a\ntools: Read\n---\nx",
        "project/.opencode/agent/a.md": "---\ndescription: y\n---\ny"
      },
      "ls",
      "deny"
    ],
    [
      "tools that both limit",
      {
        "project/.claude/agents/a.md": "---\nname: a\ndisallowedTools: Bash\n---\nx",
        "project/.opencode/agent/a.md": "---\ntools:\n  write: false\n---\ny"
      },
      "ls",
      "deny"
    ],
    [
      "tools that opencode.json denies to an agent with a file",
      {
        [openCode]: { agent: { a: { tools: { bash: false } } } },
        "project/.opencode/agent/a.md": "---\ntools:\n  write: false\n---\ny"
      },
      "ls",
      "deny"
    ]
  ])("applies to an agent too: %s", ([, files, command, expected]) =>
    Effect.gen(function*() {
      const at = Object.keys(files).some((path) => path.startsWith("project/app/")) ? "project/app" : "project"
      expect((yield* decide(files, command, at)).agent).toBe(expected)
    }))

  it.scoped("drops an agent with unreadable limits in one of two files", () =>
    Effect.gen(function*() {
      const { broken, warnings } = yield* loadFiles({
        "project/.claude/agents/a.md": "---\nname: a\ntools: 3\n---\nx",
        "project/.opencode/agent/a.md": "y"
      })
      expect(broken.map(({ name }) => name)).toEqual(["a"])
      expect(warnings.map(({ kind }) => kind)).toEqual(["restriction"])
    }))
})
