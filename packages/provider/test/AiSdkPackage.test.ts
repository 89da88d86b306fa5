import { expect, it } from "@effect/vitest"
import { Config } from "@skein/core/Config"
import { Provider } from "@skein/core/Provider"
import type { ProviderConfig } from "@skein/domain/ConfigInfo"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { checkInstalled } from "../src/AiSdkPackage.ts"
import * as Providers from "../src/Providers.ts"
import { ask, callsOf, finishOf, serve, sse, textOf } from "./support/Server.ts"

/** A package whose models say what they were made with. */
const sound = (version = "v3") => `
  export const createAcme = (settings) => {
    const acme = (modelId) => ({
      specificationVersion: "${version}", provider: "acme", modelId, supportedUrls: {},
      doStream: async () => {
        const said = JSON.stringify({ modelId, settings })
        if (settings.fails) throw new Error("bad key " + settings.apiKey + settings.secretKey)
        const parts = [
          { type: "text-start", id: "t" }, { type: "text-delta", id: "t", delta: said }, { type: "text-end", id: "t" },
          { type: "finish", finishReason: { unified: "stop", raw: "stop" }, usage: { inputTokens: {}, outputTokens: {} } }
        ]
        return { stream: ReadableStream.from(parts) }
      }
    })
    acme.other = true
    return acme
  }
  export const acme = createAcme
`

/** A directory with these files. */
const directory = (files: Readonly<Record<string, string>>) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const made = mkdtempSync(join(tmpdir(), "skein-package-"))
      for (const [name, text] of Object.entries(files)) {
        mkdirSync(dirname(join(made, name)), { recursive: true })
        writeFileSync(join(made, name), text)
      }
      return made
    }),
    (made) => Effect.sync(() => rmSync(made, { recursive: true }))
  )

const manifest = (more: object) => JSON.stringify({ name: "@acme/llm", version: "1.0.0", type: "module", ...more })

const resolve = (acme: ProviderConfig, packages: string, env: Record<string, string> = {}) =>
  Effect.flatMap(Provider, (provider) => provider.resolve({ providerID: "acme", modelID: "m" })).pipe(
    Effect.provide(Providers.layer({ vendors: [], fallback: { providerID: "acme", modelID: "m" }, packages })),
    Effect.provide(Config.layer({ provider: { acme } })),
    Effect.provide(Layer.setConfigProvider(ConfigProvider.fromMap(new Map(Object.entries(env)))))
  )

it.scoped.each<readonly [string, object]>([
  ["conditions", { exports: { ".": { types: "./x.d.ts", import: { default: "./dist/index.js" } } } }],
  ["a text", { exports: "./dist/index.js" }],
  ["no exports", { main: "dist/index.js" }]
])(
  "loads an installed package with %s, and passes key, address, headers and options on",
  ([, more]) =>
    Effect.gen(function*() {
      const packages = yield* directory({
        "node_modules/@acme/llm/package.json": manifest(more),
        "node_modules/@acme/llm/dist/index.js": sound()
      })
      const config = {
        package: "@acme/llm",
        key_env: "ACME_KEY",
        base_url: "https://acme.test/v1",
        headers: { "x-team": "a" },
        options: { region: "north", nested: { deep: 1 } },
        models: { m: { price: { input: "1", output: "2" } } }
      }
      const model = yield* resolve(config, packages, { ACME_KEY: "k-123456" })
      expect(model.info).toMatchObject({ providerID: "acme", modelID: "m", price: { input: "1" } })
      expect(model.limitKey).not.toContain("k-123456")
      expect(JSON.parse(textOf(yield* ask(model)))).toEqual({
        modelId: "m",
        settings: {
          name: "acme",
          apiKey: "k-123456",
          baseURL: "https://acme.test/v1",
          headers: { "x-team": "a" },
          region: "north",
          nested: { deep: 1 }
        }
      })
    })
)

