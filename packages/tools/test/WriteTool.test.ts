import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import { Workspace } from "./workspace.ts"

describe("write", () => {
  it.effect("makes a file with the directories above it, and leaves nothing else", () =>
    Effect.gen(function*() {
      const { at, call, read } = yield* Workspace
      const result = yield* call("write", { filePath: "a/b/c.ts", content: "hello\n" })
      expect(read("a/b/c.ts")).toBe("hello\n")
      expect(fs.readdirSync(at("a/b"))).toEqual(["c.ts"])
      expect(result.output).toBe("Created a/b/c.ts (6 bytes).")
      expect(result.asks).toEqual([
        {
          permission: "edit",
          patterns: ["a/b/c.ts"],
          always: ["a/b/**"],
          metadata: { filePath: "a/b/c.ts", diff: "+hello" }
        }
      ])
      yield* call("write", { filePath: "empty", content: "" })
      expect(read("empty")).toBe("")
    }).pipe(Effect.provide(Workspace.layer)))

  it.effect("overwrites only what the session has seen, as it has seen it", () =>
    Effect.gen(function*() {
      const { call, read, write } = yield* Workspace
      write("x", "theirs")
      const unread = yield* Effect.flip(call("write", { filePath: "x", content: "mine" }))
      expect(unread).toMatchObject({ kind: "unread", message: expect.stringContaining("Read it first") })
      yield* call("read", { filePath: "x" })
      write("x", "theirs again")
      const stale = yield* Effect.flip(call("write", { filePath: "x", content: "mine" }))
      expect(stale.kind).toBe("stale")
      expect(read("x")).toBe("theirs again")
      yield* call("read", { filePath: "x" })
      expect((yield* call("write", { filePath: "x", content: "mine" })).output).toBe("Replaced x (4 bytes).")
      expect((yield* call("write", { filePath: "x", content: "mine too" })).output).toContain("Replaced")
      expect(read("x")).toBe("mine too")
    }).pipe(Effect.provide(Workspace.layer)))

  it.effect("does nothing where nothing would change", () =>
    Effect.gen(function*() {
      const { at, call, write } = yield* Workspace
      write("x", "same")
      const before = fs.statSync(at("x")).ino
      expect((yield* call("write", { filePath: "x", content: "same" })).output).toContain("nothing was written")
      expect(fs.statSync(at("x")).ino).toBe(before)
    }).pipe(Effect.provide(Workspace.layer)))

  it.effect("keeps the mode, and writes through links inside", () =>
    Effect.gen(function*() {
      const { at, call, read, write } = yield* Workspace
      write("bin/run.sh", "old")
      fs.chmodSync(at("bin/run.sh"), 0o777)
      fs.symlinkSync("bin/run.sh", at("run"))
      yield* call("read", { filePath: "run" })
      yield* call("write", { filePath: "run", content: "new" })
      expect(fs.statSync(at("bin/run.sh")).mode & 0o7777).toBe(0o777)
      expect(fs.lstatSync(at("run")).isSymbolicLink()).toBe(true)
      expect(read("bin/run.sh")).toBe("new")
    }).pipe(Effect.provide(Workspace.layer)))

  it.effect("says what stands in the way", () =>
    Effect.gen(function*() {
      const { call, write } = yield* Workspace
      write("file", "")
      write("dir/x", "")
      expect((yield* Effect.flip(call("write", { filePath: "dir", content: "" }))).message).toContain(
        "dir is a directory"
      )
      expect((yield* Effect.flip(call("write", { filePath: "file/x", content: "" }))).message).toContain(
        "a part of its path is a file"
      )
      expect((yield* Effect.flip(call("write", { filePath: "x".repeat(300), content: "" }))).kind).toBe("bad_path")
    }).pipe(Effect.provide(Workspace.layer)))
})
