import { describe, expect, it } from "@effect/vitest"
import { Ripgrep } from "@skein/tools/Ripgrep"
import * as Effect from "effect/Effect"
import { Workspace } from "./workspace.ts"

const tree = Effect.tap(Workspace, ({ write }) =>
  Effect.sync(() => {
    write(".gitignore", "node_modules/\n*.log\n")
    write("src/index.ts", "export const needle = 1\nconst other = 2\n")
    write("src/lib/deep.ts", "// needle here\n// needle there\n")
    write("src/lib/skip.log", "needle\n")
    write("node_modules/dep/index.ts", "needle\n")
    write(".github/ci.yml", "needle: true\n")
    write(".git/config", "needle\n")
    write(".env", "NEEDLE=needle\n")
    write("README.md", "no match\n")
  }))

describe("glob", () => {
  it.effect("finds files by name, sorted, without what .gitignore names", () =>
    Effect.gen(function*() {
      const { asks, call, repo } = yield* tree
      expect((yield* call("glob", { pattern: "*.ts" })).output).toBe("src/index.ts\nsrc/lib/deep.ts")
      expect((yield* call("glob", { pattern: "**/*" })).output).toBe(
        [".env", ".github/ci.yml", ".gitignore", "README.md", "src/index.ts", "src/lib/deep.ts"].join("\n")
      )
      expect((yield* call("glob", { pattern: "*.ts", path: "src/lib" })).output).toBe("src/lib/deep.ts")
      expect((yield* call("glob", { pattern: `${repo}/src/*.ts` })).output).toBe("src/index.ts")
      expect((yield* call("glob", { pattern: "*.py" })).output).toBe("No files fit *.py in the working directory.")
      expect(yield* asks("glob", { pattern: "*.ts" })).toMatchObject([{
        permission: "glob",
        patterns: ["*.ts"],
        always: []
      }])
    }).pipe(Effect.provide(Workspace.layer)))

  it.effect("shows paths outside as they are, and cuts a long list with a note", () =>
    Effect.gen(function*() {
      const { call, top, write } = yield* Workspace
      for (let index = 0; index < 1_200; index++) write(`../many/f${String(index).padStart(4, "0")}`, "")
      const { metadata, output } = yield* call("glob", { pattern: "f*", path: "../many" })
      const lines = output.split("\n")
      expect(lines[0]).toBe(`${top}/w/many/f0000`)
      expect(metadata["count"]).toBe(1_200)
      expect(lines.at(-1)).toMatch(/^\(The first \d+ of 1200 files: narrow the pattern or the path\.\)$/)
      expect(Buffer.byteLength(output)).toBeLessThanOrEqual(50 * 1024)
    }).pipe(Effect.provide(Workspace.layer)))

  it.effect("refuses patterns that leave the directory", () =>
    Effect.gen(function*() {
      const { call } = yield* tree
      for (const pattern of ["../*", "/etc/*", "~/x", "{a,b}".repeat(12)]) {
        expect((yield* Effect.flip(call("glob", { pattern }))).kind, pattern).toBe("invalid_arguments")
      }
      expect((yield* Effect.flip(call("glob", { pattern: "*", path: "README.md" }))).kind).toBe("not_a_directory")
    }).pipe(Effect.provide(Workspace.layer)))
})