it.scoped("loads a module by its absolute path, and says no secret in an error", () =>
  Effect.gen(function*() {
    const packages = yield* directory({ "acme.mjs": sound() })
    const config = {
      package: join(packages, "acme.mjs"),
      key_env: "ACME_KEY",
      options: { fails: true, secretKey: "hush-hush" }
    }
    const { error } = yield* ask(yield* resolve(config, packages, { ACME_KEY: "k-123456" }))
    expect(error?.message).toContain("bad key")
    expect(error?.message).not.toMatch(/k-123456|hush-hush/)
  }))

it.scoped.each<readonly [string, Readonly<Record<string, string>>, string]>([
  ["that is not installed", {}, "npm install --prefix"],
  ["whose models are of another version", { "index.js": sound("v4") }, "Choose its release for AI SDK 6"],
  ["that makes no models", { "index.js": "export const createAcme = () => ({})" }, "makes no language models"],
  ["that creates nothing", { "index.js": "export const acme = 1" }, "whose name begins with create"],
  ["that throws", { "index.js": "throw new Error('out of order')" }, "out of order"],
  [
    "that throws when it is set up",
    { "index.js": "export const createX = () => { throw new Error('no') }" },
    "used: no"
  ]
])("refuses a package %s, and says what to do", ([, files, said]) =>
  Effect.gen(function*() {
    const all = Object.entries(files).map(([name, text]) => [`node_modules/acme/${name}`, text] as const)
    const packages = yield* directory(
      all.length === 0 ? {} : { "node_modules/acme/package.json": manifest({}), ...Object.fromEntries(all) }
    )
    const error = yield* Effect.flip(resolve({ package: "acme" }, packages))
    expect(error).toMatchObject({ _tag: "ModelUnavailable", reason: "bad_config", model: "acme/m" })
    expect(error.message).toContain(said)
  }))

it.scoped("names the release that fits, and says of an installed one that it does not", () =>
  Effect.gen(function*() {
    const error = yield* Effect.flip(resolve({ package: "@ai-sdk/xai" }, "/nowhere"))
    expect(error.message).toMatch(/npm install --prefix \/nowhere @ai-sdk\/xai@3$/)
    const at = (version: string) => {
      const name = "@ai-sdk/amazon-bedrock"
      return Effect.flatMap(
        directory({ [`node_modules/${name}/package.json`]: JSON.stringify({ name, version }) }),
        (packages) => checkInstalled(name, packages)
      )
    }
    expect(yield* at("4.0.1")).toBeUndefined()
    expect(yield* at("5.1.0")).toMatchObject({
      isMissing: false,
      detail: expect.stringContaining("5.1.0"),
      fix: expect.stringContaining("@ai-sdk/amazon-bedrock@4")
    })
    expect(yield* checkInstalled("acme", "/nowhere")).toMatchObject({ isMissing: true })
  }))

it.scoped("serves Bedrock and Vertex by their packages, which read the environment, and Claude on Vertex by its entry", () =>
  Effect.gen(function*() {
    const vertex = "node_modules/@ai-sdk/google-vertex"
    const packages = yield* directory({
      "node_modules/@ai-sdk/amazon-bedrock/package.json": manifest({}),
      "node_modules/@ai-sdk/amazon-bedrock/index.js": sound(),
      [`${vertex}/package.json`]: manifest({ exports: { ".": "./index.js", "./anthropic": "./claude.js" } }),
      [`${vertex}/index.js`]: sound(),
      [`${vertex}/claude.js`]: sound().replace("{ modelId, settings }", "{ modelId, settings, isClaude: true }")
    })
    const resolved = (providerID: string, modelID: string, env: Readonly<Record<string, string>>) =>
      Effect.flatMap(Provider, (provider) => provider.resolve({ providerID, modelID })).pipe(
        Effect.provide(Providers.layer({ vendors: [], fallback: { providerID: "a", modelID: "b" }, packages })),
        Effect.provide(Config.layer({})),
        Effect.provide(Layer.setConfigProvider(ConfigProvider.fromMap(new Map(Object.entries(env)))))
      )
    expect((yield* Effect.flip(resolved("bedrock", "m", {}))).message).toContain("AWS_BEARER_TOKEN_BEDROCK")
    for (const env of [{ AWS_BEARER_TOKEN_BEDROCK: "k-123456" }, { AWS_ACCESS_KEY_ID: "AKIA" }]) {
      const said = textOf(yield* ask(yield* resolved("bedrock", "us.anthropic.claude-sonnet-5-5", env)))
      expect(JSON.parse(said)).toEqual({ modelId: "us.anthropic.claude-sonnet-5-5", settings: { name: "bedrock" } })
    }
    const project = { GOOGLE_VERTEX_PROJECT: "p" }
    const saidBy = (modelID: string) =>
      Effect.map(
        Effect.flatMap(resolved("vertex", modelID, project), ask),
        (asked) => JSON.parse(textOf(asked)) as object
      )
    expect(yield* saidBy("gemini-4-argon")).not.toHaveProperty("isClaude")
    expect(yield* saidBy("claude-opus-5")).toMatchObject({ isClaude: true })
  }))

