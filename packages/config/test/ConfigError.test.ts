import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import { SystemError } from "@effect/platform/Error"
import * as FileSystem from "@effect/platform/FileSystem"
import { expect, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { join } from "node:path"
import { formatIssue, loadIn, mistakes, userFile, workspace } from "./workspace.ts"

const file = "project/skein.json"

layer(NodeFileSystem.layer)("ConfigError", (it) => {
  const says = (name: string, content: string | Uint8Array | object, expected: ReadonlyArray<string>) =>
    it.scoped(name, () => Effect.map(mistakes({ [file]: content }), (found) => expect(found).toEqual(expected)))

  says("points at a syntax error", "{\n  \"model\": \"a/b\"\n  \"limits\": {}\n}", [`${file}:3:3 expected a comma`])
  says("points at single quotes", "{ 'model': 1 }", [
    `${file}:1:3 this is not a JSON value; strings and keys need double quotes`
  ])
  says("points at an unclosed brace", "{\n  \"limits\": {\n", [`${file}:3:1 expected a closing brace`])
  says("refuses text after the end", "{}\n{}", [`${file}:2:1 expected nothing after the closing brace`])
  says("refuses a repeated key", "{\n  \"model\": \"a/b\",\n  \"model\": \"a/c\"\n}", [
    `${file}:3:3 the key "model" is also in line 2; keep one`
  ])
  says("refuses a number without bounds", "{\"agent\": {\"a\": {\"topP\": 1e999}}}", [
    `${file}:1:26 this number is too large`
  ])
  says("refuses a config that is not an object", "[1]", [`${file}:1:1 the config must be an object, found a list`])

  says(
    "suggests a correction for a misspelt key",
    "{\n  \"limts\": {},\n  \"agent\": { \"a\": {\n    \"top_p\": 1 } }\n}",
    [
      `${file}:2:3 unknown key "limts"; did you mean "limits"?`,
      `${file}:4:5 unknown key "top_p" in agent.a; did you mean "topP"?`
    ]
  )
  says("lists the known keys if none is near", { retry: { zzzzzz: 1 } }, [
    `${file}:3:5 unknown key "zzzzzz" in retry; known keys: attempts, base, max_delay, max_retry_after`
  ])
  says("treats names from prototypes as unknown keys", "{\"__proto__\": {}, \"toString\": 1}", [
    expect.stringContaining("1:2 unknown key \"__proto__\""),
    expect.stringContaining("1:19 unknown key \"toString\"")
  ] as ReadonlyArray<string>)
  says("reports the value and the expected ones", {
    model: 5,
    limits: { concurrency: "many", max_tasks: 0, subagent_depth: 1.5, process_concurrency: null },
    agent: { a: { hidden: "yes", deniedTools: "bash", mode: "sub" }, b: [] },
    provider: { p: { max_requests: 0 } }
  }, [
    `${file}:2:12 model must be a string, found 5`,
    `${file}:4:20 limits.concurrency must be a number, found "many"`,
    `${file}:5:18 limits.max_tasks must be a positive number, found 0`,
    `${file}:6:23 limits.subagent_depth must be an integer, found 1.5`,
    `${file}:7:28 limits.process_concurrency must be a number, found null`,
    `${file}:11:17 agent.a.hidden must be true or false, found "yes"`,
    `${file}:12:22 agent.a.deniedTools must be a list (each a string), found "bash"`,
    `${file}:13:15 agent.a.mode must be "primary", "subagent" or "all", found "sub"; did you mean "subagent"?`,
    `${file}:15:10 agent.b must be an object, found a list`,
    `${file}:19:23 provider.p.max_requests must be a positive number, found 0`
  ])
  says("describes the form of a price", {
    provider: { p: { models: { a: { price: 3 }, b: { price: { input: 3, output: "1" } } } } }
  }, [
    expect.stringContaining("price must be an object such as {\"input\": \"0.15\", \"output\": \"0.6\"}, in USD"),
    expect.stringContaining("input must be \"unknown\" or a decimal number of USD in quotes, such as \"0.15\", found 3")
  ] as ReadonlyArray<string>)
  says("describes the form of a model and of an address", {
    model: "gpt",
    agent: { a: { model: ["a/b", "gpt"] } },
    provider: { a: { base_url: "models.example", models: { m: { limit: { context: 1 } } } } }
  }, [
    `${file}:2:12 model must be a model as provider/model, such as openai/gpt-5, found "gpt"`,
    `${file}:7:9 agent.a.model.1 must be a model as provider/model, such as openai/gpt-5, found "gpt"`,
    `${file}:13:19 provider.a.base_url must be an http(s) URL, found "models.example"`,
    `${file}:16:20 provider.a.models.m.limit lacks "output"`
  ])
  says("suggests a correction for a misspelt action", { permission: { edit: "alow", bash: { "git *": "dney" } } }, [
    `${file}:3:13 permission.edit must be "allow", "ask", "deny" or an object, found "alow"; did you mean "allow"?`,
    `${file}:5:16 permission.bash.git * must be "allow", "ask" or "deny", found "dney"; did you mean "deny"?`
  ])
  says("refuses a nameless agent", { agent: { "": {} } }, [
    `${file}:3:5 a key in agent must be a non empty string, found ""`
  ])

  says("reports missing variables and files", {
    model: "a/{env:NO_SUCH}",
    agent: { a: { prompt: "{file:gone.md}", model: "a/{env:}" } }
  }, [
    `${file}:2:12 {env:NO_SUCH}: the environment variable NO_SUCH is not set`,
    `${file}:5:17 {file:gone.md}: project/gone.md: cannot be read: there is no such file`,
    `${file}:6:16 {env:}: name the environment variable`
  ])

  it.scoped("does not reveal a secret of the wrong form", () =>
    Effect.gen(function*() {
      const found = yield* mistakes({ [userFile]: { model: "{env:KEY}" } }, { env: { KEY: "s3cret" } })
      expect(found).toEqual([
        `${userFile}:2:12 model must be a model as provider/model, such as openai/gpt-5, found the value of "{env:KEY}"`
      ])
    }))

  it.scoped("reports misspelt permissions together with mistakes elsewhere in the file", () =>
    Effect.map(
      mistakes({
        [userFile]: {
          modle: "x",
          permission: { bsh: "deny" },
          agent: { a: { steps: "x" }, b: { permission: { raed: "deny" } } }
        }
      }),
      (found) =>
        expect(found).toEqual([
          expect.stringContaining("unknown key \"modle\""),
          expect.stringContaining("agent.a.steps must be a number"),
          expect.stringContaining("permission.bsh: Skein has no permission or tool \"bsh\""),
          expect.stringContaining("agent.b.permission.raed: Skein has no permission or tool \"raed\"")
        ])
    ))

  it.scoped("reports the mistakes of all files together", () =>
    Effect.gen(function*() {
      const root = yield* workspace({
        [userFile]: { modle: "a/b" },
        "project/skein.json": "{",
        "project/sub/skein.json": { limits: 1 }
      })
      const error = yield* Effect.flip(loadIn(root, { at: "project/sub" }))
      expect(error.message.replaceAll(`${root}/`, "")).toBe(
        "The config has 3 mistakes:\n"
          + `${userFile}:2:3: unknown key "modle"; did you mean "model"?\n`
          + "project/skein.json:1:2: expected a closing brace\n"
          + "project/sub/skein.json:2:13: limits must be an object, found 1"
      )
      expect(error.issues[0]).toMatchObject({ line: 2, column: 3, key: "modle" })
    }))

  it.scoped("refuses two files in one directory", () =>
    Effect.gen(function*() {
      const found = yield* mistakes({ "project/skein.json": {}, "project/skein.jsonc": {} })
      expect(found).toEqual([
        "project/skein.jsonc there is also a skein.json; keep only one of them"
      ])
    }))

  it.scoped("refuses a directory with that name", () =>
    Effect.gen(function*() {
      const found = yield* mistakes({ "project/skein.json/file": "" })
      expect(found).toEqual([`${file} this is a directory, and must be a file`])
    }))

  it.scoped("refuses a device instead of reading it without end", () =>
    Effect.gen(function*() {
      const root = yield* workspace({})
      const fs = yield* FileSystem.FileSystem
      yield* fs.symlink("/dev/zero", join(root, file))
      const error = yield* Effect.flip(loadIn(root))
      expect(error.issues.map((issue) => formatIssue(root, issue))).toEqual([`${file} this is not a regular file`])
    }))

  it.scoped("reports an unreadable file", () =>
    Effect.gen(function*() {
      const root = yield* workspace({ [file]: {} })
      const real = yield* FileSystem.FileSystem
      const error = yield* loadIn(root).pipe(
        Effect.provideService(FileSystem.FileSystem, {
          ...real,
          readFile: () =>
            Effect.fail(new SystemError({ reason: "PermissionDenied", module: "FileSystem", method: "readFile" }))
        }),
        Effect.flip
      )
      expect(error.issues.map((issue) => formatIssue(root, issue))).toEqual([
        `${file} cannot be read: permission denied; check its mode and owner`
      ])
    }))

  says("refuses a file of more than a megabyte", `{"model": "a/${"b".repeat(1024 * 1024)}"}`, [
    `${file} it is too large: 1025 KiB; the limit is 1024 KiB`
  ])
  says("refuses text that is not UTF-8", new Uint8Array([0x7b, 0x0a, 0xff, 0x7d]), [
    `${file}:2 this is not UTF-8; save it in that encoding`
  ])
  const tooDeep = `${file} this is nested more than 100 levels deep`
  says("refuses deeply nested values", "[".repeat(300_000), [tooDeep])
  says("refuses values that only a recursive reader cannot handle", `${"[".repeat(1_500)}${"]".repeat(1_500)}`, [
    tooDeep
  ])
})
