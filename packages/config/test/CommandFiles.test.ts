import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as FileSystem from "@effect/platform/FileSystem"
import { expect, layer } from "@effect/vitest"
import { load } from "@skein/config/CommandFiles"
import { formatIssue } from "@skein/config/ConfigError"
import { DataDirs } from "@skein/config/DataDirs"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import { join } from "node:path"
import { loadIn, workspace } from "./workspace.ts"

/** The commands of a directory of a workspace, with relative paths. */
const commandsIn = Effect.fnUntraced(function*(root: string, at = "project") {
  const config = yield* loadIn(root, { at })
  const loaded = yield* load(join(root, at), config).pipe(
    Effect.provide(DataDirs.layer()),
    Effect.withConfigProvider(ConfigProvider.fromMap(new Map([["HOME", join(root, "home")]])))
  )
  const below = (text: string) => text.replaceAll(`${root}/`, "")
  return {
    ...loaded,
    names: loaded.commands.map(({ name, origin }) => `${name} ${below(origin)}`),
    hidden: Object.fromEntries(loaded.commands.map(({ hides, name }) => [name, hides.map(below)])),
    broken: loaded.broken.map(({ message, name }) => [name, below(message)]),
    warnings: loaded.warnings.map((issue) => below(formatIssue(issue)))
  }
})

const commandsOf = (files: Parameters<typeof workspace>[0], at?: string) =>
  Effect.flatMap(workspace(files), (root) => commandsIn(root, at))

