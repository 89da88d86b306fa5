import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as FileSystem from "@effect/platform/FileSystem"
import { expect, layer } from "@effect/vitest"
import { formatIssue } from "@skein/config/ConfigError"
import { DataDirs } from "@skein/config/DataDirs"
import { load } from "@skein/config/SkillFiles"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import { join } from "node:path"
import { workspace } from "./workspace.ts"

const skillsIn = Effect.fnUntraced(function*(root: string, at = "project") {
  const loaded = yield* load(join(root, at)).pipe(
    Effect.provide(DataDirs.layer()),
    Effect.withConfigProvider(ConfigProvider.fromMap(new Map([["HOME", join(root, "home")]])))
  )
  const below = (text: string) => text.replaceAll(`${root}/`, "")
  return {
    skills: loaded.skills.map((skill) => ({
      ...skill,
      folder: below(skill.folder),
      origin: below(skill.origin),
      hides: skill.hides.map(below)
    })),
    broken: Object.fromEntries(loaded.broken.map(({ message, name }) => [name, below(message)])),
    warnings: loaded.warnings.map((issue) => below(formatIssue(issue)))
  }
})

const skill = (description: string, more = "") =>
  `---\ndescription: ${description}\n${more}---\nHow to ${description}.\n`

layer(NodeFileSystem.layer)("SkillFiles", (it) => {
  it.scoped("reads folders with a SKILL.md, the nearest of each name, and reports which ones it hides", () =>
    Effect.gen(function*() {
      const root = yield* workspace({
        "home/.config/skein/skills/release/SKILL.md": skill("user"),
        "home/.config/skein/skills/mine/SKILL.md":
          "\uFEFF---\r\nname: other-name\r\ndescription: Mine\r\n---\r\na\r\nb\r\n",
        "project/.claude/skills/release/SKILL.md": skill("claude", "allowed-tools: Bash\nmodel: opus\n"),
        "project/.skein/skills/release/SKILL.md": skill("skein", "license: MIT\nmetadata:\n  a: 1\n"),
        "project/.skein/skills/release/run.sh": "x",
        "project/.skein/skills/no-skill/README.md": "x",
        "project/sub/.claude/skills/near/SKILL.md": skill("near", "allowed-tools: Bash\nmodel: opus\n")
      })
      const { broken, skills, warnings } = yield* skillsIn(root, "project/sub")
      expect(broken).toEqual({})
      expect(skills).toEqual([
        {
          name: "near",
          description: "near",
          text: "How to near.",
          folder: "project/sub/.claude/skills/near",
          origin: "project/sub/.claude/skills/near/SKILL.md",
          hides: []
        },
        {
          name: "other-name",
          description: "Mine",
          text: "a\nb",
          folder: "home/.config/skein/skills/mine",
          origin: "home/.config/skein/skills/mine/SKILL.md",
          hides: []
        },
        {
          name: "release",
          description: "skein",
          text: "How to skein.",
          folder: "project/.skein/skills/release",
          origin: "project/.skein/skills/release/SKILL.md",
          hides: ["project/.claude/skills/release/SKILL.md", "home/.config/skein/skills/release/SKILL.md"]
        }
      ])
      const file = "project/sub/.claude/skills/near/SKILL.md"
      expect(warnings).toEqual([
        `${file}:3:1: allowed-tools: a skill allows nothing here; use permission in skein.json`,
        `${file}:4:1: model: Skein ignores it`
      ])
    }))

  it.scoped("reports each broken file with its place and a fix; the others still work", () =>
    Effect.gen(function*() {
      const at = (name: string) => `project/.skein/skills/${name}/SKILL.md`
      const root = yield* workspace({
        "home/.config/skein/skills/typo/SKILL.md": skill("fine, but not the nearest"),
        [at("fine")]: skill("fine"),
        [at("typo")]: "---\ndescripton: x\n---\nx",
        [at("none")]: "no front matter",
        [at("yaml")]: "---\ndescription: [\n---\nx",
        [at("empty")]: "---\ndescription: x\n---\n",
        [at("spaced")]: "---\nname: a b\ndescription: >\n  folded\n---\nx",
        [at("name")]: "---\nname: \"a\\nb\"\ndescription: x\n---\nx",
        [at("huge")]: "x".repeat(1024 * 1024 + 1),
        [at("twin")]: skill("x", "name: fine2\n"),
        [at("twin2")]: skill("y", "name: fine2\n")
      })
      const { broken, skills } = yield* skillsIn(root)
      expect(skills.map(({ name }) => name)).toEqual(["a b", "fine"])
      expect(broken).toEqual({
        typo: [
          `${at("typo")}:2:1: unknown key "descripton" in skill; did you mean "description"?`,
          `${at("typo")}:2:1: skill lacks "description"`
        ].join("\n"),
        none: `${at("none")}:1:1: skill lacks "description"`,
        yaml: expect.stringMatching(/yaml\/SKILL\.md:\d+:\d+: invalid YAML: /),
        empty: `${at("empty")}:4:1: there is no text below the front matter`,
        name: `${at("name")}:2:7: skill.name must be up to 128 characters in one line, found "a\\nb"`,
        huge: `${at("huge")}: it is too large: 1025 KiB; the limit is 1024 KiB`,
        fine2: `${at("twin2")}: the skill "fine2" is defined in ${at("twin")} as well; rename one of them`
      })
    }))

  it.scoped("does not follow a project's links out of it", () =>
    Effect.gen(function*() {
      const fs = yield* FileSystem.FileSystem
      const root = yield* workspace({ "else/SKILL.md": skill("x"), "project/.skein/skills/a/SKILL.md": skill("a") })
      yield* fs.symlink(join(root, "else"), join(root, "project/.skein/skills/out"))
      const { skills, warnings } = yield* skillsIn(root)
      expect(skills.map(({ name }) => name)).toEqual(["a"])
      expect(warnings).toEqual([
        "project/.skein/skills/out/SKILL.md: this skill is ignored: a project's file may not read files outside of the project"
      ])
    }))
})
