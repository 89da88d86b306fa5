import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as FileSystem from "@effect/platform/FileSystem"
import { expect, layer } from "@effect/vitest"
import { agentsFrom } from "@skein/config/AgentsConfig"
import { builtins } from "@skein/core/Agent"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { join } from "node:path"
import { formatIssue, loadFiles, loadIn, remarks, workspace } from "./workspace.ts"

const own = "home/.config/skein/agent"
const skein = "project/.skein/agent"
const claude = "project/.claude/agents"
const openCode = "project/.opencode"

const agentsOf = (files: Parameters<typeof workspace>[0], options?: Parameters<typeof loadFiles>[1]) =>
  Effect.map(loadFiles(files, options), ({ root, settings, warnings, ...loaded }) => ({
    ...loaded,
    root,
    agents: settings.agent ?? {},
    warnings: warnings.map((issue) => formatIssue(root, issue))
  }))

layer(NodeFileSystem.layer)("agents from files", (it) => {
  it.scoped("have keys in front matter, the text below as the prompt, and the path as the name", () =>
    Effect.gen(function*() {
      const { agents, files, origins, root, warnings } = yield* agentsOf({
        [`${skein}/team/review.md`]:
          "\uFEFF---\r\ndescription: Reviews\r\nsteps: 5\r\npermission:\r\n  bash:\r\n    \"*\": deny\r\n---\r\n\r\nRead.\r\nJudge.\r\n",
        [`${skein}/plain.md`]: "Only a prompt\n",
        [`${skein}/file.md`]: "---\nname: named\n---\nText",
        [`${skein}/bare.md`]: "---\ndescription: No text\n---\n",
        [`${skein}/.hidden.md`]: "---\nnope: 1\n---",
        [`${skein}/notes.txt`]: "no agent"
      })
      expect(agents).toEqual({
        "team/review": {
          description: "Reviews",
          steps: 5,
          permission: [{ permission: "bash", pattern: "*", action: "deny" }],
          prompt: "Read.\nJudge."
        },
        plain: { prompt: "Only a prompt" },
        named: { prompt: "Text" },
        bare: { description: "No text" }
      })
      const file = `${root}/${skein}/team/review.md`
      expect(origins).toMatchObject({
        "agent.team/review.description": `${file}:2`,
        "agent.team/review.permission.bash": `${file}:6`,
        "agent.team/review.prompt": `${file}:9`,
        "agent.plain.prompt": `${root}/${skein}/plain.md:1`
      })
      expect(files).toContain(file)
      expect(warnings).toEqual([])
    }))

  it.scoped("are overridden by skein.json of the same directory, and override everything farther away", () =>
    Effect.gen(function*() {
      const { agents } = yield* agentsOf({
        [`${own}/a.md`]: "---\nsteps: 1\ntimeout: 1\nvariant: u\ncolor: red\n---\nuser file",
        "home/.config/skein/skein.json": { agent: { a: { timeout: 2, variant: "user json", color: "green" } } },
        [`${skein}/a.md`]: "---\nvariant: top\ncolor: blue\n---\ntop file",
        "project/skein.json": { agent: { a: { color: "cyan" } } },
        "project/app/.skein/agent/a.md": "near file"
      }, { at: "project/app" })
      expect(agents["a"]).toEqual({ steps: 1, timeout: 2, variant: "top", color: "cyan", prompt: "user file" })
    }))

  it.scoped("of Skein replace those of OpenCode, which replace those of Claude Code", () =>
    Effect.gen(function*() {
      const { agents } = yield* agentsOf({
        [`${claude}/a.md`]: "---\nmaxTurns: 3\n---\nclaude",
        [`${openCode}/agents/a.md`]: "---\ntemperature: 1\n---\nopencode",
        [`${skein}/a.md`]: "skein",
        [`${claude}/b.md`]: "---\nmaxTurns: 3\n---\nclaude",
        [`${openCode}/agent/b.md`]: "opencode",
        [`${claude}/deep/c.md`]: "not read"
      })
      expect(agents).toEqual({ a: { prompt: "skein" }, b: { prompt: "opencode" } })
    }))

  it.scoped("of a project can restrict and choose, but not allow, nor read secrets", () =>
    Effect.gen(function*() {
      const files = {
        [`${skein}/a.md`]: "---\npermission:\n  bash: allow\n  edit: deny\n---\nSay {env:SECRET}",
        "outside.md": "secret"
      }
      const root = yield* workspace(files)
      const fs = yield* FileSystem.FileSystem
      yield* fs.symlink(join(root, "outside.md"), join(root, skein, "b.md"))
      const { settings, warnings } = yield* loadIn(root, { env: { SECRET: "s3cret" } })
      expect(settings.agent).toEqual({ a: { permission: [{ permission: "edit", pattern: "*", action: "deny" }] } })
      expect(warnings.map((issue) => formatIssue(root, issue))).toEqual([
        `${skein}/b.md this agent is ignored: a project's file may not read files outside of the project`,
        `${skein}/a.md:6:1 agent.a.prompt is ignored: a project's file may not put environment variables into texts and names ({env:SECRET})`,
        `${skein}/a.md:3 agent.a.permission.bash is ignored: a project's file may not allow; it may be trusted`
      ])
    }))

  it.scoped("of the user may use the environment, and allow", () =>
    Effect.gen(function*() {
      const { agents } = yield* agentsOf({
        [`${own}/a.md`]: "---\npermission: { bash: allow }\n---\nSay {env:WORD}"
      }, { env: { WORD: "hello" } })
      expect(agents["a"]).toEqual({
        prompt: "Say hello",
        permission: [{ permission: "bash", pattern: "*", action: "allow" }]
      })
    }))

  it.scoped("of Claude Code keep the tools and models that Skein has, and the rest is reported", () =>
    Effect.gen(function*() {
      const { agents, warnings } = yield* agentsOf({
        [`${claude}/a.md`]:
          "---\nname: reviewer\ndescription: Use it when: asked. user: \"review\"\ntools: Read, MultiEdit, LS, Bash(git log, git diff), NotebookEdit\nmodel: sonnet\ncolor: purple\nmemory: user\n---\nKeep {env:THIS}",
        [`${claude}/b.md`]: "---\nmodel: inherit\ndisallowedTools: [Bash(rm:*), WebFetch]\npermissionMode: plan\n---\n"
      })
      expect(agents).toEqual({
        reviewer: {
          description: "Use it when: asked. user: \"review\"",
          allowedTools: ["read", "edit", "list"],
          color: "magenta",
          model: "session/default",
          prompt: "Keep {env:THIS}"
        },
        b: {
          deniedTools: ["bash", "webfetch"],
          permission: [{ permission: "edit", pattern: "*", action: "deny" }]
        }
      })
      expect(warnings).toEqual([
        `${claude}/a.md:4:1 tools: "Bash(git log, git diff)" is only a part of a tool, which is not allowed; use permission in skein.json`,
        `${claude}/a.md:4:1 tools: Skein has no tool "NotebookEdit"`,
        `${claude}/a.md:7:1 memory: Skein ignores it`,
        `${claude}/b.md:3:1 disallowedTools: "Bash(rm:*)" is a part of a tool, and all of "bash" is denied; use permission in skein.json`
      ])
    }))

  it.scoped("of OpenCode may turn tools on and off, and use its key names", () =>
    Effect.gen(function*() {
      const { agents, warnings } = yield* agentsOf({
        [`${openCode}/agent/a.md`]:
          "---\nmode: subagent\nmodel: openai/gpt-5\ntop_p: 0.5\nmaxSteps: 4\ntools:\n  write: false\n  bash: true\noptions: {}\ncolor: primary\n---\n",
        [`${openCode}/agents/sub/b.md`]: "---\ntools: { \"*\": false, read: true }\n---\n"
      })
      expect(agents).toEqual({
        a: { mode: "subagent", model: "openai/gpt-5", topP: 0.5, steps: 4, deniedTools: ["edit"] },
        "sub/b": { allowedTools: ["read"] }
      })
      expect(warnings).toEqual([
        `${openCode}/agent/a.md:9:1 options: Skein ignores it`,
        `${openCode}/agent/a.md:10:1 color: Skein has no colour "primary"`
      ])
    }))

  it.scoped("are read once if links are cyclic", () =>
    Effect.gen(function*() {
      const root = yield* workspace({ [`${skein}/z/a.md`]: "text" })
      const fs = yield* FileSystem.FileSystem
      yield* fs.symlink(join(root, skein), join(root, skein, "z/loop"))
      yield* fs.symlink(join(root, skein, "z"), join(root, skein, "b"))
      const { settings } = yield* loadIn(root)
      expect(Object.keys(settings.agent ?? {})).toEqual(["z/a"])
    }))

  it.scoped("report their origin", () =>
    Effect.gen(function*() {
      const { origins, root, settings } = yield* loadFiles({ [`${skein}/a.md`]: "---\ndescription: A\n---\nText" })
      const { agents } = Either.getOrThrow(agentsFrom(settings, builtins, origins))
      expect(agents.find(({ name }) => name === "a")?.origin).toBe(`${root}/${skein}/a.md:2`)
    }))

  const file = `${skein}/a.md`
  it.scoped.each<[string, string | Uint8Array, string]>([
    [
      "a misspelt key",
      "---\ndescription: A\nstep: 1\n---\n",
      ":3:1 unknown key \"step\" in agent.a; did you mean \"steps\"?"
    ],
    [
      "a value of another type",
      "---\nmode: sub\n---\n",
      ":2:7 agent.a.mode must be \"primary\", \"subagent\" or \"all\", found \"sub\"; did you mean \"subagent\"?"
    ],
    ["no value", "---\nsteps:\n---\n", ":2:7 agent.a.steps must be a number, found null"],
    ["a key twice", "---\nsteps: 1\nsteps: 2\n---\n", ":3:1 the key \"steps\" is also in line 2; keep one"],
    [
      "front matter without an end",
      "---\nsteps: 1\n",
      ":1:1 the front matter does not end; close it with a line of ---"
    ],
    [
      "front matter that is not an object",
      "---\n- a\n---\n",
      ":2:1 the front matter must be keys with values, such as description: text"
    ],
    [
      "no YAML",
      "---\nsteps: 1\ndescription: a: b\n---\n",
      ":3:14 invalid YAML: Nested mappings are not allowed in compact mappings"
    ],
    [
      "references",
      "---\ndescription: &a x\nvariant: *a\n---\n",
      ":3:10 references to other values (*name) are not read; write the value, or put it in quotes"
    ],
    ["a name that is not text", "---\nname: 1\n---\n", ":2:7 name must be a string"],
    [
      "two prompts",
      "---\nprompt: a\n---\nb",
      ":2:1 the text below the front matter is the prompt; keep one of them"
    ],
    ["nothing", " \n", " this is empty; write front matter, a prompt, or both"],
    ["bytes that are not UTF-8", new Uint8Array([65, 10, 0xff]), ":2 this is not UTF-8; save it in that encoding"],
    ["too much", "x".repeat(10 * 1024 * 1024), " it is too large: 10240 KiB; the limit is 1024 KiB"]
  ])(
    "are disabled, and do not affect others, with file and line: %s",
    ([, content, expected]) =>
      Effect.gen(function*() {
        const files = {
          [file]: content,
          [`${skein}/fine.md`]: "Works.",
          [`${claude}/a.md`]: "---\nname: a\n---\nNot this one."
        }
        expect(yield* remarks(files)).toEqual([`${file}${expected}`])
        const { broken, origins, settings } = yield* loadFiles(files)
        const found = Either.getOrThrow(agentsFrom(settings, builtins, origins, broken))
        expect(found.agents.map(({ name }) => name)).toContain("fine")
        expect(found.agents.map(({ name }) => name)).not.toContain("a")
        expect(found.broken).toEqual([{ name: "a", message: expect.stringContaining(expected.slice(-20)) }])
      })
  )

  it.scoped("are disabled if a directory has the name of a file, or two have the same name", () =>
    Effect.gen(function*() {
      expect(
        yield* remarks({
          [`${skein}/x.md/y.md`]: "text",
          [`${skein}/a.md`]: "text",
          [`${skein}/b.md`]: "---\nname: a\n---",
          [`${claude}/c.md`]: "---\ntools: 1\nmodle: x\n---"
        })
      ).toEqual([
        `${skein}/b.md the agent "a" is defined in ${skein}/a.md as well; rename one of them`,
        `${skein}/x.md this is a directory, and must be a file`,
        `note ${claude}/c.md:3:1 modle: Skein ignores it`,
        `restriction ${claude}/c.md:2:1 the agent "c" is left out: tools: this restriction is not understood`
      ])
    }))

  it.scoped("with a name that is invalid in Skein are disabled", () =>
    Effect.map(
      remarks({ [`${skein}/a.md`]: "---\nname: a*\n---\n" }),
      (found) =>
        expect(found).toEqual([
          `${skein}/a.md:2:1 "a*" is not a valid agent name; use up to 128 characters in one line, without * and ?`
        ])
    ))
})
