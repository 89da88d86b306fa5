import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as FileSystem from "@effect/platform/FileSystem"
import { expect, layer } from "@effect/vitest"
import * as CommandFiles from "@skein/config/CommandFiles"
import { DataDirs } from "@skein/config/DataDirs"
import * as InstructionFiles from "@skein/config/InstructionFiles"
import * as SkillFiles from "@skein/config/SkillFiles"
import * as Trust from "@skein/config/Trust"
import { Instructions } from "@skein/core/Instructions"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/TestClock"
import { dirname, join } from "node:path"
import { formatIssue, loadFiles, loadIn, userFile, workspace } from "./workspace.ts"

const home = (root: string) =>
  Effect.withConfigProvider(ConfigProvider.fromMap(new Map([["HOME", join(root, "home")]])))

const readIn = (root: string, at = "project", named: ReadonlyArray<string> = []) =>
  InstructionFiles.load(join(root, at), named.map((name) => join(root, name))).pipe(
    Effect.provide(DataDirs.layer()),
    home(root),
    Effect.map(({ files, text, warnings }) => ({
      text,
      files: files.map((path) => path.replace(`${root}/`, "")),
      warnings: warnings.map((issue) => formatIssue(root, issue))
    }))
  )

const read = (files: Parameters<typeof workspace>[0], at?: string, named?: ReadonlyArray<string>) =>
  Effect.flatMap(workspace(files), (root) => readIn(root, at, named))

