/** Commands and skills in the forms that people use. */
import type { Shape } from "./shape.ts"

const command = (what: string, content: string, result: string, names: ReadonlyArray<string> = ["c"]): Shape => ({
  what: `command of Claude Code: ${what}`,
  files: { ".claude/commands/c.md": content },
  result,
  names
})

const openCode = (what: string, content: string, result: string, names: ReadonlyArray<string> = ["c"]): Shape => ({
  what: `command of OpenCode: ${what}`,
  files: { ".opencode/command/c.md": content },
  result,
  names
})

const skill = (what: string, content: string, result: string, names: ReadonlyArray<string>): Shape => ({
  what: `skill: ${what}`,
  files: { ".claude/skills/s/SKILL.md": content },
  result,
  names
})

const named = (file: string, names: ReadonlyArray<string>, result = "silent"): Shape => ({
  what: `command by the name of its file: ${file}`,
  files: { [file]: "Fix it." },
  result,
  names
})

const place = (directory: string): Shape => ({
  what: `skill in ${directory}`,
  files: { [`${directory}/s/SKILL.md`]: "---\nname: s\ndescription: d\n---\nx" },
  result: "silent",
  names: ["s: d"]
})

export const commands: ReadonlyArray<Shape> = [
  command("text alone", "Fix it.", "silent"),
  command("description", "---\ndescription: Fixes\n---\nFix $ARGUMENTS", "silent"),
  command("argument-hint in two lists", "---\nargument-hint: [a] [b]\n---\nx", "silent"),
  command("argument-hint as text", "---\nargument-hint: <file>\n---\nx", "silent"),
  command("allowed-tools", "---\nallowed-tools: Bash(git:*), Read\n---\nx", "1 note"),
  command("allowed-tools without a value", "---\nallowed-tools:\n---\nx", "silent"),
  command("denied-tools", "---\ndenied-tools: Bash\n---\nx", "1 restriction", []),
  command("hooks that can block", "---\nhooks: { PreToolUse: [{}] }\n---\nx", "1 restriction", []),
  command("disable-model-invocation", "---\ndisable-model-invocation: true\n---\nx", "silent"),
  command("extra keys", "---\nauthor: me\nversion: 1\n---\nx", "2 note"),
  command("a size as model", "---\nmodel: haiku\n---\nx", "silent"),
  command("model that nobody knows", "---\nmodel: quantum-9\n---\nx", "1 note"),
  command("description with a colon", "---\ndescription: Use: always\n---\nx", "silent"),
  command("front matter that does not end", "---\ndescription: x\n\nFix it.", "1 note"),
  command("carriage returns", "---\r\ndescription: x\r\n---\r\nFix it.\r\n", "silent"),
  command("no text", "---\ndescription: x\n---\n", "1 left_out", []),
  command("an empty file", "", "1 left_out", []),
  command("a template", "Fix {{PLACEHOLDER}} now.", "1 left_out", []),
  command("a template in a code span", "Run `{{TEST_COMMAND}}`.", "1 left_out", []),
  command("a template with spaces", "Fix {{ PROJECT NAME }}.", "1 left_out", []),
  command("a template of a description", "---\ndescription: \"Fix {{WHAT}}\"\n---\nx", "1 left_out", []),
  command("expressions of a workflow", "Set `${{ secrets.TOKEN }}` and ${{ GITHUB_SHA }}.", "silent"),
  command("expressions of a template language", "Write {{ user.name }} and {{#each items}}.", "silent"),
  command("expressions of a program", "Write style={{ color: red }}.", "silent"),
  named(".claude/commands/ns:verb.md", ["ns:verb"]),
  named(".claude/commands/two words.md", ["two words"]),
  named(".claude/commands/deep/er.md", ["deep/er"]),
  named(".opencode/command/team/fix.md", ["team/fix"]),
  named(".opencode/commands/fix.md", ["fix"]),
  named(".claude/commands/{{NAME}}.md", [], "1 left_out"),
  openCode("agent and model", "---\nagent: build\nmodel: openai/gpt-5\n---\nx", "silent"),
  openCode("subtask", "---\nsubtask: true\n---\nx", "silent"),
  openCode("subtask in words", "---\nsubtask: maybe\n---\nx", "1 note"),
  openCode("model of a provider that is not set up", "---\nmodel: zed/z1\n---\nx", "1 note"),
  openCode("a template", "Fix {{FILE}}", "1 left_out", []),
  openCode("template and text", "---\ntemplate: y\n---\nx", "1 note"),
  ...[".claude/skills", ".opencode/skill", ".opencode/skills", ".agents/skills", ".claude/skills/group"].map(place),
  skill("folded description", "---\nname: s\ndescription: >\n  one\n  two\n---\nx", "silent", ["s: one two"]),
  skill("literal description", "---\nname: s\ndescription: |\n  one\n---\nx", "silent", ["s: one"]),
  skill("no description", "---\nname: s\n---\n# Title\n\nFirst words.\n", "silent", ["s: First words."]),
  skill("no front matter", "# Title\n\nFirst words.\n", "silent", ["s: First words."]),
  skill("description with colons", "---\nname: s\ndescription: Use when: asked\n---\nx", "silent", [
    "s: Use when: asked"
  ]),
  skill("name in title case", "---\nname: My Skill\ndescription: d\n---\nx", "silent", ["My Skill: d"]),
  skill("license, metadata and version", "---\nname: s\ndescription: d\nlicense: MIT\nversion: 1\n---\nx", "silent", [
    "s: d"
  ]),
  skill("allowed-tools", "---\nname: s\ndescription: d\nallowed-tools: Read\n---\nx", "1 note", ["s: d"]),
  skill("extra keys", "---\nname: s\ndescription: d\nfoo: 1\n---\nx", "1 note", ["s: d"]),
  skill("a restriction that nobody knows", "---\nname: s\ndescription: d\nforbidden: x\n---\nx", "1 restriction", []),
  skill(
    "hooks that can block",
    "---\nname: s\ndescription: d\nhooks: { PreToolUse: [{}] }\n---\nx",
    "1 restriction",
    []
  ),
  ...["true", "\"yes\"", "1", "perhaps"].map((value) =>
    skill(
      `disable-model-invocation ${value}`,
      `---\nname: s\ndescription: d\ndisable-model-invocation: ${value}\n---\nx`,
      "1 left_out",
      []
    )
  ),
  skill("disable-model-invocation false", "---\ndescription: d\ndisable-model-invocation: false\n---\nx", "silent", [
    "s: d"
  ]),
  skill(
    "kept from the model in OpenCode",
    "---\ndescription: d\nmetadata: { opencode/autoinvoke: false }\n---\nx",
    "1 left_out",
    []
  ),
  skill("no text", "---\nname: s\ndescription: d\n---\n", "1 left_out", []),
  skill("an empty file", "", "1 left_out", []),
  skill("a template", "---\nname: \"{{NAME}}\"\ndescription: d\n---\nx", "1 left_out", []),
  {
    what: "skills of one name in two homes",
    files: {
      ".agents/skills/s/SKILL.md": "---\nname: s\ndescription: far\n---\nx",
      ".claude/skills/s/SKILL.md": "---\nname: s\ndescription: near\n---\nx"
    },
    result: "silent",
    names: ["s: near"]
  }
]