describe("grep", () => {
  it.effect("finds lines, files and counts, sorted by path", () =>
    Effect.gen(function*() {
      const { asks, call } = yield* tree
      expect((yield* call("grep", { pattern: "needle" })).output).toBe([
        ".github/ci.yml:1:needle: true",
        "src/index.ts:1:export const needle = 1",
        "src/lib/deep.ts:1:// needle here",
        "src/lib/deep.ts:2:// needle there"
      ].join("\n"))
      expect((yield* call("grep", { pattern: "needle", path: "src", mode: "files" })).output).toBe(
        "src/index.ts\nsrc/lib/deep.ts"
      )
      expect((yield* call("grep", { pattern: "needle", mode: "count", glob: "*.ts" })).output).toBe(
        "src/index.ts:1\nsrc/lib/deep.ts:2"
      )
      expect((yield* call("grep", { pattern: "needle", glob: "src/*.ts" })).output).toBe(
        "src/index.ts:1:export const needle = 1"
      )
      expect((yield* call("grep", { pattern: "needle", glob: "**/*.{ts,md}", mode: "files" })).output).toBe(
        "src/index.ts\nsrc/lib/deep.ts"
      )
      expect((yield* call("grep", { pattern: "needle", glob: "*", mode: "files" })).output).not.toContain(
        "node_modules"
      )
      expect((yield* call("grep", { pattern: "absent" })).output).toBe(
        "No matches for absent in the working directory."
      )
      expect((yield* call("grep", { pattern: "-needle" })).output).toContain("No matches for")
      expect(yield* asks("grep", { pattern: "needle" })).toMatchObject([{ permission: "grep", patterns: ["needle"] }])
    }).pipe(Effect.provide(Workspace.layer)))

  it.effect("asks as read does for a single file, and else leaves .env files out", () =>
    Effect.gen(function*() {
      const { asks, call } = yield* tree
      expect((yield* call("grep", { pattern: "NEEDLE", glob: ".env*" })).output).toContain("No matches for")
      expect(yield* asks("grep", { pattern: "NEEDLE", path: ".env" })).toMatchObject([
        { permission: "grep" },
        { permission: "read", patterns: [".env"] }
      ])
      expect((yield* call("grep", { pattern: "NEEDLE", path: ".env" })).output).toBe(".env:1:NEEDLE=needle")
    }).pipe(Effect.provide(Workspace.layer)))

  it.effect.each(
    [
      { general: "allow", particular: "deny", found: ["src/index.ts"] },
      { general: "allow", particular: "ask", found: ["src/index.ts"] },
      { general: "ask", particular: "ask", found: ["src/index.ts", "src/lib/deep.ts"] },
      { general: "ask", particular: "deny", found: ["src/index.ts"] },
      { general: "deny", particular: "allow", found: ["src/lib/deep.ts"] }
    ] as const
  )(
    "shows what the rules let be read: $general, but $particular in a directory",
    ({ found, general, particular }) =>
      Effect.gen(function*() {
        const { call } = yield* tree
        const action = (path: string) => path.startsWith("src/lib/") ? particular : general
        const { output } = yield* call("grep", { pattern: "needle", path: "src", mode: "files" }, {
          readAction: Effect.succeed(action)
        })
        expect(output).toBe(found.join("\n"))
      }).pipe(Effect.provide(Workspace.layer))
  )

  it.effect("stops at its limits and says so", () =>
    Effect.gen(function*() {
      const { call, write } = yield* Workspace
      write("many.txt", "hit\n".repeat(10_000))
      const result = yield* call("grep", { pattern: "hit", limit: 3 })
      expect(result.output).toBe(
        "many.txt:1:hit\nmany.txt:2:hit\nmany.txt:3:hit\n\n(The first 3; there are more: narrow pattern, path or glob, or set limit.)"
      )
      expect((yield* call("grep", { pattern: "hit" })).metadata).toMatchObject({ count: 250, cut: true })
      write("many.txt", `hit ${"x".repeat(400)}\n`.repeat(1_000))
      const wide = yield* call("grep", { pattern: "hit", limit: 1_900 })
      expect(Buffer.byteLength(wide.output)).toBeLessThanOrEqual(50 * 1024)
      expect(wide.output).toContain("there are more")
    }).pipe(Effect.provide(Workspace.layer)))

  it.effect("cuts long lines, and ends for an expression that would take exponential time by backtracking (L13)", () =>
    Effect.gen(function*() {
      const { call, write } = yield* Workspace
      write("line.txt", `${"a".repeat(100_000)}!\n`)
      const { output } = yield* call("grep", { pattern: "(a+)+$" })
      expect(output).toContain("No matches for")
      const found = yield* call("grep", { pattern: "(a+)+!" })
      expect(found.output.length).toBeLessThan(1_000)
      expect(found.output).toContain("omitted end of long line")
    }).pipe(Effect.provide(Workspace.layer)))

  it.effect("hands on what ripgrep says of a bad expression", () =>
    Effect.gen(function*() {
      const { asks, call } = yield* tree
      const error = yield* Effect.flip(call("grep", { pattern: "(unclosed" }))
      expect(error).toMatchObject({ kind: "invalid_arguments", message: expect.stringContaining("unclosed group") })
      expect((yield* Effect.flip(call("grep", { pattern: "a", glob: "{a" }))).kind).toBe("invalid_arguments")
      expect((yield* Effect.flip(asks("grep", { pattern: "a\0" }))).kind).toBe("invalid_arguments")
      expect((yield* Effect.flip(call("grep", { pattern: "a".repeat(1_000_000) }))).kind).toBe("ripgrep")
      expect((yield* Effect.flip(asks("grep", { pattern: "a", path: "none" }))).kind).toBe("not_found")
    }).pipe(Effect.provide(Workspace.layer)))

  it.effect("asks before it tells whether there is something outside", () =>
    Effect.gen(function*() {
      const { asks, call } = yield* tree
      expect(yield* asks("grep", { pattern: "a", path: "../none" })).toMatchObject([
        { permission: "external_directory" },
        { permission: "grep" },
        { permission: "read" }
      ])
      expect((yield* Effect.flip(call("grep", { pattern: "a", path: "../none" }))).kind).toBe("not_found")
    }).pipe(Effect.provide(Workspace.layer)))

  it.effect("tells where ripgrep is to be had when there is none", () =>
    Effect.gen(function*() {
      const ripgrep = yield* Ripgrep
      const run = (directory: string) =>
        Effect.flip(ripgrep.run({ args: [], directory, separator: "\n", each: () => true }))
      expect((yield* run("/")).message).toBe(
        "ripgrep could not be started in /: there is no program /none/rg. Run `skein doctor` to see what is missing."
      )
      expect((yield* run("/none")).message).toContain("the directory /none is gone")
    }).pipe(Effect.provide(Ripgrep.layer({ environment: {}, binary: "/none/rg" }))))
})