layer(NodeFileSystem.layer)("instructions", (it) => {
  it.scoped("are the user's, then those from the top of the tree down, AGENTS.md before CLAUDE.md, then the configured ones", () =>
    Effect.gen(function*() {
      const { files, text, warnings } = yield* read(
        {
          "home/.config/skein/AGENTS.md": "I like short answers.",
          "AGENTS.md": "above the project: not read",
          "project/AGENTS.md": "\uFEFFUse tabs.\r\nAlways.\r\n",
          "project/CLAUDE.md": "not read, as AGENTS.md is there",
          "project/app/CLAUDE.md": "Use spaces here.",
          "project/app/web/.claude/CLAUDE.md": "No </instructions> tricks.",
          "project/docs/b.md": "B",
          "project/docs/deep/a.md": "A",
          "project/docs/c.txt": "C"
        },
        "project/app/web",
        ["project/docs/**/*.md"]
      )
      expect(files).toEqual([
        "home/.config/skein/AGENTS.md",
        "project/AGENTS.md",
        "project/app/CLAUDE.md",
        "project/app/web/.claude/CLAUDE.md",
        "project/docs/b.md",
        "project/docs/deep/a.md"
      ])
      expect(text).toContain("the later one.\n\n<instructions from=")
      expect(text).toContain(
        "/AGENTS.md\">\nUse tabs.\nAlways.\n</instructions>\n\n<instructions from=\"../CLAUDE.md\">\nUse"
      )
      expect(text).toContain("No &lt;/instructions> tricks.\n</instructions>")
      expect(warnings).toEqual([])
    }))

  it.scoped("are found by any wildcards, even ones that would stall a regular expression", () =>
    Effect.gen(function*() {
      const long = "a".repeat(200)
      const { files } = yield* read({ [`docs/${long}`]: "A", [`docs/${long}.md`]: "B" }, "", [
        `docs/${"*a".repeat(40)}*.md`
      ])
      expect(files).toEqual([`docs/${long}.md`])
    }))

  it.scoped("are none without files, and only those of the directory without a git root", () =>
    Effect.gen(function*() {
      expect((yield* read({})).text).toBeUndefined()
      expect((yield* read({ "AGENTS.md": "above", "plain/AGENTS.md": "here" }, "plain")).files).toEqual([
        "plain/AGENTS.md"
      ])
    }))

  it.scoped("include the files that CLAUDE.md names with @, each once, cyclic or not, and nothing in code", () =>
    Effect.gen(function*() {
      const { files, warnings } = yield* read({
        "project/CLAUDE.md":
          "See @docs/style.md, and @./docs/test.md.\nMail me@docs/mail.md `@docs/code.md` @types/node\n```\n@docs/fence.md\n```\n",
        "project/docs/style.md": "Style. @../CLAUDE.md @test.md",
        "project/docs/test.md": "Tests. @style.md",
        "project/docs/mail.md": "no",
        "project/docs/code.md": "no",
        "project/docs/fence.md": "no",
        "project/AGENTS.txt": "no"
      })
      expect(files).toEqual(["project/CLAUDE.md", "project/docs/style.md", "project/docs/test.md"])
      expect(warnings).toEqual([])
    }))

  it.scoped("include five levels deep, and AGENTS.md includes nothing", () =>
    Effect.gen(function*() {
      const chain = Object.fromEntries(
        Array.from({ length: 8 }, (_, level) => [`project/${level}.md`, `Level ${level} @${level + 1}.md`])
      )
      const { files, warnings } = yield* read({ ...chain, "project/CLAUDE.md": "@0.md" })
      expect(files.at(-1)).toBe("project/4.md")
      expect(warnings).toEqual(["project/4.md:1 @5.md is not read: files include each other 5 levels deep at most"])
      expect((yield* read({ ...chain, "project/AGENTS.md": "@0.md" })).files).toEqual(["project/AGENTS.md"])
    }))

  it.scoped("of a project do not lead out of it, by links or includes, nor to secrets", () =>
    Effect.gen(function*() {
      const root = yield* workspace({
        "secret.md": "secret",
        "project/.env": "KEY=1",
        "project/CLAUDE.md": "Read @../secret.md and @.env and @~/secret.md",
        "project/app/x": "",
        "home/secret.md": "secret"
      })
      const fs = yield* FileSystem.FileSystem
      yield* fs.symlink(join(root, "secret.md"), join(root, "project/app/AGENTS.md"))
      const { files, text, warnings } = yield* readIn(root, "project/app")
      expect(files).toEqual(["project/CLAUDE.md"])
      expect(text).not.toContain("KEY=1")
      expect(warnings).toEqual([
        "project/CLAUDE.md:1 @../secret.md is not read: a project's file may not read files outside of the project",
        expect.stringMatching(
          /^project\/\.env these instructions are not read: your rules ask before it is read; `skein trust allow [\da-f]{12}` lets/
        ),
        "project/CLAUDE.md:1 @~/secret.md is not read: a project's file may not read files outside of the project",
        "project/app/AGENTS.md these instructions are not read: a project's file may not read files outside of the project"
      ])
    }))

  it.scoped("and all else of a project that is a hard link may come from outside, and is read with trust alone", () =>
    Effect.gen(function*() {
      const links = [
        "AGENTS.md",
        "app/docs/import.md",
        "docs/named.md",
        "prompt.md",
        ".claude/rules/rule.md",
        ".skein/agent/a.md",
        ".skein/command/c.md",
        ".skein/skills/s/SKILL.md",
        "app/node_modules/pkg/stored.md"
      ]
      const root = yield* workspace({
        "project/skein.json": { instructions: ["docs/*.md"], agent: { b: { prompt: "{file:prompt.md}" } } },
        "project/app/CLAUDE.md": "Read @docs/import.md and @node_modules/pkg/stored.md",
        "project/docs/plain.md": "Plain.",
        ...Object.fromEntries(links.map((path) => [`${path}.outside`, `---\ndescription: d\n---\ns3cret ${path}`]))
      })
      const fs = yield* FileSystem.FileSystem
      for (const path of links) {
        yield* fs.makeDirectory(dirname(join(root, "project", path)), { recursive: true })
        yield* fs.link(join(root, `${path}.outside`), join(root, "project", path))
      }
      const options = { directory: join(root, "project/app") }
      const reading = Effect.gen(function*() {
        const { grants, origins, settings, warnings } = yield* loadIn(root, { at: "project/app" })
        const found = yield* InstructionFiles.load(options.directory, settings.instructions ?? [], grants)
        const commands = yield* CommandFiles.load(options.directory, { settings, origins, grants })
        const skills = yield* SkillFiles.load(options.directory, grants)
        const all = [...warnings, ...found.warnings, ...commands.warnings, ...skills.warnings]
        return {
          said: JSON.stringify([found.text, settings.agent, commands.commands, skills.skills]),
          lines: all.map((issue) => formatIssue(root, issue))
        }
      }).pipe(Effect.provide(DataDirs.layer()), home(root))
      const before = yield* reading
      expect(before.said.match(/s3cret [\w./]+/g)).toEqual(["s3cret app/node_modules/pkg/stored.md"])
      expect(before.said).toContain("Plain.")
      expect(before.lines).toHaveLength(links.length - 1)
      for (const line of before.lines) {
        expect(line).toMatch(/it is a hard link, .*; copy the file, .*`skein trust allow [\da-f]{12}`/)
      }

      const trusting = Effect.flatMap(Trust.review(options), (items) => Trust.allow(options, items.map(({ id }) => id)))
      yield* trusting.pipe(Effect.provide(DataDirs.layer()), home(root))
      const after = yield* reading
      expect(after.lines).toEqual([])
      for (const path of links) expect(after.said).toContain(`s3cret ${path}`)
    }))

  it.scoped("and config of a project that is a hard link are read with trust alone", () =>
    Effect.gen(function*() {
      const files = {
        "skein.json": { agent: { mine: { description: "s3cret one", prompt: "x" } } },
        "opencode.json": { agent: { other: { description: "s3cret two", prompt: "x" } } },
        ".mcp.json": { mcpServers: { s: { command: "s3cret-three" } } }
      }
      const root = yield* workspace(
        Object.fromEntries(Object.entries(files).map(([name, file]) => [`out-${name}`, file]))
      )
      const fs = yield* FileSystem.FileSystem
      yield* fs.makeDirectory(join(root, "project/.git"), { recursive: true })
      for (const name of Object.keys(files)) yield* fs.link(join(root, `out-${name}`), join(root, "project", name))
      const options = { directory: join(root, "project") }
      const reading = Effect.map(loadIn(root, { at: "project" }), ({ settings, warnings, widenings }) => ({
        said: JSON.stringify([settings, widenings.filter(({ key }) => !key.startsWith("read"))]),
        lines: warnings.map((issue) => formatIssue(root, issue)).filter((line) => line.includes("hard link"))
      }))
      const before = yield* reading
      expect(before.said).not.toContain("s3cret")
      expect(before.lines).toHaveLength(3)
      yield* Effect.flatMap(Trust.review(options), (items) => Trust.allow(options, items.map(({ id }) => id)))
        .pipe(Effect.provide(DataDirs.layer()), home(root))
      const after = yield* reading
      expect(after.lines).toEqual([])
      for (const word of ["one", "two", "three"]) expect(after.said).toMatch(new RegExp(`s3cret.${word}`))
    }))

  it.scoped("of a project stay unread if a file becomes a hard link after its name was trusted", () =>
    Effect.gen(function*() {
      const root = yield* workspace({ "project/CLAUDE.md": "@.env", "project/.env": "A=1", key: "s3cret" })
      const fs = yield* FileSystem.FileSystem
      const options = { directory: join(root, "project") }
      yield* Effect.flatMap(Trust.review(options), (items) => Trust.allow(options, items.map(({ id }) => id)))
        .pipe(Effect.provide(DataDirs.layer()), home(root))
      expect((yield* readIn(root)).text).toContain("A=1")
      yield* fs.remove(join(root, "project/.env"))
      yield* fs.link(join(root, "key"), join(root, "project/.env"))
      expect((yield* readIn(root)).text).not.toContain("s3cret")
    }))

  it.scoped("of the user may be hard links, even if their home is the project", () =>
    Effect.gen(function*() {
      const root = yield* workspace({ "home/.git/HEAD": "", "mine.md": "Mine.", "home/.config/skein/x": "" })
      const fs = yield* FileSystem.FileSystem
      yield* fs.link(join(root, "mine.md"), join(root, "home/.config/skein/AGENTS.md"))
      expect(yield* readIn(root, "home")).toMatchObject({ text: expect.stringContaining("Mine."), warnings: [] })
    }))

  it.scoped("are truncated if they are long, each and in total, and models and people learn that", () =>
    Effect.gen(function*() {
      const { text = "", warnings } = yield* read({
        "project/AGENTS.md": "a".repeat(50_000),
        "project/1/AGENTS.md": "b".repeat(40_000),
        "project/1/2/AGENTS.md": "c".repeat(30_000),
        "project/1/2/3/AGENTS.md": "d".repeat(30_000)
      }, "project/1/2/3")
      const counts = ["a", "b", "c", "d"].map((letter) => text.match(new RegExp(`${letter}{100,}`, "g"))?.[0].length)
      expect(counts).toEqual([40_000, 40_000, 30_000, 10_000])
      expect(text.match(/\n\[cut here\]\n/g)).toHaveLength(2)
      expect(warnings).toEqual([
        "project/AGENTS.md only the first 40000 of 50000 characters are read (40000 of a file, 120000 of all); shorten it",
        "project/1/2/3/AGENTS.md only the first 10000 of 30000 characters are read (40000 of a file, 120000 of all); shorten it"
      ])
    }))

  it.scoped("that are unreadable are reported with the reason, and the others apply", () =>
    Effect.gen(function*() {
      const { files, warnings } = yield* read(
        {
          "project/AGENTS.md": new Uint8Array([65, 10, 0xff]),
          "project/a/AGENTS.md": "x".repeat(1024 * 1024 + 1),
          "project/a/b/AGENTS.md/c.md": "a directory",
          "project/a/b/c/AGENTS.md": "fine"
        },
        "project/a/b/c",
        ["project/absent.md", "project/none/*.md"]
      )
      expect(files).toEqual(["project/a/b/c/AGENTS.md"])
      expect(warnings).toEqual([
        "project/AGENTS.md:2 these instructions are not read: this is not UTF-8; save it in that encoding",
        "project/a/AGENTS.md these instructions are not read: it is too large: 1025 KiB; the limit is 1024 KiB",
        "project/a/b/AGENTS.md these instructions are not read: this is a directory, and must be a file",
        "project/absent.md these instructions are not read: cannot be read: there is no such file",
        "project/none/*.md no file matches (instructions)"
      ])
    }))

  it.scoped("of config are paths relative to its file, those of the project after the user's, and stay in the project", () =>
    Effect.gen(function*() {
      const { root, settings, warnings } = yield* loadFiles({
        "home/.config/skein/skein.json": { instructions: ["mine.md", "~/all.md"] },
        "project/skein.json": { instructions: ["docs/*.md", "../out.md", ".git/config"] },
        "project/.opencode/opencode.json": { instructions: ["CONTRIBUTING.md"] }
      })
      expect(settings.instructions?.map((path) => path.replace(`${root}/`, ""))).toEqual([
        "home/.config/skein/mine.md",
        "home/all.md",
        "project/CONTRIBUTING.md",
        "project/docs/*.md"
      ])
      expect(warnings.map((issue) => formatIssue(root, issue))).toEqual([
        "project/skein.json:2 instructions: \"../out.md\" is ignored: a project's file may not read files outside of the project",
        "project/skein.json:2 instructions: \".git/config\" is ignored: a project's file may not read git's own files"
      ])
    }))

  it.scoped("of a project are read under the user's rules: denied files never, asked ones with trust", () =>
    Effect.gen(function*() {
      const root = yield* workspace({
        [userFile]: { permission: { read: { "secrets/*": "deny", "drafts/*": "ask" } } },
        "project/skein.json": {
          instructions: ["secrets/*", "drafts/a.md", "docs/*.md"],
          agent: { a: { prompt: "{file:secrets/k.txt}" }, b: { prompt: "{file:drafts/a.md}" } }
        },
        "project/CLAUDE.md": "Read @secrets/k.txt and @drafts/b.md",
        "project/secrets/k.txt": "s3cret",
        "project/drafts/a.md": "Draft A.",
        "project/drafts/b.md": "Draft B.",
        "project/docs/x.md": "Docs."
      })
      const fs = yield* FileSystem.FileSystem
      yield* fs.symlink(join(root, "project/secrets/k.txt"), join(root, "project/docs/y.md"))
      yield* fs.makeDirectory(join(root, "project/app"))
      yield* fs.symlink(join(root, "project/secrets/k.txt"), join(root, "project/app/AGENTS.md"))
      const reading = Effect.gen(function*() {
        const { grants, settings, warnings } = yield* loadIn(root, { at: "project/app" })
        const found = yield* InstructionFiles.load(join(root, "project/app"), settings.instructions ?? [], grants)
        return { ...found, agent: settings.agent, all: [...warnings, ...found.warnings] }
      }).pipe(Effect.provide(DataDirs.layer()), home(root))
      const before = yield* reading
      expect(JSON.stringify([before.text, before.agent])).not.toMatch(/s3cret|Draft/)
      expect(before.text).toContain("Docs.")
      const lines = before.all.map((issue) => formatIssue(root, issue)).join("\n")
      expect(lines.match(/your rules deny reading it/g)).toHaveLength(2)
      expect(lines.match(/your rules ask before it is read; `skein trust allow [\da-f]{12}`/g)).toHaveLength(3)

      const options = { directory: join(root, "project/app") }
      const trusting = Effect.flatMap(Trust.review(options), (items) => Trust.allow(options, items.map(({ id }) => id)))
      expect((yield* trusting.pipe(Effect.provide(DataDirs.layer()), home(root))).map(({ key }) => key).toSorted())
        .toEqual(["read.drafts/a.md", "read.drafts/a.md", "read.drafts/b.md"])
      const after = yield* reading
      expect(after.text).toContain("Draft A.")
      expect(after.text).toContain("Draft B.")
      expect(after.agent).toEqual({ a: {}, b: { prompt: "Draft A." } })
      expect(JSON.stringify([after.text, after.agent])).not.toContain("s3cret")
    }))

  it.scoped("of the user are not dropped by a project that fills the room", () =>
    Effect.gen(function*() {
      const long = "x".repeat(40_000)
      const { files, text } = yield* read(
        {
          "home/.config/skein/AGENTS.md": "I like short answers.",
          "home/mine.md": "Never push.",
          "project/AGENTS.md": long,
          "project/app/AGENTS.md": long,
          "project/app/.claude/rules/a.md": long,
          "project/docs/a.md": "Docs."
        },
        "project/app",
        ["home/mine.md", "project/docs/a.md"]
      )
      expect(files.slice(0, 2)).toEqual(["home/.config/skein/AGENTS.md", "home/mine.md"])
      expect(text).toContain("Never push.")
      expect(files.at(-1)).toBe("project/docs/a.md")
    }))

  it.scoped("of .claude/rules are read for all files, and named where they are for some", () =>
    Effect.gen(function*() {
      const { files, text, warnings } = yield* read({
        "project/AGENTS.md": "Be kind.",
        "project/.claude/rules/style.md": "Use tabs.",
        "project/.claude/rules/deep/api.md": "---\npaths:\n  - \"src/api/**/*.ts\"\n  - lib/*\n---\nValidate inputs.",
        "project/.claude/rules/one.md": "---\npaths: docs/**\n---\nShort lines.",
        "project/.claude/rules/odd.md": "---\npaths: { a: 1 }\n---\nNot understood.",
        "project/.claude/rules/notes.txt": "not Markdown"
      })
      const rule = (name: string) => `project/.claude/rules/${name}.md`
      expect(files).toEqual(["project/AGENTS.md", rule("deep/api"), rule("one"), rule("style")])
      expect(text).toContain("Use tabs.")
      expect(text).not.toMatch(/Validate|Short lines|Not understood/)
      expect(text).toContain(
        "<instructions from=\".claude/rules/deep/api.md\">\nThis file has rules for files that match `src/api/**/*.ts` or `lib/*`. Read it before you work on such a file."
      )
      expect(text).toContain("files that match `docs/**`")
      expect(warnings).toEqual([
        `${rule("odd")} these instructions are not read: paths must be a list of patterns`
      ])
    }))

  it.scoped("of a linked working tree may be those of its main one", () =>
    Effect.gen(function*() {
      const git = "project/.git/worktrees/x"
      const root = yield* workspace({ "project/AGENTS.md": "Main.", [`${git}/HEAD`]: "", "project/trees/x/a": "" })
      const fs = yield* FileSystem.FileSystem
      const tree = join(root, "project/trees/x")
      yield* fs.writeFileString(join(tree, ".git"), `gitdir: ${root}/${git}\n`)
      yield* fs.symlink("../../AGENTS.md", join(tree, "AGENTS.md"))
      const refused =
        "project/trees/x/AGENTS.md these instructions are not read: a project's file may not read files outside"
      // An archive can hold such a pointer, but not what git keeps about it.
      expect((yield* readIn(root, "project/trees/x")).warnings).toEqual([expect.stringContaining(refused)])
      yield* fs.writeFileString(join(root, git, "gitdir"), `${tree}/.git\n`)
      expect(yield* readIn(root, "project/trees/x")).toMatchObject({
        text: expect.stringContaining("Main."),
        warnings: []
      })
    }))

  it.scoped("that a project names in its main tree keep to the rules in a linked one", () =>
    Effect.gen(function*() {
      const git = "project/.git/worktrees/x"
      const root = yield* workspace({ "project/.env": "s3cret", "project/a.md": "Open.", [`${git}/HEAD`]: "" })
      const fs = yield* FileSystem.FileSystem
      yield* fs.makeDirectory(join(root, "trees/x"), { recursive: true })
      yield* fs.writeFileString(join(root, "trees/x/.git"), `gitdir: ${root}/${git}\n`)
      yield* fs.writeFileString(join(root, git, "gitdir"), `${root}/trees/x/.git\n`)
      const { text, warnings } = yield* readIn(root, "trees/x", ["project/.env", "project/a.md"])
      expect(text).toContain("Open.")
      expect(text).not.toContain("s3cret")
      expect(warnings).toEqual([expect.stringContaining("your rules ask before it is read")])
    }))

  it.scoped("of a project's config show no variable of the environment", () =>
    Effect.gen(function*() {
      const root = yield* workspace({
        "home/.config/skein/skein.json": { instructions: ["{env:NAME}.md"] },
        "project/skein.json": { instructions: ["{env:NAME}", "a-{env:NAME}/*.md"] },
        "project/.opencode/opencode.json": { instructions: ["{env:NAME}"] }
      })
      const { settings, warnings } = yield* loadIn(root, { env: { NAME: "s3cret" } })
      expect(settings.instructions).toEqual([join(root, "home/.config/skein/s3cret.md")])
      expect(JSON.stringify(warnings)).not.toContain("s3cret")
      expect(warnings.map((issue) => formatIssue(root, issue)).join("\n")).toContain(
        "a project's file may not put environment variables into texts and names ({env:NAME})"
      )
    }))

  it.scoped("a directory is bare if neither it nor one above it, up to the git root, has files for agents", () =>
    Effect.gen(function*() {
      const isBare = (files: Parameters<typeof workspace>[0], at = "project/app") =>
        Effect.flatMap(
          workspace(files),
          (root) => InstructionFiles.isBare(join(root, at)).pipe(Effect.provide(DataDirs.layer()), home(root))
        )
      expect(yield* isBare({ "AGENTS.md": "above", "project/.git/config": "", "project/app/main.ts": "" })).toBe(true)
      expect(yield* isBare({ "project/.git/config": "" }, "project/gone")).toBe(true)
      for (
        const file of [
          "AGENTS.md",
          "CLAUDE.md",
          "skein.json",
          "skein.jsonc",
          ".skein/agent/a.md",
          ".agents/skills/a/SKILL.md",
          ".claude/settings.json",
          ".mcp.json",
          ".opencode/agent/a.md",
          "opencode.json",
          "opencode.jsonc"
        ]
      ) {
        expect(yield* isBare({ "project/.git/config": "", [`project/${file}`]: "{}" }), file).toBe(false)
        expect(yield* isBare({ "project/.git/config": "", [`project/app/${file}`]: "{}" }), file).toBe(false)
      }
    }))

  it.scoped("are read again some seconds later, and not before", () =>
    Effect.gen(function*() {
      const root = yield* workspace({ "project/AGENTS.md": "one" })
      const fs = yield* FileSystem.FileSystem
      const file = join(root, "project/AGENTS.md")
      const { of } = yield* Instructions.pipe(
        Effect.provide(InstructionFiles.layer([])),
        Effect.provide(DataDirs.layer()),
        home(root)
      )
      const text = of(join(root, "project"))
      expect(yield* text).toContain("one")
      yield* fs.writeFileString(file, "two")
      expect(yield* text).toContain("one")
      yield* TestClock.adjust("5 seconds")
      expect(yield* text).toContain("two")
    }))
})
