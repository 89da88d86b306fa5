import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import { expect, layer } from "@effect/vitest"
import { fromConfig } from "@skein/domain/Rule"
import * as Effect from "effect/Effect"
import { loadFiles, mistakes, told, type workspace } from "./workspace.ts"

const file = "project/.claude/settings.json"

const read = (files: Parameters<typeof workspace>[0]) =>
  Effect.map(loadFiles(files, { providers: ["openai"] }), ({ root, settings, warnings }) => ({
    rules: fromConfig(settings.permission ?? []).map(({ action, pattern, permission }) =>
      `${action} ${permission} ${pattern}`
    ),
    settings,
    warnings: warnings.map((issue) => told(root, issue))
  }))

layer(NodeFileSystem.layer)("settings.json of Claude Code", (it) => {
  it.scoped("forbids and has asked what it forbids and has asked there, whatever it allows", () =>
    Effect.gen(function*() {
      const { rules } = yield* read({
        [file]: {
          permissions: {
            deny: [
              "Read(./.env)",
              "Read(./secrets/**)",
              "Read(**/*.pem)",
              "Edit(/generated/**)",
              "Write(//etc/**)",
              "Bash(curl:*)",
              "Bash(rm -rf *)",
              "WebFetch(domain:example.com)",
              "Task(Explore)",
              "mcp__github__push",
              "WebSearch"
            ],
            ask: ["Bash(git push:*)", "Edit"]
          }
        },
        "project/.claude/settings.local.json": { permissions: { deny: ["Bash"] } }
      })
      expect(rules).toEqual([
        "ask bash git push *",
        "ask edit *",
        "deny read .env",
        "deny read */.env",
        "deny read secrets/*",
        "deny read */secrets/*",
        "deny read *.pem",
        "deny edit generated/*",
        "deny edit */generated/*",
        "deny edit /etc/*",
        "deny bash curl *",
        "deny bash rm -rf *",
        "deny webfetch *://example.com",
        "deny webfetch *://example.com/*",
        "deny webfetch *://example.com:*",
        "deny task explore",
        "deny mcp__github__push *",
        "deny WebSearch *",
        "deny bash *"
      ])
    }))

  it.scoped("is of a project, whose rules do not allow, and says what else is not honoured", () =>
    Effect.gen(function*() {
      const { rules, settings, warnings } = yield* read({
        [file]: JSON.stringify(
          {
            model: "opus",
            permissions: {
              allow: ["Bash(npm run lint)"],
              deny: ["Bash(npm publish)"],
              defaultMode: "plan",
              additionalDirectories: ["../docs"]
            },
            hooks: { PreToolUse: [] },
            statusLine: {}
          },
          undefined,
          1
        )
      })
      expect(rules).toEqual(["deny bash npm publish"])
      expect(settings.default_agent).toBe("plan")
      expect(warnings).toEqual([
        `${file}:2:2 model: which provider has "opus" is not known, so that the model of the session is used; agent.NAME.model in skein.json can choose one`,
        `${file}:11:3 permissions.additionalDirectories: allow external_directory in your own skein.json`,
        `${file}:18:2 statusLine: Skein has no use for it`,
        expect.stringContaining(`${file}:5 permission.bash.npm run lint is ignored: a project's file may not allow`)
      ])
    }))

  it.scoped.each<[string, string, ReadonlyArray<string>]>([
    ["a misspelt key", "{ \"permission\": {} }", [":1:3 unknown key \"permission\"; did you mean \"permissions\"?"]],
    [
      "a misspelt list",
      "{ \"permissions\": { \"denny\": [] } }",
      [":1:20 unknown key \"denny\" in permissions; did you mean \"deny\"?"]
    ],
    ["no list", "{ \"permissions\": { \"deny\": \"Bash\" } }", [
      ":1:28 permissions.deny must be a list of rules such as \"Bash(git push *)\""
    ]],
    ["a rule that is none", "{ \"permissions\": { \"deny\": [\"Bash(rm\"] } }", [
      ":1:29 \"Bash(rm\" is no rule; write Tool or Tool(what), such as \"Read(./.env)\""
    ]],
    ["rules that are none", "{ \"permissions\": [] }", [":1:18 permissions must be an object"]],
    ["a list of settings", "[]", [":1:1 this must be an object"]],
    ["no JSON", "{", [":1:2 expected a closing brace"]]
  ])("is refused with file and line: %s", ([, content, expected]) =>
    Effect.map(
      mistakes({ [file]: content }),
      (found) => expect(found).toEqual(expected.map((message) => `${file}${message}`))
    ))
})