layer(NodeFileSystem.layer)("CommandFiles", (it) => {
  it.scoped("reads a template with its settings, from Markdown and from JSON", () =>
    Effect.gen(function*() {
      const { commands } = yield* commandsOf({
        "project/.skein/command/fix/issue.md":
          "\uFEFF---\r\ndescription: Fixes\r\nagent: general\r\nmodel: openai/gpt-5\r\nsubtask: false\r\n---\r\nFix $1\r\n\r\nnow\r\n",
        "project/skein.json": { command: { plain: { template: "Say $ARGUMENTS" } } },
        "project/opencode.json":
          "{ \"theme\": \"x\", // a comment\n \"command\": { \"theirs\": { \"template\": \"T\", \"agent\": \"plan\" } } }"
      })
      expect(commands).toMatchObject([
        { name: "theirs", template: "T", agent: "plan" },
        {
          name: "fix/issue",
          template: "Fix $1\n\nnow",
          description: "Fixes",
          agent: "general",
          model: { providerID: "openai", modelID: "gpt-5" },
          subtask: false
        },
        { name: "plain", template: "Say $ARGUMENTS" }
      ])
    }))

  it.scoped("uses the nearest of one name, and reports which ones it hides", () =>
    Effect.gen(function*() {
      const { hidden, names } = yield* commandsOf({
        "home/.config/skein/command/a.md": "user",
        "home/.config/skein/skein.json": { command: { b: { template: "user" } } },
        "project/.claude/commands/a.md": "claude",
        "project/.opencode/commands/a.md": "opencode",
        "project/opencode.json": { command: { a: { template: "opencode.json" } } },
        "project/.skein/command/a.md": "skein",
        "project/skein.json": { command: { a: { template: "top" }, b: { template: "project" } } },
        "project/sub/.claude/commands/a.md": "near"
      }, "project/sub")
      expect(names).toEqual(["a project/sub/.claude/commands/a.md", "b project/skein.json:6"])
      expect(hidden).toEqual({
        a: [
          "project/skein.json:3",
          "project/.skein/command/a.md",
          "project/opencode.json:3",
          "project/.opencode/commands/a.md",
          "project/.claude/commands/a.md",
          "home/.config/skein/command/a.md"
        ],
        b: []
      })
    }))

  it.scoped("reports each broken file with its place and a fix; the others still work", () =>
    Effect.gen(function*() {
      const skein = "project/.skein/command"
      const { broken, names } = yield* commandsOf({
        "home/.config/skein/command/typo.md": "fine, but not the nearest",
        [`${skein}/fine.md`]: "x",
        [`${skein}/typo.md`]: "---\ndescription: x\nmodle: a/b\n---\nx",
        [`${skein}/yaml.md`]: "---\ndescription: [x\n---\nx",
        [`${skein}/open.md`]: "---\ndescription: x\n",
        [`${skein}/list.md`]: "---\n- a\n---\nx",
        [`${skein}/kind.md`]: "---\nsubtask: maybe\nmodel: gpt\n---\nx",
        [`${skein}/empty.md`]: "---\ndescription: x\n---\n\n",
        [`${skein}/double.md`]: "---\ntemplate: y\n---\nx",
        [`${skein}/same.md`]: "---\nagent: a\nagent: b\n---\nx",
        [`${skein}/two words.md`]: "x",
        [`${skein}/line\nbreak.md`]: "x",
        [`${skein}/huge.md`]: "x".repeat(1024 * 1024 + 1),
        [`${skein}/latin.md`]: new Uint8Array([0x78, 0x0a, 0xe9, 0x0a]),
        "project/.opencode/command/twice.md": "x",
        "project/.opencode/commands/twice.md": "x"
      })
      expect(names.toSorted()).toEqual([
        `fine ${skein}/fine.md`,
        "twice project/.opencode/commands/twice.md",
        `two words ${skein}/two words.md`
      ])
      expect(Object.fromEntries(broken)).toEqual({
        typo: `${skein}/typo.md:3:1: unknown key "modle" in command.typo; did you mean "model"?`,
        yaml: expect.stringMatching(/^project\/\.skein\/command\/yaml\.md:\d+:\d+: invalid YAML: /),
        open: `${skein}/open.md:1:1: the front matter does not end; close it with a line of ---`,
        list: `${skein}/list.md:2:1: the front matter must be keys with values, such as description: text`,
        kind: [
          `${skein}/kind.md:2:10: command.kind.subtask must be true or false, found "maybe"`,
          `${skein}/kind.md:3:8: command.kind.model must be a model as provider/model, such as openai/gpt-5, found "gpt"`
        ].join("\n"),
        empty: `${skein}/empty.md:4:1: there is no template; write the prompt below the front matter`,
        double: `${skein}/double.md:2:1: the text below the front matter is the template; keep one of them`,
        same: `${skein}/same.md:3:1: the key "agent" is also in line 2; keep one`,
        "line\nbreak":
          `${skein}/line\nbreak.md:1:1: "line\\nbreak" is not a valid command name; use up to 128 characters in one line`,
        huge: `${skein}/huge.md: it is too large: 1025 KiB; the limit is 1024 KiB`,
        latin: `${skein}/latin.md:2: this is not UTF-8; save it in that encoding`
      })
    }))

  it.scoped("reads commands of other programs, and notes ignored parts", () =>
    Effect.gen(function*() {
      const file = "project/.claude/commands/c.md"
      const { commands, warnings } = yield* commandsOf({
        [file]:
          "---\nallowed-tools: Bash(git:*)\nargument-hint: [x]\ndescription: When: always\nmodel: opus\nfoo: bar\n---\nx"
      })
      expect(commands).toMatchObject([{ name: "c", description: "When: always" }])
      expect(commands[0]?.model).toEqual({ providerID: "session", modelID: "large" })
      expect(warnings).toEqual([
        `${file}:2:1: allowed-tools: a command allows nothing here; use permission in skein.json`,
        `${file}:6:1: foo: Skein ignores it`
      ])
    }))

  it.scoped("does not follow a project's links out of it, and ends if links are cyclic", () =>
    Effect.gen(function*() {
      const fs = yield* FileSystem.FileSystem
      const root = yield* workspace({
        "secret.md": "secret",
        "project/.env": "KEY=1",
        "project/docs/real.md": "real",
        "project/.skein/command/in/here.md": "x"
      })
      const at = (name: string) => join(root, "project/.skein/command", name)
      yield* fs.symlink(join(root, "secret.md"), at("out.md"))
      yield* fs.symlink(join(root, "project/.env"), at("env.md"))
      yield* fs.symlink(join(root, "project/docs/real.md"), at("real.md"))
      yield* fs.symlink(at(""), at("in/round"))
      const { names, warnings } = yield* commandsIn(root)
      expect(names.map((name) => name.split(" ")[0])).toEqual(["in/here", "real"])
      expect(warnings).toEqual([
        expect.stringMatching(
          /^project\/\.skein\/command\/env\.md: this command is ignored: your rules ask before it is read; `skein trust allow /
        ),
        "project/.skein/command/out.md: this command is ignored: a project's file may not read files outside of the project"
      ])
    }))

  it.scoped("of a project name models of the user's provider, and others only with trust", () =>
    Effect.gen(function*() {
      const { broken, commands, warnings, widenings } = yield* commandsOf({
        "project/.skein/command/a.md": "---\nmodel: evil/m\n---\nA",
        "project/.skein/command/b.md": "---\nmodel: openai/m\n---\nB",
        "project/.claude/commands/c.md": "---\nmodel: evil/m\n---\nC",
        "project/skein.json": { command: { d: { template: "D", model: "evil/m" } } },
        "home/.config/skein/command/e.md": "---\nmodel: evil/m\n---\nE"
      })
      expect(broken).toEqual([])
      expect(commands.map(({ model, name }) => [name, model?.providerID]).toSorted()).toEqual([
        ["a", undefined],
        ["b", "openai"],
        ["c", undefined],
        ["d", undefined],
        ["e", "evil"]
      ])
      expect(widenings.map(({ key, state }) => `${key} ${state}`)).toEqual([
        "command.c.model untrusted",
        "command.a.model untrusted"
      ])
      expect(warnings.join("\n")).toContain("command.a.model is ignored: it is not of your provider")
    }))
})
