/** Settings of OpenCode and Claude Code, and lists of MCP servers, in the forms that people use. */
import type { Shape } from "./shape.ts"

const everything = ["deny * *"]

const settings = (what: string, content: unknown, result: string, more: Partial<Shape> = {}): Shape => ({
  what: `settings.json: ${what}`,
  files: { ".claude/settings.json": typeof content === "string" ? content : JSON.stringify(content) },
  result,
  ...more
})

const openCode = (what: string, content: unknown, result: string, more: Partial<Shape> = {}): Shape => ({
  what: `opencode.json: ${what}`,
  files: { "opencode.json": typeof content === "string" ? content : JSON.stringify(content) },
  result,
  ...more
})

const servers = (what: string, content: unknown, result: Shape["result"] = "1 trust"): Shape => ({
  what: `.mcp.json: ${what}`,
  files: { ".mcp.json": typeof content === "string" ? content : JSON.stringify(content) },
  result
})

const denied = { rules: ["deny bash curl *"] }

export const configs: ReadonlyArray<Shape> = [
  settings("a list of allow rules", { permissions: { allow: ["Bash(npm run test:*)", "Bash(ls:*)"] } }, "2 trust", {
    rules: []
  }),
  settings("denied commands", { permissions: { deny: ["Bash(curl:*)"] } }, "silent", denied),
  settings("empty lists", { permissions: { allow: [], deny: [], ask: [] } }, "silent", { rules: [] }),
  settings("a schema", { $schema: "https://json.schemastore.org/claude-code-settings.json" }, "silent"),
  settings(
    "comments and trailing commas",
    "{ // x\n\"permissions\": { \"deny\": [\"Bash(curl:*)\",], }, }",
    "silent",
    denied
  ),
  settings("a byte order mark", "\uFEFF{ \"permissions\": { \"deny\": [\"Bash(curl:*)\"] } }", "silent", denied),
  settings("an empty file", "", "silent", { rules: [] }),
  settings("a file that ends too early", "{ \"permissions\": {", "1 restriction"),
  settings("a file that is a list", [], "1 restriction"),
  settings("a rule that is no text", { permissions: { deny: [{ tool: "Bash" }] } }, "1 restriction"),
  settings("a rule without its end", { permissions: { deny: ["Bash(rm"] } }, "1 restriction"),
  settings("rules in one word", { permissions: "strict" }, "1 restriction", { rules: everything }),
  settings("a restriction that nobody knows", { permissions: { forbiddenPaths: ["x"] } }, "1 restriction", {
    rules: everything
  }),
  settings("a list under another name", { permissions: { denied: ["Bash(curl:*)"] } }, "silent", denied),
  settings("its sandbox", { sandbox: { enabled: true, autoAllowBashIfSandboxed: true } }, "1 note", { rules: [] }),
  settings("paths of its sandbox", { sandbox: { filesystem: { denyWrite: ["//etc"] } } }, "silent", {
    rules: ["deny edit /etc", "deny edit /etc/*"]
  }),
  settings("additionalDirectories", { permissions: { additionalDirectories: ["../x"] } }, "1 note"),
  settings("mode plan", { permissions: { defaultMode: "plan" } }, "silent", { begins: "plan" }),
  settings("a status line", { statusLine: { type: "command", command: "x" } }, "1 note"),
  settings(
    "MCP servers that are enabled",
    { enableAllProjectMcpServers: true, enabledMcpjsonServers: ["x"] },
    "2 note"
  ),
  settings("plugins", { enabledPlugins: { "x@y": true } }, "1 note"),
  settings("a size as model", { model: "opus" }, "silent"),
  settings("variables", { env: { DEBUG: "1", LEVEL: 3 } }, "2 trust"),
  settings("a hook", {
    hooks: { PostToolUse: [{ matcher: "Edit", hooks: [{ type: "command", command: "npm run lint" }] }] }
  }, "1 trust"),
  settings("no hooks", { hooks: {} }, "silent"),
  {
    what: "settings.json and settings.local.json",
    files: {
      ".claude/settings.json": JSON.stringify({ permissions: { deny: ["Bash(curl:*)"] } }),
      ".claude/settings.local.json": JSON.stringify({ permissions: { ask: ["Bash"] } })
    },
    result: "silent",
    rules: ["deny bash curl *", "ask bash *", "deny bash curl *"]
  },
  {
    what: "settings.json and opencode.json",
    files: {
      ".claude/settings.json": JSON.stringify({ permissions: { deny: ["Bash(curl:*)"] } }),
      "opencode.json": JSON.stringify({ permission: { bash: "ask" } })
    },
    result: "silent",
    rules: ["deny bash curl *", "ask bash *", "deny bash curl *"]
  },
  openCode("permission by tool", { permission: { edit: "ask", bash: { "curl *": "deny" } } }, "silent", {
    rules: ["ask edit *", "deny bash curl *"]
  }),
  openCode("permission in one word", { permission: "ask" }, "silent", { rules: ["ask * *"] }),
  openCode("permission that allows", { permission: { bash: "allow" } }, "1 trust", { rules: [] }),
  openCode("permission that is a number", { permission: 3 }, "1 restriction", { rules: everything }),
  openCode("permissions (sic)", { permissions: { bash: "deny" } }, "silent", { rules: ["deny bash *"] }),
  openCode("tools that are off", { tools: { bash: false, webfetch: false } }, "silent", {
    rules: ["deny bash *", "deny webfetch *"]
  }),
  openCode("tools of a server that are off", { tools: { "github_*": false } }, "silent", {
    rules: ["deny github_* *", "deny mcp_github_* *"]
  }),
  openCode(
    "version 2",
    {
      permissions: [{ action: "shell", resource: "curl *", effect: "deny" }],
      agents: { a: { system: "x", permissions: [{ action: "shell", resource: "*", effect: "deny" }] } },
      commands: { c: { template: "x" } }
    },
    "silent",
    { ...denied, gives: "a", denies: "bash *", names: ["c"] }
  ),
  openCode("keys of version 2", { providers: {}, share: "manual", worktree: {}, snapshots: true }, "2 note"),
  openCode("keys of its own", { reference: { a: "b" }, subagent_depth: 2, tool_output: {} }, "2 note"),
  openCode("a theme", { $schema: "https://opencode.ai/config.json", theme: "x", autoupdate: false }, "2 note"),
  openCode("local servers", { mcp: { x: { type: "local", command: ["npx", "x"], enabled: true } } }, "1 trust"),
  openCode("remote servers", { mcp: { x: { type: "remote", url: "https://x.example/mcp" } } }, "1 trust"),
  openCode("no servers", { mcp: {} }, "silent"),
  openCode("plugins", { plugin: ["x@latest"] }, "1 note"),
  openCode("providers", { provider: { lmstudio: { npm: "@ai-sdk/openai-compatible" } } }, "1 note"),
  openCode("instructions", { instructions: ["docs/*.md"] }, "silent"),
  openCode("instructions from elsewhere", { instructions: ["https://example.com/x.md"] }, "1 note"),
  openCode("a model that is not set up", { model: "zed/z1" }, "1 note"),
  openCode("an agent", { agent: { a: { prompt: "x", tools: { bash: false } } } }, "silent", {
    gives: "a",
    denies: "bash *"
  }),
  openCode("a mode", { mode: { a: { prompt: "x" } } }, "silent", { gives: "a" }),
  openCode("an agent that is a number", { agent: { a: 1 } }, "1 restriction", { lacks: "a" }),
  openCode("a template of an agent", { agent: { "{{NAME}}": { prompt: "x" } } }, "1 restriction", {
    lacks: "{{NAME}}"
  }),
  openCode("build disabled", { agent: { build: { disable: true } } }, "silent", { begins: "plan" }),
  openCode("a command", { command: { c: { template: "x", description: "y" } } }, "silent", { names: ["c"] }),
  openCode("a command without a template", { command: { c: { description: "y" } } }, "1 left_out", { names: [] }),
  openCode("a template of a command", { command: { c: { template: "Fix {{FILE}}" } } }, "1 left_out", { names: [] }),
  openCode("comments and trailing commas", "{ // x\n\"permission\": { \"edit\": \"ask\", }, }", "silent", {
    rules: ["ask edit *"]
  }),
  openCode("a file that is cut off", "{ \"model\":", "1 restriction"),
  servers("a server with a command", { mcpServers: { x: { command: "npx", args: ["x"], env: { KEY: "${KEY}" } } } }),
  servers("a server with a URL", { mcpServers: { x: { type: "http", url: "https://x.example/mcp" } } }),
  servers("an editor's shape", { servers: { x: { command: "x" } }, inputs: [] }),
  servers("a bare server", { command: "npx", args: ["x"] }, "1 note"),
  servers("a file that is cut off", "{ \"mcpServers\":", "1 note")
]