it.scoped("needs the key that the config names", () =>
  Effect.gen(function*() {
    const error = yield* Effect.flip(resolve({ package: "acme", key_env: "ACME_KEY" }, "/nowhere"))
    expect(error).toMatchObject({ reason: "no_key" })
    expect(error.message).toContain("ACME_KEY")
  }))

/** The directory with the package as it is published. */
const [installed = ""] = fileURLToPath(import.meta.resolve("@ai-sdk/mistral")).split("/node_modules/")

const chunk = (delta: object, finish: string | null = null, usage?: object) => ({
  id: "1",
  object: "chat.completion.chunk",
  created: 1_700_000_000,
  model: "m",
  choices: [{ index: 0, delta, finish_reason: finish }],
  ...(usage === undefined ? {} : { usage })
})

const usage = { prompt_tokens: 12, completion_tokens: 3, total_tokens: 15 }

it.scoped("works with a package as published: a call of a tool, its result, and an answer", () =>
  Effect.gen(function*() {
    const server = yield* serve((response, number) => {
      const call = { id: "call12345", type: "function", function: { name: "bash", arguments: "{\"command\":\"ls\"}" } }
      const frames = number === 0
        ? [
          chunk({ role: "assistant", content: "I " }),
          chunk({ content: "look." }),
          chunk({ content: "", tool_calls: [call] }, "tool_calls", usage)
        ]
        : [chunk({ role: "assistant", content: "There is " }), chunk({ content: "a.txt" }, "stop", usage)]
      sse(response, ...frames, "data: [DONE]\n\n").end()
    })
    const config = { package: "@ai-sdk/mistral", key_env: "ACME_KEY", base_url: server.url }
    const model = yield* resolve(config, installed, { ACME_KEY: "k-123456" })
    const first = yield* ask(model)
    expect({ text: textOf(first), error: first.error }).toEqual({ text: "I look.", error: undefined })
    const [made] = callsOf(first)
    expect(made).toMatchObject({ name: "bash", input: "{\"command\":\"ls\"}" })
    expect(finishOf(first)).toMatchObject({ finish: "tool-calls", tokens: { input: 12, output: 3 } })
    const toolCallId = "call12345"
    const second = yield* ask(model, {
      messages: [
        { role: "user", content: [{ type: "text", text: "Look" }] },
        {
          role: "assistant",
          content: [{ type: "text", text: "I look." }, {
            type: "tool-call",
            toolCallId,
            toolName: "bash",
            input: { command: "ls" }
          }]
        },
        {
          role: "tool",
          content: [{ type: "tool-result", toolCallId, toolName: "bash", output: { type: "text", value: "a.txt" } }]
        }
      ]
    })
    expect(textOf(second)).toBe("There is a.txt")
    const [asked, told] = server.seen
    expect(asked).toMatchObject({ url: "/v1/chat/completions", headers: { authorization: "Bearer k-123456" } })
    expect(JSON.parse(told?.body ?? "{}")).toMatchObject({
      model: "m",
      stream: true,
      messages: [
        { role: "user" },
        { role: "assistant", tool_calls: [{ id: toolCallId, function: { name: "bash" } }] },
        { role: "tool", tool_call_id: toolCallId, content: "a.txt" }
      ]
    })
  }))
