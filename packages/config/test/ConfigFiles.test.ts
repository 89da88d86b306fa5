import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as FileSystem from "@effect/platform/FileSystem"
import { expect, layer } from "@effect/vitest"
import { ConfigFiles } from "@skein/config/ConfigFiles"
import { DataDirs } from "@skein/config/DataDirs"
import { Config, defaults } from "@skein/core/Config"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { join } from "node:path"
import { loadFiles, loadIn, userFile, workspace } from "./workspace.ts"

layer(NodeFileSystem.layer)("ConfigFiles", (it) => {
  it.scoped("returns the defaults without files, after only checking for them", () =>
    Effect.gen(function*() {
      const root = yield* workspace({})
      const calls: Array<string> = []
      const real = yield* FileSystem.FileSystem
      const counting = new Proxy(real, {
        get: (target, name, receiver) => {
          calls.push(String(name))
          return Reflect.get(target, name, receiver)
        }
      })
      const loaded = yield* Effect.provideService(loadIn(root), FileSystem.FileSystem, counting)
      expect(loaded.settings).toEqual(defaults)
      expect(loaded.origins["limits.concurrency"]).toBe("default")
      expect(loaded.files).toEqual([])
      expect(calls.toSorted()).toEqual(["realPath", ...Array.from({ length: 10 }, () => "stat")])
    }))

  it.scoped("reads comments, trailing commas, CRLF and a byte order mark", () =>
    Effect.gen(function*() {
      const { origins, root, settings } = yield* loadFiles({
        "project/skein.jsonc":
          "\uFEFF{\r\n  // how many\r\n  \"limits\": {\r\n    /* at once */ \"concurrency\": 3,\r\n  },\r\n}\r\n"
      })
      expect(settings.limits.concurrency).toBe(3)
      expect(origins["limits.concurrency"]).toBe(`${root}/project/skein.jsonc:4`)
    }))

  it.scoped("accepts the types of MCP servers that other programs write", () =>
    Effect.gen(function*() {
      const mcp = {
        a: { type: "stdio", command: ["a"] },
        b: { type: "local", command: ["b"] },
        c: { type: "remote", url: "https://c.example/mcp" }
      }
      const { settings } = yield* loadFiles({ [userFile]: { mcp } })
      expect(settings).toMatchObject({ mcp })
    }))

  it.scoped("ignores MCP servers that are Skein itself, wherever they are named, and asks for no trust in them", () =>
    Effect.gen(function*() {
      const other = { command: ["npx", "skein-lint", "mcp", "serve"] }
      const { root, settings, warnings, widenings } = yield* loadFiles({
        [userFile]: { mcp: { own: { command: ["/usr/bin/skein", "mcp", "serve"] }, other } },
        "project/skein.json": { mcp: { own: { command: ["sh", "-c", "exec skein mcp serve --attach=off"] } } },
        "project/.mcp.json": {
          mcpServers: {
            skein: { command: "npx", args: ["-y", "skein@0.1", "mcp", "serve"] },
            local: { command: "node", args: ["../skein/bin/skein.js", "mcp", "serve"] }
          }
        }
      })
      expect(settings.mcp).toEqual({ other })
      expect(widenings).toEqual([])
      const said = warnings.filter(({ message }) => message.includes("Skein itself"))
      expect(said.map(({ file, key, kind }) => [file, key, kind])).toEqual([
        [`${root}/${userFile}`, "mcp.own", undefined],
        [`${root}/project/.mcp.json`, "mcp.skein", "note"],
        [`${root}/project/.mcp.json`, "mcp.local", "note"],
        [`${root}/project/skein.json`, "mcp.own", undefined]
      ])
    }))

  it.scoped("reads the maximum number of parallel requests, for all models and for those of a provider", () =>
    Effect.gen(function*() {
      const { settings } = yield* loadFiles({
        [userFile]: { limits: { requests: 8 } },
        "project/skein.json": { provider: { openai: { max_requests: 3 } } }
      })
      expect(settings).toMatchObject({ limits: { requests: 8 }, provider: { openai: { max_requests: 3 } } })
    }))

  it.scoped("treats an empty file as an empty object", () =>
    Effect.gen(function*() {
      const { settings } = yield* loadFiles({ "project/skein.json": "  // nothing yet\n" })
      expect(settings).toEqual(defaults)
    }))

  it.scoped("lets the nearer file override, and reports the origin of each value", () =>
    Effect.gen(function*() {
      const { files, origins, root, settings } = yield* loadFiles({
        [userFile]: { small_model: "a/user", model: "a/user", limits: { concurrency: 1, max_tasks: 3 } },
        "project/skein.json": { model: "a/top", limits: { max_tasks: 2 } },
        "project/app/skein.jsonc": { model: "a/near" }
      }, { at: "project/app" })
      expect(settings).toMatchObject({
        small_model: "a/user",
        model: "a/near",
        limits: { ...defaults.limits, concurrency: 1, max_tasks: 2 }
      })
      expect(files).toEqual([`${root}/${userFile}`, `${root}/project/skein.json`, `${root}/project/app/skein.jsonc`])
      expect(origins).toMatchObject({
        "small_model": `${root}/${userFile}:2`,
        "model": `${root}/project/app/skein.jsonc:2`,
        "limits.concurrency": `${root}/${userFile}:5`,
        "limits.max_tasks": `${root}/project/skein.json:4`,
        "limits.subagent_depth": "default",
        "retry.attempts": "default"
      })
    }))

  it.scoped("searches no further up than the git root", () =>
    Effect.gen(function*() {
      const { settings } = yield* loadFiles({
        "skein.json": { model: "a/outside" },
        "project/deep/er/file": ""
      }, { at: "project/deep/er" })
      expect(settings.model).toBeUndefined()
    }))

  it.scoped("accepts a .git file, as in worktrees, as a git root", () =>
    Effect.gen(function*() {
      const { settings } = yield* loadFiles({
        "project/skein.json": { model: "a/outside" },
        "project/tree/.git": "gitdir: elsewhere"
      }, { at: "project/tree" })
      expect(settings.model).toBeUndefined()
    }))

  it.scoped("searches up to the top of the file system without a git root", () =>
    Effect.gen(function*() {
      const { settings } = yield* loadFiles({ "skein.json": { model: "a/above" }, "plain/sub/file": "" }, {
        at: "plain/sub"
      })
      expect(settings.model).toBe("a/above")
    }))

  it.scoped("follows a linked directory into the tree of its target", () =>
    Effect.gen(function*() {
      const root = yield* workspace({ "project/skein.json": { model: "a/real" }, "project/sub/file": "" })
      const fs = yield* FileSystem.FileSystem
      yield* fs.symlink(join(root, "project/sub"), join(root, "link"))
      const { settings } = yield* loadIn(root, { at: "link" })
      expect(settings.model).toBe("a/real")
    }))

  it.scoped("finds the user's file below XDG_CONFIG_HOME", () =>
    Effect.gen(function*() {
      const root = yield* workspace({ "xdg/skein/skein.jsonc": { model: "a/xdg" }, [userFile]: { model: "a/home" } })
      const { settings } = yield* loadIn(root, { env: { XDG_CONFIG_HOME: join(root, "xdg") } })
      expect(settings.model).toBe("a/xdg")
    }))

  it.scoped("reads the user's own file once, as the user's, if it is in the project too", () =>
    Effect.gen(function*() {
      const root = yield* workspace({
        "project/skein.json": { permission: { bash: "allow" } },
        "home/.config/file": ""
      })
      const fs = yield* FileSystem.FileSystem
      yield* fs.symlink(join(root, "project"), join(root, "home/.config/skein"))
      const { files, settings, warnings } = yield* loadIn(root)
      expect(files).toEqual([join(root, userFile)])
      expect(settings.permission).toEqual([{ permission: "bash", pattern: "*", action: "allow" }])
      expect(warnings).toEqual([])
    }))

  it.scoped("merges records and replaces lists and scalars", () =>
    Effect.gen(function*() {
      const { settings } = yield* loadFiles({
        [userFile]: {
          agent: { review: { model: ["a/one", "a/two"], prompt: "long", steps: 9 } },
          limits: { answer: { calls: 9, text: 8 } }
        },
        "project/skein.json": {
          agent: { review: { model: ["a/three"], steps: 7 }, other: {} },
          limits: { answer: { text: 7 }, concurrency: 2 }
        }
      })
      expect(settings.agent).toEqual({ review: { model: ["a/three"], prompt: "long", steps: 7 }, other: {} })
      expect(settings.limits).toMatchObject({ answer: { calls: 9, text: 7 }, concurrency: 2 })
    }))

  it.scoped("appends rules in their order, the nearer file's last", () =>
    Effect.gen(function*() {
      const { origins, root, settings } = yield* loadFiles({
        [userFile]:
          "{\"permission\": {\n\"bash\": {\n\"*\": \"ask\",\n\"7\": \"allow\",\n\"git *\": \"allow\"},\n\"2\": \"ask\",\n\"*\": \"ask\"}}",
        "project/skein.json": { permission: { bash: { "*": "deny" }, edit: "ask" } }
      })
      expect(settings.permission).toEqual([
        { permission: "bash", pattern: "*", action: "ask" },
        { permission: "bash", pattern: "7", action: "allow" },
        { permission: "bash", pattern: "git *", action: "allow" },
        { permission: "2", pattern: "*", action: "ask" },
        { permission: "*", pattern: "*", action: "ask" },
        { permission: "bash", pattern: "*", action: "deny" },
        { permission: "edit", pattern: "*", action: "ask" }
      ])
      expect(origins).toMatchObject({
        "permission.bash": `${root}/project/skein.json:4`,
        "permission.bash.git *": `${root}/${userFile}:5`
      })
    }))

  it.scoped("reads one action for all, and rules as a list", () =>
    Effect.gen(function*() {
      const rule = { permission: "bash", pattern: "ls", action: "allow" }
      const { settings } = yield* loadFiles({
        [userFile]: { permission: "ask", agent: { a: { permission: [rule] } } }
      })
      expect(settings.permission).toEqual([{ permission: "*", pattern: "*", action: "ask" }])
      expect(settings.agent?.["a"]?.permission).toEqual([rule])
    }))

  it.scoped("lets the command line override all files", () =>
    Effect.gen(function*() {
      const { origins, settings } = yield* loadFiles({
        [userFile]: { model: "a/user", permission: { bash: "deny" } },
        "project/skein.json": { limits: { concurrency: 2 } }
      }, {
        overrides: {
          info: { limits: { concurrency: 9 }, permission: { bash: "allow" } },
          origin: "--concurrency"
        }
      })
      expect(settings).toMatchObject({ model: "a/user", limits: { concurrency: 9 } })
      expect(origins["limits.concurrency"]).toBe("--concurrency")
      expect(settings.permission).toEqual([
        { permission: "bash", pattern: "*", action: "deny" },
        { permission: "bash", pattern: "*", action: "allow" }
      ])
    }))

  it.scoped("ignores $schema", () =>
    Effect.gen(function*() {
      const { origins, settings } = yield* loadFiles({ "project/skein.json": { $schema: "./schema.json" } })
      expect(settings).toEqual(defaults)
      expect(origins["$schema"]).toBeUndefined()
    }))

  it.scoped("substitutes environment variables and files in strings, once", () =>
    Effect.gen(function*() {
      const { settings } = yield* loadFiles({
        [userFile]: {
          agent: {
            review: { prompt: "{file:prompts/review.md} by {env:WHO}", description: "{file:~/about.txt}" }
          },
          provider: { mine: { base_url: "https://{env:HOST_NAME}/v1" } }
        },
        "home/.config/skein/prompts/review.md": "Review {task_description} {env:SECRET} {file:/etc/passwd}\r\n\r\n",
        "home/about.txt": "\uFEFFReviews"
      }, { env: { WHO: "{env:SECRET}", SECRET: "s3cret", HOST_NAME: "models.example" } })
      expect(settings.agent?.["review"]).toEqual({
        prompt: "Review {task_description} {env:SECRET} {file:/etc/passwd} by {env:SECRET}",
        description: "Reviews"
      })
      expect(settings.provider?.["mine"]?.base_url).toBe("https://models.example/v1")
    }))

  it.scoped("provides Config and ConfigFiles as a layer", () =>
    Effect.gen(function*() {
      const root = yield* workspace({ "project/skein.json": { summaries: false, permission: "allow" } })
      const context = ConfigFiles.layer({ directory: join(root, "project") }).pipe(
        Layer.provide(DataDirs.layer()),
        Layer.provide(
          Layer.setConfigProvider(ConfigProvider.fromMap(new Map([["HOME", join(root, "home")]])))
        )
      )
      const [config, files] = yield* Effect.provide(Effect.all([Config, ConfigFiles]), context)
      expect(config.settings.summaries).toBe(false)
      expect(config.origins["summaries"]).toBe(`${root}/project/skein.json:2`)
      expect([...config.projectKeys ?? []]).toEqual(["summaries"])
      expect(files.warnings).toHaveLength(1)
    }))
})
