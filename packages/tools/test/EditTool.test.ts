import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import { Workspace } from "./workspace.ts"

/** A workspace with a file in it that the session has read. */
const opened = (path: string, content: string | Uint8Array) =>
  Effect.tap(Workspace, ({ call, write }) => {
    write(path, content)
    return call("read", { filePath: path })
  })

describe("edit", () => {
  it.effect("replaces the one place of a text", () =>
    Effect.gen(function*() {
      const { call, read } = yield* opened("a.ts", "one\ntwo\nthree\n")
      const result = yield* call("edit", { filePath: "a.ts", oldString: "two\n", newString: "2\n2\n" })
      expect(read("a.ts")).toBe("one\n2\n2\nthree\n")
      expect(result.output).toBe("Edited a.ts at line 2.")
      expect(result.asks).toEqual([{
        permission: "edit",
        patterns: ["a.ts"],
        always: ["a.ts"],
        metadata: { filePath: "a.ts", diff: "-two\n+2\n+2" }
      }])
    }).pipe(Effect.provide(Workspace.layer)))

  it.effect("refuses more than one place unless all are meant", () =>
    Effect.gen(function*() {
      const { call, read } = yield* opened("a.ts", "x\ny\nx\nxx\n")
      const error = yield* Effect.flip(call("edit", { filePath: "a.ts", oldString: "x", newString: "z" }))
      expect(error).toMatchObject({
        kind: "ambiguous",
        message: expect.stringContaining("4 times, at lines 1, 3, 4, 4")
      })
      const result = yield* call("edit", { filePath: "a.ts", oldString: "x", newString: "z", replaceAll: true })
      expect(read("a.ts")).toBe("z\ny\nz\nzz\n")
      expect(result.metadata).toMatchObject({ replacements: 4 })
    }).pipe(Effect.provide(Workspace.layer)))

  it.effect("replaces places that overlap once each", () =>
    Effect.gen(function*() {
      const { call, read } = yield* opened("a.ts", "aaaaa")
      const error = yield* Effect.flip(call("edit", { filePath: "a.ts", oldString: "aaa", newString: "b" }))
      expect(error.message).toContain("3 times")
      yield* call("edit", { filePath: "a.ts", oldString: "aa", newString: "b", replaceAll: true })
      expect(read("a.ts")).toBe("bba")
    }).pipe(Effect.provide(Workspace.layer)))

  it.effect("does not overwrite what has changed since it was read (S14)", () =>
    Effect.gen(function*() {
      const { call, read, write } = yield* opened("a.ts", "one\ntwo\n")
      write("a.ts", "one\ntwo\nthree\n")
      const error = yield* Effect.flip(call("edit", { filePath: "a.ts", oldString: "one", newString: "1" }))
      expect(error).toMatchObject({
        kind: "stale",
        message: expect.stringContaining("a.ts has changed since this session read it")
      })
      expect(read("a.ts")).toBe("one\ntwo\nthree\n")
    }).pipe(Effect.provide(Workspace.layer)))

  it.effect("wants the file read by its own session first", () =>
    Effect.gen(function*() {
      const { call } = yield* opened("a.ts", "one\n")
      const other = { sessionID: "ses_other" as never }
      const edit = { filePath: "a.ts", oldString: "one", newString: "1" }
      expect(yield* Effect.flip(call("edit", edit, other))).toMatchObject({ kind: "unread" })
      expect((yield* Effect.flip(call("edit", { ...edit, filePath: "b.ts" }))).kind).toBe("not_found")
    }).pipe(Effect.provide(Workspace.layer)))

  it.effect("makes edits of one file one after the other, none is lost", () =>
    Effect.gen(function*() {
      const names = Array.from({ length: 20 }, (_, index) => `<${index}>`)
      const { call, read } = yield* opened("a.ts", names.join("\n"))
      yield* Effect.forEach(
        names,
        (name) => call("edit", { filePath: "a.ts", oldString: name, newString: `done ${name}` }),
        { concurrency: "unbounded" }
      )
      expect(read("a.ts")).toBe(names.map((name) => `done ${name}`).join("\n"))
    }).pipe(Effect.provide(Workspace.layer)))

  it.effect("keeps the line ends of the file", () =>
    Effect.gen(function*() {
      const { call, read, write } = yield* opened("a.bat", "one\r\ntwo\r\nthree\r\n")
      yield* call("edit", { filePath: "a.bat", oldString: "one\ntwo", newString: "1\n2\n2" })
      expect(read("a.bat")).toBe("1\r\n2\r\n2\r\nthree\r\n")
      yield* call("edit", { filePath: "a.bat", oldString: "three", newString: "3\n4" })
      expect(read("a.bat")).toBe("1\r\n2\r\n2\r\n3\r\n4\r\n")
      write("mixed", "a\r\nb\nc\nd\r\ne\n")
      yield* call("read", { filePath: "mixed" })
      yield* call("edit", { filePath: "mixed", oldString: "c\nd\ne", newString: "x" })
      expect(read("mixed")).toBe("a\r\nb\nx\n")
    }).pipe(Effect.provide(Workspace.layer)))

  it.effect("leaves bytes that are no UTF-8 as they are", () =>
    Effect.gen(function*() {
      const { at, call } = yield* opened("latin", Buffer.concat([Buffer.from([0xe9, 0x0a]), Buffer.from("naïve ✓\n")]))
      yield* call("edit", { filePath: "latin", oldString: "naïve ✓", newString: "naïf ✗" })
      expect(fs.readFileSync(at("latin"))).toEqual(Buffer.concat([Buffer.from([0xe9, 0x0a]), Buffer.from("naïf ✗\n")]))
    }).pipe(Effect.provide(Workspace.layer)))

  it.effect("says why a text is not found", () =>
    Effect.gen(function*() {
      const { call } = yield* opened("a.ts", "if (a) {\n  b()\n}\n")
      const edit = (oldString: string) => Effect.flip(call("edit", { filePath: "a.ts", oldString, newString: "x" }))
      expect((yield* edit("\tb()\n\tc()")).message).toContain("Its first line is at line 2")
      expect((yield* edit("     2\t  b()")).message).toContain("line numbers of read")
      expect((yield* edit("nothing like it")).message).toContain("copy the text exactly")
      expect((yield* edit("")).kind).toBe("invalid_arguments")
      expect((yield* edit("x")).kind).toBe("invalid_arguments")
    }).pipe(Effect.provide(Workspace.layer)))

  it.effect("ends for a text of a megabyte, also for the worst, which takes hours in quadratic time (L13)", () =>
    Effect.gen(function*() {
      const { call, read } = yield* opened("a.txt", "a".repeat(4 * 1024 * 1024))
      const worst = `b${"a".repeat(1024 * 1024)}`
      expect((yield* Effect.flip(call("edit", { filePath: "a.txt", oldString: worst, newString: "" }))).kind).toBe(
        "no_match"
      )
      yield* call("edit", { filePath: "a.txt", oldString: "a".repeat(1024 * 1024), newString: "", replaceAll: true })
      expect(read("a.txt")).toBe("")
    }).pipe(Effect.provide(Workspace.layer)))
})
