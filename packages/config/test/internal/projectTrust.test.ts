import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as FileSystem from "@effect/platform/FileSystem"
import { expect, layer } from "@effect/vitest"
import { defaultRules } from "@skein/core/Agent"
import { evaluate } from "@skein/core/Ruleset"
import { fromConfig } from "@skein/domain/Rule"
import * as Effect from "effect/Effect"
import { join } from "node:path"
import { formatIssue, loadFiles, loadIn, mistakes, userFile, workspace } from "../workspace.ts"

const file = "project/skein.json"

/** The rules for all agents, and those of one agent over them. */
const rulesOf = ({ settings }: Effect.Effect.Success<ReturnType<typeof loadIn>>, agent?: string) => [
  ...fromConfig(settings.permission ?? {}),
  ...(agent === undefined ? [] : fromConfig(settings.agent?.[agent]?.permission ?? {}))
]

layer(NodeFileSystem.layer)("projectTrust", (it) => {
  it.scoped("ignores a project's allow rules, and reports that", () =>
    Effect.gen(function*() {
      const loaded = yield* loadFiles({
        [file]: {
          permission: { bash: "allow", edit: { "*": "ask", "src/*": "allow" } },
          agent: { review: { permission: { webfetch: "allow", read: "deny" } } }
        }
      })
      // The rules for src/* without the project apply again: the project restricts it, and takes that back.
      expect(loaded.settings.permission).toEqual([
        { permission: "edit", pattern: "*", action: "ask" },
        { permission: "edit", pattern: "src/*", action: "ask" }
      ])
      expect(loaded.settings.agent?.["review"]?.permission).toEqual([
        { permission: "read", pattern: "*", action: "deny" }
      ])
      const reason = "is ignored: a project's file may not allow; it may be trusted"
      expect(loaded.warnings.map((warning) => formatIssue(loaded.root, warning))).toEqual([
        `${file}:3 permission.bash ${reason}`,
        `${file}:6 permission.edit.src/* ${reason.replace("allow;", "allow, so your own rules apply;")}`,
        `${file}:12 agent.review.permission.webfetch ${reason}`
      ])
      expect(loaded.warnings[0]?.key).toBe("permission.bash")
    }))

  it.scoped("lets a project turn summaries off, and not on", () =>
    Effect.gen(function*() {
      const wanted = yield* loadFiles({ [file]: { summaries: true } })
      expect(wanted.settings.summaries).toBeUndefined()
      expect(wanted.warnings.map((warning) => formatIssue(wanted.root, warning))).toEqual([
        `${file}:2 summaries is ignored: a project's file can only restrict what you grant (false); it may be trusted`
      ])
      const off = yield* loadFiles({ [userFile]: { summaries: true }, [file]: { summaries: false } })
      expect([off.settings.summaries, off.warnings]).toEqual([false, []])
      const both = yield* loadFiles({ [userFile]: { summaries: true }, [file]: { summaries: true } })
      expect([both.settings.summaries, both.warnings]).toEqual([true, []])
    }))

  it.scoped("lets a project sandbox commands more, and not less", () =>
    Effect.gen(function*() {
      const less = yield* loadFiles({ [file]: { sandbox: "off", sandbox_network: true } })
      expect([less.settings.sandbox, less.settings.sandbox_network]).toEqual([undefined, undefined])
      const reason = "is ignored: a project's file can only restrict what you grant"
      expect(less.warnings.map((warning) => formatIssue(less.root, warning))).toEqual([
        // Nobody can trust that.
        `${file}:2 sandbox ${reason} (auto)`,
        `${file}:3 sandbox_network ${reason} (false); it may be trusted`
      ])
      const kept = yield* loadFiles({ [userFile]: { sandbox: "on" }, [file]: { sandbox: "auto" } })
      expect(kept.settings.sandbox).toBe("on")
      const more = yield* loadFiles({
        [userFile]: { sandbox: "off", sandbox_network: true },
        [file]: { sandbox: "on", sandbox_network: false }
      })
      expect([more.settings.sandbox, more.settings.sandbox_network, more.warnings]).toEqual(["on", false, []])
    }))

  it.scoped("lets a project lower limits, and not raise them", () =>
    Effect.gen(function*() {
      const { root, settings, warnings } = yield* loadFiles({
        [userFile]: {
          limits: { concurrency: 32 },
          budget: { tokens: 1000, usd: "0.50" },
          agent: { review: { budget: { steps: 5 } } },
          provider: { mine: { max_requests: 2 } }
        },
        [file]: {
          limits: { concurrency: 33, process_concurrency: 8, max_tasks: 257 },
          budget: { tokens: 500, usd: "1.50", steps: 9 },
          agent: { review: { budget: { steps: 6, tokens: 10 } } },
          provider: { mine: { max_requests: 3 } }
        }
      })
      expect(settings.limits).toMatchObject({ concurrency: 32, process_concurrency: 8, max_tasks: 256 })
      expect(settings.budget).toEqual({ tokens: 500, usd: "0.50", steps: 9 })
      expect(settings.agent?.["review"]?.budget).toEqual({ steps: 5, tokens: 10 })
      expect(settings.provider?.["mine"]?.max_requests).toBe(2)
      expect(warnings.map(({ key }) => key)).toEqual([
        "limits.concurrency",
        "limits.max_tasks",
        "budget.usd",
        "agent.review.budget.steps",
        "provider.mine.max_requests"
      ])
      expect(warnings.map((warning) => formatIssue(root, warning))[0]).toBe(
        `${file}:3 limits.concurrency is ignored: a project's file can only restrict what you grant (32); it may be trusted`
      )
    }))

  it.scoped("sends the user's code to the user's provider: models of others need trust", () =>
    Effect.gen(function*() {
      const theirs = {
        model: "other/m",
        small_model: "mine/small",
        agent: { a: { model: ["mine/big", "other/m"] }, b: { model: "session/small" }, c: { model: "mine/x" } }
      }
      const keys = ({ warnings }: { readonly warnings: ReadonlyArray<{ readonly key?: string | undefined }> }) =>
        warnings.map(({ key }) => key)
      const byKey = yield* loadFiles({ [file]: theirs }, { vendors: ["mine"] })
      expect([byKey.settings.model, byKey.settings.small_model]).toEqual([undefined, "mine/small"])
      expect(byKey.settings.agent).toEqual({ a: {}, b: { model: "session/small" }, c: { model: "mine/x" } })
      expect(keys(byKey)).toEqual(["model", "agent.a.model"])
      expect(byKey.warnings.map((warning) => formatIssue(byKey.root, warning))[0]).toBe(
        `${file}:2 model is ignored: it is not of your provider (mine); it may be trusted`
      )
      // What the user's own config names counts, and no key in the environment.
      const named = yield* loadFiles(
        { [userFile]: { model: "other/x", agent: { c: { model: "local/l" } } }, [file]: theirs },
        { vendors: ["mine"] }
      )
      expect(keys(named)).toEqual(["small_model", "agent.a.model", "agent.c.model"])
      expect(named.settings.agent?.["c"]).toEqual({ model: "local/l" })
      const nobody = yield* loadFiles({ [file]: theirs }, { vendors: [] })
      expect(keys(nobody)).toEqual(["model", "small_model", "agent.a.model", "agent.c.model"])
    }))

  it.scoped("ignores a project's telemetry endpoint", () =>
    Effect.gen(function*() {
      const telemetry = { endpoint: "http://collector.example", headers: { "x-key": "k" } }
      const wanted = yield* loadFiles({ [file]: { telemetry } })
      expect(wanted.settings.telemetry).toBeUndefined()
      expect(wanted.warnings.map((warning) => formatIssue(wanted.root, warning))).toEqual([
        `${file}:3 telemetry.endpoint is ignored: a project's file sets it only with your trust; it may be trusted`,
        `${file}:5 telemetry.headers.x-key is ignored: a project's file sets it only with your trust; it may be trusted`
      ])
      const mine = yield* loadFiles({
        [userFile]: { telemetry },
        [file]: { telemetry: { endpoint: "http://evil.example" } }
      })
      expect(mine.settings.telemetry).toEqual(telemetry)
    }))

  it.scoped("ignores a project's addresses for requests and keys", () =>
    Effect.gen(function*() {
      const loaded = yield* loadFiles({
        [userFile]: { provider: { mine: { base_url: "https://models.example", key_env: "MINE" } } },
        [file]: {
          provider: {
            mine: {
              base_url: "{env:NOT_EVEN_READ}",
              key_env: "OTHER",
              headers: { a: "{env:NOT_EVEN_READ}" },
              api: "chat"
            }
          }
        }
      })
      expect(loaded.settings.provider).toEqual({
        mine: { base_url: "https://models.example", key_env: "MINE" }
      })
      const reason = "is ignored: a project's file sets it only with your trust"
      const unseen = `${reason}, nor can {env:…} and {file:…} be trusted; put it into your own config if you want it`
      expect(loaded.warnings.map((warning) => formatIssue(loaded.root, warning))).toEqual([
        `${file}:4 provider.mine.base_url ${unseen}`,
        `${file}:5 provider.mine.key_env ${reason}; it may be trusted`,
        `${file}:7 provider.mine.headers.a ${unseen}`,
        `${file}:9 provider.mine.api ${reason}; it may be trusted`
      ])
    }))

  it.scoped("lets a project tighten, above and below", () =>
    Effect.gen(function*() {
      const loaded = yield* loadFiles({
        [userFile]: {
          permission: { bash: "allow" },
          agent: { build: { permission: { edit: "allow", webfetch: "ask" } } }
        },
        [file]: { permission: { bash: "ask", edit: "deny" }, agent: { build: { permission: { webfetch: "deny" } } } }
      })
      expect(evaluate(rulesOf(loaded), "bash", "ls")).toBe("ask")
      expect(evaluate(rulesOf(loaded, "build"), "edit", "a")).toBe("deny")
      expect(evaluate(rulesOf(loaded, "build"), "webfetch", "a")).toBe("deny")
      expect(loaded.warnings).toEqual([])
    }))

  it.scoped("does not let a project's ask lift the user's denial", () =>
    Effect.gen(function*() {
      const loaded = yield* loadFiles({
        [userFile]: {
          permission: { bash: { "*": "allow", "rm *": "deny" }, edit: { "*": "deny", "notes/*": "allow" } },
          agent: { build: { permission: { read: { "secret/*": "deny" } } } }
        },
        [file]: {
          permission: { "*": "ask" },
          agent: { build: { permission: { read: "ask", bash: { "rm x": "ask" } } } }
        }
      })
      const rules = rulesOf(loaded, "build")
      expect(evaluate(rules, "bash", "rm x")).toBe("deny")
      expect(evaluate(rules, "bash", "ls")).toBe("ask")
      expect(evaluate(rules, "edit", "src/a")).toBe("deny")
      expect(evaluate(rules, "edit", "notes/a")).toBe("ask")
      expect(evaluate(rules, "read", "secret/a")).toBe("deny")
      expect(evaluate(rules, "read", "a")).toBe("ask")
    }))

  it.scoped("asks if a project allows an exception to its own denial", () =>
    Effect.gen(function*() {
      const loaded = yield* loadFiles({
        [userFile]: { permission: { bash: { "git push *": "deny" } } },
        [file]: { permission: { bash: { "*": "deny", "git *": "allow" } } }
      })
      expect(evaluate(rulesOf(loaded), "bash", "git status")).toBe("ask")
      expect(evaluate(rulesOf(loaded), "bash", "git push -f")).toBe("deny")
      expect(evaluate(rulesOf(loaded), "bash", "ls")).toBe("deny")
      expect(loaded.warnings.map((warning) => formatIssue(loaded.root, warning))).toEqual([
        "project/skein.json:5 permission.bash.git * is ignored: a project's file may not allow, so your own rules apply; it may be trusted"
      ])
    }))

  it.scoped("takes back what a project itself restricts, as far as it is allowed without the project", () =>
    Effect.gen(function*() {
      const loaded = yield* loadFiles({
        [userFile]: { permission: { webfetch: "allow" }, agent: { mine: { permission: { grep: "ask" } } } },
        [file]: {
          permission: {
            "*": "ask",
            read: "allow",
            grep: "allow",
            edit: { "*": "deny", "docs/*": "allow" },
            webfetch: { "*": "deny", "https://a.example/*": "allow" }
          },
          agent: { theirs: { permission: { list: "allow" } } }
        }
      })
      const of = (permission: string, pattern: string, agent?: string) =>
        evaluate([...defaultRules, ...rulesOf(loaded, agent)], permission, pattern)
      expect(of("read", "src/a.ts")).toBe("allow")
      expect(of("read", "a.env")).toBe("ask")
      expect(of("glob", "x")).toBe("ask")
      expect(of("edit", "src/a.ts")).toBe("deny")
      expect(of("edit", "docs/a.md")).toBe("ask")
      expect(of("webfetch", "https://a.example/x")).toBe("allow")
      expect(of("webfetch", "https://b.example/x")).toBe("deny")
      expect(of("list", ".", "theirs")).toBe("allow")
      expect(of("list", ".")).toBe("ask")
      // The user's own agent asks before it searches, whatever the project takes back.
      expect(of("grep", "x", "mine")).toBe("ask")
      expect(of("grep", "x")).toBe("allow")
    }))

  it.scoped("lets a project shorten the user's lists of tools and agents, not extend them", () =>
    Effect.gen(function*() {
      const { settings } = yield* loadFiles({
        [userFile]: {
          agent: { a: { allowedTools: ["read", "mcp_*"], deniedTools: ["bash"], allowAgents: ["explore"] } }
        },
        [file]: {
          agent: {
            a: { allowedTools: ["read", "mcp_x", "edit"], deniedTools: ["grep"], allowAgents: [] },
            b: { allowedTools: ["bash"] }
          }
        }
      })
      expect(settings.agent).toEqual({
        a: { allowedTools: ["read", "mcp_x"], deniedTools: ["bash", "grep"], allowAgents: [] },
        b: { allowedTools: ["bash"] }
      })
    }))

  it.scoped("does not change the ceiling of the user's agents", () =>
    Effect.gen(function*() {
      const loaded = yield* loadFiles({
        [userFile]: { agent: { mine: { permission: { bash: "deny" } } } },
        [file]: { agent: { mine: { ceiling: {} }, theirs: { ceiling: { edit: "deny" } } } }
      })
      expect(loaded.settings.agent?.["mine"]).not.toHaveProperty("ceiling")
      expect(loaded.settings.agent?.["theirs"]?.ceiling).toEqual([{ permission: "edit", pattern: "*", action: "deny" }])
      expect(loaded.warnings.map(({ key }) => key)).toEqual(["agent.mine.ceiling"])
    }))

  it.scoped("lets a project include its own files, and no others", () =>
    Effect.gen(function*() {
      const root = yield* workspace({
        [file]: {
          agent: {
            a: { prompt: "{file:docs/prompt.md}" },
            b: { prompt: "{file:../outside.md}", color: "red" },
            c: { prompt: "{file:linked.md}" },
            d: { prompt: "{file:.env.local}" },
            e: { prompt: "{file:~/x}", model: ["a/{file:../outside.md}"] }
          }
        },
        "project/docs/prompt.md": "Review.\n",
        "project/.env.local": "KEY=s3cret",
        "outside.md": "s3cret",
        "home/x": "s3cret"
      })
      const fs = yield* FileSystem.FileSystem
      yield* fs.symlink(join(root, "outside.md"), join(root, "project/linked.md"))
      const { settings, warnings } = yield* loadIn(root)
      expect(settings.agent).toEqual({ a: { prompt: "Review." }, b: { color: "red" }, c: {}, d: {}, e: {} })
      expect(warnings.map(({ key, line }) => [key, line])).toEqual([
        ["agent.b.prompt", 7],
        ["agent.c.prompt", 11],
        ["agent.d.prompt", 14],
        ["agent.e.prompt", 17],
        ["agent.e.model.0", 19]
      ])
      expect(warnings[0]?.message).toBe(
        "agent.b.prompt is ignored: a project's file may not read files outside of the project ({file:../outside.md})"
      )
    }))

  it.scoped("keeps environment variables out of text for models", () =>
    Effect.gen(function*() {
      const { settings, warnings } = yield* loadFiles({
        [file]: { model: "a/{env:MODEL}", agent: { a: { prompt: "Say {env:SECRET}" } } }
      }, { env: { MODEL: "m", SECRET: "s3cret" } })
      expect(settings).toMatchObject({ model: "a/m", agent: { a: {} } })
      expect(settings.agent?.["a"]).toEqual({})
      expect(warnings.map(({ key }) => key)).toEqual(["agent.a.prompt"])
    }))

  it.scoped("fails if nothing is left without the forbidden content", () =>
    Effect.gen(function*() {
      const found = yield* mistakes({ [file]: { permission: { bash: "{file:../x}" } }, x: "allow" })
      expect(found).toEqual([
        `${file}:3:13 {file:../x}: a project's file may not read files outside of the project`
      ])
    }))
})
