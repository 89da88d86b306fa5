/** Agents in the forms that people use. */
import { claude, openCode, type Shape } from "./shape.ts"

const a = { gives: "a" } as const
const noA = { lacks: "a" } as const

const keys = [
  "id",
  "version",
  "tags",
  "type",
  "category",
  "author",
  "globs",
  "dependencies",
  "icon",
  "whenToUse",
  "capabilities",
  "skills",
  "memory",
  "effort",
  "background"
]

const names = [
  "ns:verb",
  "Cloudflare Manager",
  "Foo - Bar",
  "C++ expert",
  "ünïcode",
  "日本語",
  "@scoped/name",
  "dotted.name",
  "UPPER_CASE",
  "what's new"
]

const aliases = [
  "haiku",
  "sonnet",
  "opus",
  "inherit",
  "claude-sonnet-4-5-20250929",
  "anthropic/claude-opus-4-5",
  "openai/gpt-5",
  "\"sonnet\"",
  "Sonnet",
  "claude-3-5-haiku-latest"
]

const colors = ["Blue", "RED", "grey", "purple", "\"#abc\"", "'#A1B2C3'"]

export const agents: ReadonlyArray<Shape> = [
  ...keys.map((key) => claude(`extra key ${key}`, `description: x\n${key}: [one, two]`, "1 note", a)),
  ...keys.slice(0, 8).map((key) => openCode(`extra key ${key}`, `description: x\n${key}: one`, "1 note", a)),
  ...names.map((name) =>
    claude(`name ${name}`, `x: y`, "1 note", {
      files: {
        ".claude/agents/f.md": `---\nname: ${
          name.startsWith("@") || name.includes("'") ? `"${name}"` : name
        }\ndescription: x\n---\nWork.`
      },
      result: "silent",
      gives: name
    })
  ),
  ...aliases.map((model) => claude(`model ${model}`, `model: ${model}`, "silent", a)),
  claude("model that nobody knows", "model: quantum-9", "1 note", a),
  openCode("model of a provider that is not set up", "model: zed/z1", "1 note", a),
  ...colors.map((color) => claude(`color ${color}`, `color: ${color}`, "silent", a)),
  claude("color of a theme", "color: accent", "1 note", a),
  openCode("color null", "color:", "1 note", a),
  // Invalid YAML front matter.
  claude("description with a colon", "description: Use it when: asked", "silent", a),
  claude("description with quotes and colons", "description: Use \"it\": user: \"hi\" assistant: 'ok'", "silent", a),
  claude(
    "examples on lines of their own",
    "description: Use it.\n\nExamples:\n- user: \"x: y\"\n<example>\nContext: z\n</example>",
    "2 note",
    a
  ),
  claude("description that begins with a bracket", "description: [Beta] does things", "silent", a),
  claude("description that begins with a backtick", "description: `code` first", "silent", a),
  claude("description that begins with @", "description: @mention first", "silent", a),
  claude("description that begins with %", "description: %d percent", "silent", a),
  claude("description that begins with *", "description: *bold* text", "silent", a),
  claude("description that ends with a quote", "description: say \"hi\"", "silent", a),
  claude("quotes that do not end", "description: \"open", "silent", a),
  claude("folded description", "description: >\n  one\n  two", "silent", a),
  claude("literal description", "description: |\n  one\n  two", "silent", a),
  claude("folded description with colons", "description: >-\n  one: two: three", "silent", a),
  claude("description over indented lines", "description: one\n  two: three", "silent", a),
  claude("tabs in the front matter", "description: x\nmetadata:\n\tkey: value", "1 note", a),
  claude("globs that YAML takes for a reference", "description: x\nglobs: *.ts", "1 note", a),
  claude("a key twice", "description: x\ndescription: y", "1 note", a),
  claude("tools twice: both count", "tools: Read, Bash\ntools: Read, Grep", "silent", { ...a, denies: "* *" }),
  claude("comments", "# a comment\ndescription: x # more", "silent", a),
  claude("description that is a number", "description: 7", "silent", a),
  claude("description that is a list", "description: [a, b]", "1 note", a),
  claude("no description", "tools: Read", "silent", a),
  // Tools.
  claude("tools as text", "tools: Read, Grep, Glob", "silent", { ...a, denies: "* *" }),
  claude("tools as a list", "tools: [Read, Grep]", "silent", { ...a, denies: "* *" }),
  claude("tools as lines", "tools:\n  - Read\n  - Bash", "silent", { ...a, denies: "* *" }),
  claude("tools in lower case", "tools: read, grep", "silent", { ...a, denies: "* *" }),
  claude("tools as a text in brackets", "tools: \"[Read, Bash]\"", "silent", { ...a, denies: "* *" }),
  claude("tools as JSON", "tools: [\"Read\", \"Bash\"]", "silent", { ...a, denies: "* *" }),
  claude("all tools", "tools: \"*\"", "silent", a),
  claude("tools without a value", "tools:", "1 note", a),
  claude("an empty list of tools", "tools: []", "silent", { ...a, denies: "* *" }),
  claude("tools that Skein does not have", "tools: Read, WebSearch, mcp__x__y", "1 note", { ...a, denies: "* *" }),
  claude("a part of a tool", "tools: Read, Bash(git:*)", "1 note", { ...a, denies: "* *" }),
  claude("tools as switches", "tools:\n  bash: false\n  write: false", "silent", { ...a, denies: "bash *" }),
  claude("tools under another key", "allowed-tools: Read", "silent", { ...a, denies: "* *" }),
  claude("tools as objects with names", "tools:\n  - name: Read\n  - name: Grep", "silent", { ...a, denies: "* *" }),
  claude("tools that are a number", "tools: 3", "1 restriction", noA),
  claude("tools that nobody could read", "tools: [[a], {b: c}]", "1 restriction", noA),
  claude("disallowedTools", "disallowedTools: Bash, Write", "silent", { ...a, denies: "bash *" }),
  claude("disallowed-tools", "disallowed-tools: [Bash]", "silent", { ...a, denies: "bash *" }),
  claude("disallowedTools under another name", "disallowedTools: Shell", "silent", { ...a, denies: "bash *" }),
  claude("a part that is taken away", "disallowedTools: Bash(rm:*)", "1 note", { ...a, denies: "bash *" }),
  claude("disallowedTools of a server", "disallowedTools: mcp__x__y, mcp__z", "silent", { ...a, denies: "mcp_z_* *" }),
  claude("hooks that can block", "hooks: { PreToolUse: [{ matcher: Bash, hooks: [] }] }", "1 restriction", noA),
  claude("hooks that observe", "hooks: { PostToolUse: [{ hooks: [] }] }", "1 note", a),
  claude("no hooks", "hooks: {}", "1 note", a),
  claude("disallowedTools that are a number", "disallowedTools: 3", "1 restriction", noA),
  // Permissions.
  claude("permissions by tool", "permissions: { bash: deny }", "silent", { ...a, denies: "bash *" }),
  claude("permissions under Claude Code's names", "permissions: { Bash: deny, Write: ask }", "silent", {
    ...a,
    denies: "bash *"
  }),
  claude("permissions as lists of rules", "permissions:\n  deny:\n    - Bash(rm:*)", "silent", {
    ...a,
    denies: "bash rm *"
  }),
  claude("permissions as a list of tools", "permissions: [Read, Grep]", "silent", { ...a, denies: "* *" }),
  claude("permissions read-only", "permissions: read-only", "silent", { ...a, denies: "edit *" }),
  claude("permissions in words for tools", "permissions: { write: none, shell: never }", "silent", {
    ...a,
    denies: "edit *"
  }),
  claude("permissions of what Skein does not know", "permissions: { filesystem: none }", "1 restriction", noA),
  claude("permissions in one unknown word", "permissions: cautious", "1 restriction", noA),
  claude("permissions full", "permissions: full", "1 note", a),
  claude("permissionMode plan", "permissionMode: plan", "silent", { ...a, denies: "edit *" }),
  claude("permissionMode acceptEdits", "permissionMode: acceptEdits", "1 note", a),
  claude("permissionMode that nobody knows", "permissionMode: locked", "1 restriction", noA),
  claude("readonly", "readonly: true", "silent", { ...a, denies: "edit *" }),
  claude("read_only in words", "read_only: yes", "silent", { ...a, denies: "edit *" }),
  claude("readonly false", "readonly: false", "silent", a),
  claude("allowed_paths", "allowed_paths: [src]", "1 restriction", noA),
  claude("restrictions", "restrictions: no network", "1 restriction", noA),
  claude("sandbox", "sandbox: strict", "1 restriction", noA),
  claude("sandbox off", "sandbox: false", "1 note", a),
  claude("isolation worktree", "isolation: worktree", "silent", a),
  claude("isolation of another kind", "isolation: container", "1 restriction", noA),
  claude("disabled", "disabled: true", "silent", noA),
  claude("enabled false", "enabled: false", "silent", noA),
  claude("disable that nobody could read", "disable: perhaps", "1 restriction", noA),
  openCode("permission", "permission:\n  edit: deny\n  bash:\n    \"*\": ask", "silent", { ...a, denies: "edit *" }),
  openCode("permission in capitals", "permission:\n  edit: Deny", "silent", { ...a, denies: "edit *" }),
  openCode("permission as switches", "permission:\n  bash: false", "silent", { ...a, denies: "bash *" }),
  openCode("permission with an unknown action", "permission:\n  bash: restricted", "1 note", {
    ...a,
    denies: "bash *"
  }),
  openCode("permission in one word", "permission: deny", "silent", { ...a, denies: "* *" }),
  openCode("tools of a server that are off", "tools: { \"github*\": false }", "silent", {
    ...a,
    denies: "mcp_github* *"
  }),
  openCode("permission that is a number", "permission: 3", "1 restriction", noA),
  openCode("permission in broken YAML", "permission:\n  bash: {deny\n edit", "1 restriction", noA),
  openCode("permission that allows", "permission:\n  bash: allow", "1 trust", a),
  openCode("tools as a list", "tools: [read, grep]", "silent", { ...a, denies: "* *" }),
  openCode("tools that ask", "tools:\n  bash: ask", "silent", a),
  openCode("tools neither on nor off", "tools:\n  bash: sometimes", "1 note", { ...a, denies: "bash *" }),
  openCode("temperature as text", "temperature: \"0.2\"", "silent", a),
  openCode("temperature that is none", "temperature: warm", "1 note", a),
  openCode("steps as text", "maxSteps: \"12\"", "silent", a),
  openCode("steps that are none", "maxSteps: many", "1 note", a),
  openCode("mode in capitals", "mode: Subagent", "silent", a),
  openCode("mode that is none", "mode: helper", "1 note", a),
  openCode("mode that restricts", "mode: read-only", "silent", { ...a, denies: "edit *" }),
  openCode("hidden in words", "hidden: yes", "silent", a),
  openCode("prompt and text", "prompt: one", "1 note", a),
  // Files.
  {
    what: "agent with a byte order mark and CRLF",
    files: { ".claude/agents/a.md": "\uFEFF---\r\nname: a\r\ntools: Read\r\n---\r\nx\r\n" },
    result: "silent",
    ...a,
    denies: "* *"
  },
  {
    what: "agent in UTF-16",
    files: {
      ".claude/agents/a.md": new Uint8Array([
        0xff,
        0xfe,
        ...new Uint8Array(Uint16Array.from([..."---\nname: a\n---\nx"].map((each) => each.charCodeAt(0))).buffer)
      ])
    },
    result: "silent",
    ...a
  },
  {
    what: "agent with bytes that are no UTF-8",
    files: { ".claude/agents/a.md": new Uint8Array([...new TextEncoder().encode("---\nname: a\n---\n"), 0xe9, 0x0a]) },
    result: "silent",
    ...a
  },
  {
    what: "agent without an end of its front matter",
    files: { ".claude/agents/a.md": "---\nname: a\ntools: Read\n\nWork.\n" },
    result: "1 note",
    ...a,
    denies: "* *"
  },
  {
    what: "agent with an empty line before the front matter",
    files: { ".claude/agents/a.md": "\n---\nname: a\ntools: Read\n---\nWork.\n" },
    result: "silent",
    ...a,
    denies: "* *"
  },
  {
    what: "README among the agents of Claude Code",
    files: { ".claude/agents/README.md": "# Agents\n" },
    result: "1 note",
    lacks: "README"
  },
  { what: "empty agent of Claude Code", files: { ".claude/agents/a.md": "" }, result: "1 note", ...noA },
  { what: "empty agent of OpenCode", files: { ".opencode/agent/a.md": " \n" }, result: "1 note", ...noA },
  {
    what: "agent of OpenCode without front matter",
    files: { ".opencode/agent/a.md": "Work." },
    result: "silent",
    ...a
  },
  { what: "huge agent", files: { ".claude/agents/a.md": "x".repeat(1024 * 1024 + 1) }, result: "1 left_out", ...noA },
  {
    what: "agents in folders of Claude Code",
    files: { ".claude/agents/deep/er/x.md": "---\nname: a\n---\nx" },
    result: "silent",
    ...a
  },
  {
    what: "agents in folders of OpenCode",
    files: { ".opencode/agents/team/a.md": "x" },
    result: "silent",
    gives: "team/a"
  },
  {
    what: "two agents of one name",
    files: { ".claude/agents/a.md": "---\nname: a\n---\nx", ".claude/agents/b.md": "---\nname: a\n---\ny" },
    result: "1 left_out",
    ...a
  },
  {
    what: "template of an agent",
    files: { ".claude/agents/t.md": "---\nname: {{NAME}}\ndescription: x\n---\nx" },
    result: "1 restriction",
    lacks: "t"
  },
  { what: "template by the name of its file", files: { ".opencode/agent/{{AGENT}}.md": "x" }, result: "1 left_out" },
  {
    what: "name with wildcards",
    files: { ".claude/agents/a.md": "---\nname: a*\n---\nx" },
    result: "1 note",
    gives: "a-"
  },
  {
    what: "agent that takes the place of a built-in one and cannot be read",
    files: { ".claude/agents/explore.md": "---\nname: explore\ntools: 3\n---\nx" },
    result: "1 restriction",
    lacks: "explore"
  },
  { what: "directory of agents that is a file", files: { ".claude/agents": "x" }, result: "1 left_out" }
]
