import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as FileSystem from "@effect/platform/FileSystem"
import { expect, layer } from "@effect/vitest"
import { fromConfig } from "@skein/domain/Rule"
import * as Effect from "effect/Effect"
import { join } from "node:path"
import { formatIssue, loadFiles, loadIn, remarks, workspace } from "./workspace.ts"

const file = "project/.claude/settings.json"

const read = (files: Parameters<typeof workspace>[0]) =>
  Effect.map(loadFiles(files, { providers: ["openai"] }), ({ root, settings, warnings }) => ({
    rules: fromConfig(settings.permission ?? []).map(({ action, pattern, permission }) =>
      `${action} ${permission} ${pattern}`
    ),
    settings,
    warnings: warnings.map((issue) => formatIssue(root, issue))
  }))

layer(NodeFileSystem.layer)("settings.json of Claude Code", (it) => {
  it.scoped("denies and asks as it does there, whatever it allows", () =>
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
        "deny mcp_github_push *",
        "deny WebSearch *",
        "deny bash *"
      ])
    }))

  it.scoped("in a project cannot allow, and other ignored parts are reported", () =>
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
            statusLine: { type: "command" }
          },
          undefined,
          1
        )
      })
      expect(rules).toEqual(["deny bash npm publish"])
      expect(settings.default_agent).toBe("plan")
      expect(warnings).toEqual([
        `${file}:11:3 permissions.additionalDirectories: allow external_directory in your own skein.json`,
        `${file}:18:2 statusLine: Skein ignores it`,
        expect.stringContaining(`${file}:5 permission.bash.npm run lint is ignored: a project's file may not allow`)
      ])
    }))

  it.scoped.each<[string, unknown, ReadonlyArray<string>]>([
    ["a skill with any arguments, and a plugin's skills", { permissions: { deny: ["Skill(x:*)"] } }, [
      "deny skill x",
      "deny skill x:*"
    ]],
    ["a skill", {
      permissions: { deny: ["Skill(x)"] },
      skillOverrides: { a: "off", b: "user-invocable-only", c: "on" }
    }, [
      "deny skill x",
      "deny skill a",
      "deny skill b"
    ]],
    ["a tool by another name", { permissions: { deny: ["shell", "PowerShell(rm *)"] } }, [
      "deny bash *",
      "deny bash rm *"
    ]],
    ["what is outside", { permissions: { blockReadsOutsideWorkingDirectories: true } }, ["deny external_directory *"]],
    ["paths of the sandbox", {
      sandbox: { filesystem: { denyRead: ["~/.aws/", "./secrets", "/etc/*.key"], denyWrite: ["//opt/x", "**/dist"] } }
    }, [
      "deny read ~/.aws",
      "deny read ~/.aws/*",
      "deny read secrets",
      "deny read secrets/*",
      "deny read */secrets",
      "deny read */secrets/*",
      "deny read /etc/*.key",
      "deny read /etc/*.key/*",
      "deny external_directory ~/.aws",
      "deny external_directory ~/.aws/*",
      "deny external_directory /etc/*.key",
      "deny external_directory /etc/*.key/*",
      "deny edit /opt/x",
      "deny edit /opt/x/*",
      "deny edit *dist",
      "deny edit *dist/*"
    ]],
    ["all that the sandbox hides, though rules ask", {
      sandbox: { filesystem: { denyRead: ["."] } },
      permissions: { ask: ["Read"] }
    }, ["ask read *", "deny read *"]],
    ["domains", { sandbox: { network: { deniedDomains: ["x.example"] } } }, [
      "deny webfetch *://x.example",
      "deny webfetch *://x.example/*",
      "deny webfetch *://x.example:*",
      "deny bash_network *"
    ]],
    ["what the sandbox denies in a new way", { sandbox: { process: { denyExec: ["curl"] } } }, ["deny bash *"]],
    ["nothing by what the sandbox permits", {
      sandbox: { enabled: true, excludedCommands: ["docker"], filesystem: { allowWrite: ["/tmp"] } }
    }, []]
  ])(
    "denies %s",
    ([, content, rules]) =>
      Effect.map(read({ [file]: JSON.stringify(content) }), (found) => expect(found.rules).toEqual(rules))
  )

  it.scoped("denies a path in the project, also if the rule has an absolute one", () =>
    Effect.gen(function*() {
      const root = yield* workspace({})
      const fs = yield* FileSystem.FileSystem
      yield* fs.makeDirectory(join(root, "project/.claude"), { recursive: true })
      const deny = [`Read(/${root}/project/secrets/**)`]
      yield* fs.writeFileString(join(root, file), JSON.stringify({ permissions: { deny } }))
      const { settings } = yield* loadIn(root)
      expect(fromConfig(settings.permission ?? []).map(({ pattern }) => pattern)).toEqual(["secrets/*"])
    }))

  it.scoped("requires a sandbox if it does", () =>
    Effect.map(
      read({ [file]: JSON.stringify({ sandbox: { enabled: true, failIfUnavailable: true } }) }),
      ({ settings }) => expect(settings.sandbox).toBe("on")
    ))

  it.scoped.each<[string, string, ReadonlyArray<string>, ReadonlyArray<string>]>([
    ["a misspelt key", "{ \"permission\": { \"deny\": [\"Bash\"] } }", ["deny bash *"], []],
    ["a misspelt list", "{ \"permissions\": { \"denny\": [\"Bash\"] } }", ["deny bash *"], []],
    ["a list under another name", "{ \"permissions\": { \"denied\": [\"Bash\"] } }", ["deny bash *"], []],
    ["a list in another place", "{ \"deny\": [\"Bash\"], \"disallowedTools\": [\"Edit\"] }", [
      "deny bash *",
      "deny edit *"
    ], []],
    ["one rule instead of a list", "{ \"permissions\": { \"deny\": \"Bash\" } }", ["deny bash *"], []],
    ["an invalid rule", "{ \"permissions\": { \"deny\": [\"Bash(rm\"] } }", ["deny bash *"], [
      "restriction FILE:1:29 permissions.deny: \"Bash(rm\" is not a rule, so it covers all that it may mean; write Tool or Tool(what), such as \"Read(./.env)\""
    ]],
    ["a number as a rule", "{ \"permissions\": { \"deny\": [7] } }", ["deny * *"], [
      "restriction FILE:1:29 permissions.deny: 7 is not a rule, so it covers all that it may mean; write Tool or Tool(what), such as \"Read(./.env)\""
    ]],
    ["an invalid allow rule", "{ \"permissions\": { \"allow\": [7] } }", [], [
      "note FILE:1:30 permissions.allow: 7 is not a rule; write Tool or Tool(what), such as \"Read(./.env)\""
    ]],
    ["an unknown key", "{ \"permissions\": { \"comment\": \"x\" }, \"theme\": \"dark\" }", [], [
      "note FILE:1:20 permissions.comment: Skein ignores it",
      "note FILE:1:38 theme: Skein ignores it"
    ]],
    ["an unknown restriction", "{ \"permissions\": { \"forbiddenPaths\": [\"x\"] } }", ["deny * *"], [
      "restriction FILE:1:20 permissions.forbiddenPaths: this restriction is not understood, so every call is denied; write it as permission in skein.json, and remove it here"
    ]],
    ["invalid rules", "{ \"permissions\": \"strict\" }", ["deny * *"], [
      "restriction FILE:1:18 permissions: this restriction is not understood, so every call is denied; write it as permission in skein.json, and remove it here"
    ]],
    ["a list of settings", "[]", [], ["restriction FILE:1:1 this file is left out: it must be an object"]],
    ["no JSON", "{", [], ["restriction FILE:1:2 this file is left out: expected a closing brace"]]
  ])("stops nothing if it is written differently: %s", ([, content, rules, expected]) =>
    Effect.gen(function*() {
      expect((yield* read({ [file]: content })).rules).toEqual(rules)
      expect(yield* remarks({ [file]: content })).toEqual(expected.map((message) => message.replace("FILE", file)))
    }))
})