describe("list", () => {
  it.effect("draws a tree, directories first, with counts, without what is ignored", () =>
    Effect.gen(function*() {
      const { asks, call, repo } = yield* tree
      expect((yield* call("list", {})).output).toBe(`${repo} (6 files)
.github/ (1 file)
  ci.yml
src/ (2 files)
  lib/ (1 file)
    deep.ts
  index.ts
.env
.gitignore
README.md

(Ignored, empty or links: node_modules)`)
      expect((yield* call("list", { path: "src/lib" })).output).toBe(
        "src/lib (1 file)\ndeep.ts\n\n(Ignored, empty or links: skip.log)"
      )
      expect(yield* asks("list", { path: "src" })).toMatchObject([{ permission: "list", patterns: ["src"] }])
    }).pipe(Effect.provide(Workspace.layer)))

  it.effect("opens what there is room for, level by level", () =>
    Effect.gen(function*() {
      const { call, write } = yield* Workspace
      for (let index = 0; index < 500; index++) write(`big/f${index}`, "")
      write("small/x", "")
      const { output } = yield* call("list", {})
      expect(output).toContain("big/ (500 files)\nsmall/ (1 file)\n  x\n")
      expect(output).toContain("(Not all is shown: list a directory to see what is in it.)")
      expect((yield* call("list", { path: "big" })).output).toContain("… and 100 more")
    }).pipe(Effect.provide(Workspace.layer)))

  it.effect("shows an empty directory", () =>
    Effect.gen(function*() {
      const { call, repo } = yield* Workspace
      expect((yield* call("list", {})).output).toBe(`${repo} (0 files)`)
      expect((yield* Effect.flip(call("list", { path: "none" }))).kind).toBe("not_found")
    }).pipe(Effect.provide(Workspace.layer)))
})
