/** One process over real files: a project for each directory, read again when its files change. */
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as FileSystem from "@effect/platform/FileSystem"
import { expect, it } from "@effect/vitest"
import { Session } from "@skein/core/Session"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as TestClock from "effect/TestClock"
import { join } from "node:path"
import { manyServices, storage } from "../../src/internal/app.ts"
import { platform } from "../../src/internal/launch.ts"
import { Redaction } from "../../src/internal/Redaction.ts"

const inProcess = (root: string) =>
  manyServices("nobody").pipe(
    Layer.provideMerge(Layer.provideMerge(storage, platform(":memory:"))),
    Layer.provide(Layer.setConfigProvider(ConfigProvider.fromMap(new Map([["HOME", join(root, "home")]]))))
  )

const agentFile = (description: string) =>
  `---\ndescription: ${description}\nmode: primary\n---\nYou are ${description}.\n`

it.scoped("keeps the secrets in a project's config out of logs", () =>
  Effect.gen(function*() {
    const fs = yield* FileSystem.FileSystem
    const root = yield* Effect.flatMap(fs.makeTempDirectoryScoped({ prefix: "skein-projects-" }), fs.realPath)
    yield* fs.makeDirectory(join(root, "a", ".git"), { recursive: true })
    yield* fs.makeDirectory(join(root, "home/.config/skein"), { recursive: true })
    const provider = { local: { base_url: "http://127.0.0.1:1/v1", headers: { "x-tenant": "opensesame-42" } } }
    const mcp = {
      files: { command: ["node", "s.js"], env: { API_KEY: "opensesame-43", PAT: "opensesame-44", REGION: "northern" } },
      docs: { url: "https://docs.example/mcp", headers: { Authorization: "Bearer opensesame-45" } }
    }
    yield* fs.writeFileString(join(root, "home/.config/skein/skein.json"), JSON.stringify({ provider, mcp }))
    const { redact } = yield* Redaction
    yield* Effect.provide(Session.create({ directory: join(root, "a") }), inProcess(root))
    expect(redact("sent opensesame-42, opensesame-43, opensesame-44 and opensesame-45 to northern")).toBe(
      "sent [redacted], [redacted], [redacted] and [redacted] to northern"
    )
  }).pipe(Effect.provideServiceEffect(Redaction, Redaction.ofProcess), Effect.provide(NodeFileSystem.layer)))

it.scoped("holds two directories with agents of their own, follows their files, and keeps what held where one is broken", () =>
  Effect.gen(function*() {
    const fs = yield* FileSystem.FileSystem
    const root = yield* Effect.flatMap(fs.makeTempDirectoryScoped({ prefix: "skein-projects-" }), fs.realPath)
    const write = (path: string, text: string) => fs.writeFileString(join(root, path), text)
    for (const name of ["a", "b"]) {
      yield* fs.makeDirectory(join(root, name, ".git"), { recursive: true })
      yield* fs.makeDirectory(join(root, name, ".skein/agent"), { recursive: true })
      yield* write(`${name}/.skein/agent/of-${name}.md`, agentFile(`of ${name}`))
    }
    const logged: Array<string> = []
    const logger = Logger.replace(Logger.defaultLogger, Logger.make(({ message }) => void logged.push(String(message))))
    yield* Effect.gen(function*() {
      const create = (name: string, agent: string) =>
        Effect.either(Session.create({ directory: join(root, name), agent }))
      const isKnown = (name: string, agent: string) => Effect.map(create(name, agent), ({ _tag }) => _tag === "Right")
      const pass = Effect.zipRight(TestClock.adjust("1 second"), Effect.yieldNow())
      const until = (holds: Effect.Effect<boolean, never, Session>) =>
        Effect.repeat(Effect.zipLeft(holds, pass), { until: (it) => it })
      expect(yield* isKnown("a", "of-a")).toBe(true)
      expect(yield* isKnown("b", "of-b")).toBe(true)
      expect(yield* isKnown("a", "of-b")).toBe(false)
      yield* write("a/.skein/agent/new.md", agentFile("new"))
      yield* until(isKnown("a", "new"))
      expect(yield* isKnown("b", "new")).toBe(false)
      yield* write("a/skein.json", "{ \"agnet\": {} }")
      yield* until(Effect.sync(() => logged.length > 0))
      expect(logged.join()).toContain("agnet")
      expect(yield* isKnown("a", "new")).toBe(true)
      yield* write("a/skein.json", "{ \"agent\": { \"new\": { \"disable\": true } } }")
      yield* until(Effect.map(isKnown("a", "new"), (known) => !known))
      expect(yield* isKnown("a", "of-a")).toBe(true)
    }).pipe(Effect.provide(inProcess(root)), Effect.provide(logger))
  }).pipe(Effect.provide(NodeFileSystem.layer)))
