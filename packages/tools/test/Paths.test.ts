import { describe, expect, it } from "@effect/vitest"
import { Failpoints } from "@skein/core/Failpoints"
import { authorised, type ToolError } from "@skein/core/Tool"
import * as Effect from "effect/Effect"
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import { places } from "./support/places.ts"
import { sessionID, Workspace } from "./workspace.ts"

const external = (real: string) => expect.objectContaining({ permission: "external_directory", patterns: [real] })

describe("paths", () => {
  it.effect("decide whether a path is outside by its names, not by its text (S10)", () =>
    Effect.gen(function*() {
      const { asks, repo, top } = yield* Workspace
      const outside: ReadonlyArray<readonly [given: string, real: string]> = [
        [`${repo}-evil/x`, `${repo}-evil/x`],
        [`${repo}/../x`, `${top}/w/x`],
        [`${repo}/./a/../../x`, `${top}/w/x`],
        [`/${repo}/../x`, `${top}/w/x`],
        [`file://${top}/x`, `${top}/x`],
        ["../x", `${top}/w/x`],
        ["~/x", `${top}/home/x`]
      ]
      for (const [given, real] of outside) {
        expect(yield* asks("write", { filePath: given, content: "" }), given).toEqual([
          external(real),
          expect.objectContaining({ permission: "edit", patterns: [real] })
        ])
      }
      for (const given of ["x", "./x", `${repo}/x`, `${repo}/a/../x`, `file://${repo}/x`, "a/../../repo/x"]) {
        expect(yield* asks("write", { filePath: given, content: "" }), given).toEqual([
          expect.objectContaining({ permission: "edit", patterns: ["x"] })
        ])
      }
    }).pipe(Effect.provide(Workspace.layer)))

  it.effect("follow every link before they decide (S11)", () =>
    Effect.gen(function*() {
      const { asks, at, top, write } = yield* Workspace
      write("../../etc/passwd", "root")
      fs.symlinkSync(`${top}/etc`, at("link"))
      fs.symlinkSync("../../etc/passwd", at("f"))
      fs.symlinkSync("nowhere/../../../etc/new", at("dangling"))
      fs.symlinkSync("link", at("twice"))
      const cases: ReadonlyArray<readonly [tool: string, input: object, real: string]> = [
        ["write", { filePath: "link/x", content: "" }, `${top}/etc/x`],
        ["write", { filePath: "link/deep/er/x", content: "" }, `${top}/etc/deep/er/x`],
        ["write", { filePath: "dangling", content: "" }, `${top}/etc/new`],
        ["write", { filePath: "twice/x", content: "" }, `${top}/etc/x`],
        ["edit", { filePath: "f", oldString: "root", newString: "" }, `${top}/etc/passwd`],
        ["patch", { patchText: "*** Begin Patch\n*** Delete File: f\n*** End Patch" }, `${top}/etc/passwd`],
        ["read", { filePath: "f" }, `${top}/etc/passwd`],
        ["list", { path: "link" }, `${top}/etc`],
        ["grep", { pattern: "r", path: "f" }, `${top}/etc/passwd`],
        ["glob", { pattern: "*", path: "link" }, `${top}/etc`]
      ]
      for (const [tool, input, real] of cases) {
        expect(yield* asks(tool, input), `${tool} ${JSON.stringify(input)}`).toContainEqual(external(real))
      }
    }).pipe(Effect.provide(Workspace.layer)))

  it.effect("take a file with a second name for one outside, and never write through it (S11)", () =>
    Effect.gen(function*() {
      const { at, call, read, write } = yield* Workspace
      write("../../home/key", "secret")
      fs.linkSync(at("../../home/key"), at("hard"))
      yield* call("read", { filePath: "hard" })
      const { asks } = yield* call("edit", { filePath: "hard", oldString: "secret", newString: "public" })
      expect(asks).toContainEqual(external(at("hard")))
      for (const name of ["plain", "node_modules/p/a"]) {
        write(name, "key")
        fs.linkSync(at(name), at(`${name}2`))
      }
      const reads = [["read", { filePath: "plain" }], ["grep", { pattern: "key", path: "plain" }]] as const
      for (const [tool, input] of reads) expect((yield* call(tool, input)).asks).toContainEqual(external(at("plain")))
      // Package managers make hard links of what they keep.
      expect((yield* call("read", { filePath: "node_modules/p/a" })).asks).toMatchObject([{ permission: "read" }])
      write("alone", "key")
      const { output } = yield* call("grep", { pattern: "key" })
      expect(output).toContain("alone:1:key")
      expect(output).not.toContain("plain:1")
      expect(output).toContain("Left out: what was found in 2 hard links")
      expect(read("hard")).toBe("public")
      expect(read("../../home/key")).toBe("secret")
    }).pipe(Effect.provide(Workspace.layer)))

  it.effect("go only where permission was given for", () =>
    Effect.gen(function*() {
      const { at, context, read, tools, write } = yield* Workspace
      write("in/x", "inside")
      write("../out/x", "outside")
      fs.symlinkSync("in", at("link"))
      const tool = tools.get("write")
      const input = { filePath: "link/x", content: "new" }
      const found = yield* tool?.authorise(input, context()) ?? Effect.dieMessage("no tool")
      fs.unlinkSync(at("link"))
      fs.symlinkSync("../out", at("link"))
      const error = yield* Effect.flip(
        tool?.execute(input, context(), authorised(found).plan) as Effect.Effect<unknown, ToolError>
      )
      expect(error.kind).toBe("moved")
      expect(read("../out/x")).toBe("outside")
    }).pipe(Effect.provide(Workspace.layer)))

  it.effect("do not follow what is put in their way while a file is written (S11)", () =>
    Effect.gen(function*() {
      const { at, call, read, write } = yield* Workspace
      write("in/x", "inside")
      write("../out/x", "outside")
      yield* call("read", { filePath: "in/x" })
      const swap = (name: string) => {
        if (name !== "write_tmp_before_rename" || fs.existsSync(at("was"))) return
        fs.renameSync(at("in"), at("was"))
        fs.symlinkSync("../out", at("in"))
      }
      yield* Effect.provideService(call("write", { filePath: "in/x", content: "new" }), Failpoints, { hit: swap })
      expect(read("../out/x")).toBe("outside")
      expect(read("was/x")).toBe("new")
    }).pipe(Effect.provide(Workspace.layer)))

  it.effect("lead to no file that got a second name since permission was given", () =>
    Effect.gen(function*() {
      const { at, context, tools, write } = yield* Workspace
      write("a", "inside")
      write("big", "x\n".repeat(5 * 1024 * 1024))
      write("../out/secret", "outside")
      for (const name of ["a", "big"]) {
        const input = { filePath: name }
        const read = tools.get("read")
        const found = yield* read?.authorise(input, context()) ?? Effect.dieMessage("no tool")
        if (name === "a") fs.unlinkSync(at(name))
        fs.linkSync(at(name === "a" ? "../out/secret" : name), at(name === "a" ? name : "second"))
        const error = yield* Effect.flip(
          read?.execute(input, context(), authorised(found).plan) as Effect.Effect<unknown, ToolError>
        )
        expect(error.kind).toBe("moved")
      }
    }).pipe(Effect.provide(Workspace.layer)))

  it.effect("must not contain a NUL, nor be a URL that names no file (P27)", () =>
    Effect.gen(function*() {
      const { asks } = yield* Workspace
      const inputs: ReadonlyArray<readonly [tool: string, input: (path: string) => object]> = [
        ["read", (filePath) => ({ filePath })],
        ["write", (filePath) => ({ filePath, content: "" })],
        ["edit", (filePath) => ({ filePath, oldString: "a", newString: "b" })],
        ["patch", (path) => ({ patchText: `*** Begin Patch\n*** Delete File: ${path}\n*** End Patch` })],
        ["list", (path) => ({ path })],
        ["glob", (path) => ({ pattern: "*", path })],
        ["grep", (path) => ({ pattern: "a", path })]
      ]
      for (const [tool, input] of inputs) {
        for (const path of ["a\0b", "file:///a%00b", "file://host/a", "file:///a%2fb", "file://[x"]) {
          const error = yield* Effect.flip(asks(tool, input(path)))
          expect(error.kind, `${tool} ${path}`).toBe("bad_path")
        }
      }
      expect((yield* Effect.flip(asks("read", { filePath: " " }))).kind).toBe("bad_path")
    }).pipe(Effect.provide(Workspace.layer)))

  it.effect("of what git runs or reads because a config names it are asked for each time", () =>
    Effect.gen(function*() {
      const { asks, at, write } = yield* Workspace
      const git = (...args: ReadonlyArray<string>) => spawnSync("git", ["-C", at("."), ...args])
      git("init", "-q")
      const guarded = Effect.fnUntraced(function*(filePath: string) {
        const [ask] = yield* asks("write", { filePath, content: "" })
        return ask?.protected === true
      })
      expect(yield* guarded("tools/hooks/pre-commit")).toBe(false)
      git("config", "core.hooksPath", "tools/hooks")
      expect(yield* guarded("tools/hooks/pre-commit")).toBe(true)
      expect(yield* guarded("tools/other")).toBe(false)
      write("elsewhere/x", "")
      git("config", "core.hooksPath", "linked")
      fs.symlinkSync(at("elsewhere"), at("linked"))
      expect(yield* guarded("elsewhere/pre-commit")).toBe(true)
      expect(yield* guarded("tools/hooks/pre-commit")).toBe(false)
      write("shared.inc", "[core]\nhooksPath = deep/hooks\n")
      git("config", "--unset", "core.hooksPath")
      git("config", "include.path", "../shared.inc")
      expect(yield* guarded("shared.inc")).toBe(true)
      expect(yield* guarded("deep/hooks/post-merge")).toBe(true)
    }).pipe(Effect.provide(Workspace.layer)))

  it.effect("of protected names are asked for each time, whether they exist or not", () =>
    Effect.gen(function*() {
      const { asks, at, write } = yield* Workspace
      const names = [
        ".git/hooks/pre-commit",
        ".git/config",
        ".GIT/Hooks/x",
        "sub/.git/config",
        ".git/hooks/.",
        ".git./config",
        ".git /config",
        ".git::$INDEX_ALLOCATION/config",
        "GIT~1/config",
        "\u017Fkein.json",
        ".\u017F\u212Aein/x",
        ".g\u200Bit/config",
        ".skein/agent/a.md",
        ".Skein/Config.json",
        ".skein/plans/../agent/a.md",
        ".skein/plans/deep/a.md",
        ".skein/plans/a.sh",
        "skein.json",
        "SKEIN.JSONC",
        "packages/a/skein.json",
        ".mcp.json",
        ".vscode/settings.json",
        ".vscode/../.vscode/tasks.json",
        ".gitmodules",
        ".envrc",
        ".bashrc",
        "home/.zshenv",
        "AGENTS.md",
        ".claude/agents/x.md",
        ".opencode/agent/x.md",
        ...[".hg/hgrc", ".jj/repo/config.toml", ".sl/config", ".githooks/pre-commit", "prek.toml", "hk.pkl"],
        ...[".opencode.json", "crush.json", "mcp.json", ".qwen/settings.json", ".trae/rules/x", ".clinerules/x.md"],
        ...["QWEN.md", "WARP.md", "AGENT.md", ".github/prompts/x.md"],
        ...[
          ".devcontainer.json",
          ".dir-locals-2.el",
          "x.code-workspace",
          ".run/x.run.xml",
          ".vim/x",
          ".ycm_extra_conf.py"
        ],
        ...[".mise/config.toml", ".config/mise/config.toml", ".config/mise.toml", "mise/config.toml", "mise.ci.toml"],
        ...[".mvn/jvm.config", "rust-toolchain.toml", "bunfig.toml", ".pnpmfile.cjs", ".tool-versions", ".iex.exs"],
        ...places
      ]
      for (const name of names) {
        const [ask] = yield* asks("write", { filePath: name, content: "" })
        expect(ask, name).toMatchObject({ permission: "edit", protected: true, always: [] })
      }
      write("elsewhere/x", "")
      fs.symlinkSync(at("elsewhere"), at(".idea"))
      expect((yield* asks("edit", { filePath: ".idea/x", oldString: "a", newString: "b" }))[0]).toMatchObject({
        protected: true
      })
      const patch = "*** Begin Patch\n*** Add File: ok\n+a\n*** Add File: .git/hooks/post-merge\n+b\n*** End Patch"
      expect((yield* asks("patch", { patchText: patch }))[0]).toMatchObject({ protected: true })
      for (
        const name of [
          "src/git.ts",
          ".skein/plans/a.md",
          ".gitignore",
          "my.skein.json",
          "config",
          ".github/workflows/ci.yml",
          ".gitattributes",
          "Makefile",
          "lefthook.md",
          "src/hk.ts",
          ".hg/store/x",
          ".jj/repo/store/x",
          "repo/config.toml",
          "docs/mise.md",
          "src/mise/config.ts",
          "src/cargo/config.toml"
        ]
      ) {
        const [ask] = yield* asks("write", { filePath: name, content: "" })
        expect(ask?.protected, name).toBeUndefined()
      }
    }).pipe(Effect.provide(Workspace.layer)))

  it.effect("of the session's own long outputs are read without asking, those of others are not", () =>
    Effect.gen(function*() {
      const { asks, call, top, write } = yield* Workspace
      const own = `${top}/data/spill/${sessionID}/prt_1.out`
      const other = `${top}/data/spill/ses_other/prt_1.out`
      write(own, "kept")
      write(other, "kept")
      expect((yield* call("read", { filePath: own })).asks).toEqual([])
      expect((yield* call("grep", { pattern: "kept", path: own })).output).toBe(`${own}:1:kept`)
      expect(yield* asks("read", { filePath: other })).toContainEqual(external(other))
      expect(yield* asks("write", { filePath: own, content: "" })).toContainEqual(external(own))
    }).pipe(Effect.provide(Workspace.layer)))

  it.effect("with wildcards in their names are not offered as rules, nor is the whole file system", () =>
    Effect.gen(function*() {
      const { asks, top } = yield* Workspace
      expect(yield* asks("read", { filePath: "../o*t/x" })).toEqual([
        expect.objectContaining({ patterns: [`${top}/w/o*t/x`], always: [] }),
        expect.objectContaining({ always: [] })
      ])
      const offered = [["../out/x", [`${top}/w/out/x`]], ["/x", ["/x"]], ["/usr/bin/x", ["/usr/bin/x"]]] as const
      for (const [path, always] of offered) {
        expect(yield* asks("read", { filePath: path })).toContainEqual(
          expect.objectContaining({ permission: "external_directory", always })
        )
      }
      expect(yield* asks("list", { path: "/" })).toContainEqual(
        expect.objectContaining({ permission: "external_directory", always: [] })
      )
    }).pipe(Effect.provide(Workspace.layer)))

  it.effect.each<[string, object]>([
    ["read", { filePath: "src/a.ts" }],
    ["read", { filePath: "." }],
    ["write", { filePath: "new.txt", content: "x" }],
    ["write", { filePath: "src/new.txt", content: "x" }],
    ["edit", { filePath: "src/a.ts", oldString: "a", newString: "b" }],
    ["patch", { patchText: "*** Begin Patch\n*** Add File: b.txt\n+x\n*** End Patch" }],
    ["glob", { pattern: "*.ts" }],
    ["glob", { pattern: "*.ts", path: "src" }],
    ["grep", { pattern: "a" }],
    ["list", {}],
    ["bash", { command: "pwd" }]
  ])(
    "in a working directory that was removed are refused, and do not bring it back: %s %o",
    ([name, input]) =>
      Effect.gen(function*() {
        const { call, repo, write } = yield* Workspace
        write("src/a.ts", "a\n")
        yield* call("read", { filePath: "src/a.ts" })
        // Between the permission and the effect, and before both.
        const removed = Effect.sync(() => fs.rmSync(repo, { recursive: true, force: true }))
        const gone = new RegExp(`directory ${repo} (?:is gone|no longer exists)`)
        const calls = [call(name, input, { confirm: Effect.as(removed, Number.POSITIVE_INFINITY) }), call(name, input)]
        for (const each of name === "bash" ? calls : [Effect.zipRight(removed, calls[0]!), calls[1]!]) {
          expect((yield* Effect.flip(each)).message).toMatch(gone)
          expect(fs.existsSync(repo)).toBe(false)
        }
      }).pipe(Effect.provide(Workspace.layer))
  )

  it.effect("that go round in circles are refused in words", () =>
    Effect.gen(function*() {
      const { asks, at } = yield* Workspace
      fs.symlinkSync("b", at("a"))
      fs.symlinkSync("a", at("b"))
      expect((yield* Effect.flip(asks("read", { filePath: "a" }))).message).toContain("leads back to itself")
    }).pipe(Effect.provide(Workspace.layer)))
})
