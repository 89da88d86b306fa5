import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { execFileSync } from "node:child_process"
import { Workspace } from "./workspace.ts"

const lines = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => `line ${from + index}`)

describe("read", () => {
  it.effect("numbers the lines of a file", () =>
    Effect.gen(function*() {
      const { asks, call, write } = yield* Workspace
      write("src/a.ts", "one\r\ntwo\n\nfour\n")
      const result = yield* call("read", { filePath: "src/a.ts" })
      expect(result.output).toBe("     1\tone\n     2\ttwo\n     3\t\n     4\tfour")
      expect(result.title).toBe("src/a.ts")
      expect(yield* asks("read", { filePath: "./src/../src/a.ts" })).toEqual([
        { permission: "read", patterns: ["src/a.ts"], always: ["src/a.ts"], metadata: { filePath: "src/a.ts" } }
      ])
    }).pipe(Effect.provide(Workspace.layer)))

  it.effect("shows a window, and says how to read on", () =>
    Effect.gen(function*() {
      const { call, write } = yield* Workspace
      write("long.txt", lines(1, 5_000).join("\n") + "\n")
      const window = yield* call("read", { filePath: "long.txt", offset: 10, limit: 2 })
      expect(window.output).toBe(
        "    10\tline 10\n    11\tline 11\n\n(Lines 10 to 11 of 5000. To read on, give offset 12.)"
      )
      const all = yield* call("read", { filePath: "long.txt" })
      const shown = all.output.split("\n")
      expect(shown.length).toBeLessThanOrEqual(2_000)
      expect(shown.at(-1)).toBe("(Lines 1 to 1995 of 5000. To read on, give offset 1996.)")
      const error = yield* Effect.flip(call("read", { filePath: "long.txt", offset: 5_001 }))
      expect(error.message).toContain("has 5000 lines")
    }).pipe(Effect.provide(Workspace.layer)))

  it.effect("reads a file that is too large to hold in pieces, and finds the same", () =>
    Effect.gen(function*() {
      const { call, write } = yield* Workspace
      const filler = `${"é".repeat(60)}\n`
      write("large.txt", filler.repeat(100_000) + "the end")
      const { output } = yield* call("read", { filePath: "large.txt", offset: 100_000, limit: 5 })
      expect(output).toBe(`100000\t${filler.trim()}\n100001\tthe end\n\n(Lines 100000 to 100001 of 100001.)`)
    }).pipe(Effect.provide(Workspace.layer)))

  it.effect("keeps within the bound of what a model is shown", () =>
    Effect.gen(function*() {
      const { call, write } = yield* Workspace
      write("wide.txt", `${"x".repeat(5_000)}\n`.repeat(100))
      const { output } = yield* call("read", { filePath: "wide.txt" })
      expect(Buffer.byteLength(output)).toBeLessThanOrEqual(50 * 1024)
      expect(output).toContain("… [cut: the line has 5000 characters]")
      expect(output).toMatch(/To read on, give offset \d+/)
    }).pipe(Effect.provide(Workspace.layer)))

  it.effect("cuts a single line of a megabyte", () =>
    Effect.gen(function*() {
      const { call, write } = yield* Workspace
      write("one.js", "y".repeat(9 * 1024 * 1024))
      const { output } = yield* call("read", { filePath: "one.js" })
      expect(output).toContain(`… [cut: the line has ${9 * 1024 * 1024} characters]`)
      expect(output.length).toBeLessThan(3_000)
    }).pipe(Effect.provide(Workspace.layer)))

  it.effect("never cuts a character in half", () =>
    Effect.gen(function*() {
      const { call, write } = yield* Workspace
      write("emoji.txt", "x" + "😀".repeat(2_000))
      const { output } = yield* call("read", { filePath: "emoji.txt" })
      expect(output.isWellFormed()).toBe(true)
    }).pipe(Effect.provide(Workspace.layer)))

  it.effect("lists a directory", () =>
    Effect.gen(function*() {
      const { call, write } = yield* Workspace
      write("d/z/x.ts", "")
      write("d/b.ts", "")
      write("d/a.ts", "")
      const { output } = yield* call("read", { filePath: "d" })
      expect(output).toBe("     1\tz/\n     2\ta.ts\n     3\tb.ts\n\n(d is a directory with 3 entries.)")
    }).pipe(Effect.provide(Workspace.layer)))

  it.effect("attaches an image, and refuses what is no text", () =>
    Effect.gen(function*() {
      const { call, write } = yield* Workspace
      const png = Buffer.from(
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==",
        "base64"
      )
      write("dot.txt", png)
      expect((yield* call("read", { filePath: "dot.txt" })).attachments).toEqual([
        { mime: "image/png", filename: "dot.txt", url: `data:image/png;base64,${png.toString("base64")}` }
      ])
      write("a.out", Buffer.from([0x7f, 0x45, 0x4c, 0x46, 0, 0, 1]))
      expect((yield* Effect.flip(call("read", { filePath: "a.out" }))).kind).toBe("binary")
    }).pipe(Effect.provide(Workspace.layer)))

  it.effect("says where bytes are no UTF-8, and that a file is empty", () =>
    Effect.gen(function*() {
      const { call, write } = yield* Workspace
      write("latin.txt", Buffer.from([0x63, 0x61, 0x66, 0xe9, 0x0a]))
      expect((yield* call("read", { filePath: "latin.txt" })).output).toBe(
        "     1\tcaf\uFFFD\n\n(The file is not valid UTF-8: what could not be read is shown as \uFFFD.)"
      )
      write("honest.txt", "\uFFFD\n")
      expect((yield* call("read", { filePath: "honest.txt" })).output).toBe("     1\t\uFFFD")
      write("empty.txt", "")
      expect((yield* call("read", { filePath: "empty.txt" })).output).toBe("(The file is empty.)")
    }).pipe(Effect.provide(Workspace.layer)))

  it.effect("says what does not exist, and what is like it", () =>
    Effect.gen(function*() {
      const { call, write } = yield* Workspace
      write("src/Session.ts", "")
      const error = yield* Effect.flip(call("read", { filePath: "src/session.ts" }))
      expect(error).toMatchObject({
        kind: "not_found",
        message: "src/session.ts does not exist. Similar names in its directory: Session.ts."
      })
    }).pipe(Effect.provide(Workspace.layer)))

  it.effect("names no files whose names are unlike the one that does not exist", () =>
    Effect.gen(function*() {
      const { call, write } = yield* Workspace
      for (const path of [".env", ".git/config", ".skein/x", "guide.md", "other.txt"]) write(path, "")
      for (const filePath of ["missing.txt", ".npmrc"]) {
        expect(yield* Effect.flip(call("read", { filePath }))).toMatchObject({ message: `${filePath} does not exist.` })
      }
    }).pipe(Effect.provide(Workspace.layer)))

  it.effect("refuses what is neither file nor directory, without waiting for it", () =>
    Effect.gen(function*() {
      const { at, call } = yield* Workspace
      execFileSync("mkfifo", [at("pipe")])
      for (const [filePath, what] of [["/dev/zero", "device"], ["pipe", "pipe"]]) {
        const error = yield* Effect.flip(call("read", { filePath }))
        expect(error).toMatchObject({ kind: "not_a_file", message: expect.stringContaining(`is a ${what}`) })
      }
    }).pipe(Effect.provide(Workspace.layer)))

  it.effect("reads files that do not tell their size", () =>
    Effect.gen(function*() {
      const { call } = yield* Workspace
      expect((yield* call("read", { filePath: "/proc/self/status" })).output).toMatch(/^ {5}1\tName:/)
    }).pipe(Effect.provide(Workspace.layer)))
})
