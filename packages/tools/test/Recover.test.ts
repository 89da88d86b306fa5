import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import { Workspace } from "./workspace.ts"

const envelope = (...lines: ReadonlyArray<string>) => ["*** Begin Patch", ...lines, "*** End Patch"].join("\n")

const edit = (oldString: string, newString: string, replaceAll?: boolean) => ({
  filePath: "x",
  oldString,
  newString,
  ...(replaceAll === undefined ? {} : { replaceAll })
})

it.layer(Workspace.layer)("after a crash, write", (it) => {
  it.effect("is made again where there is no file", () =>
    Effect.gen(function*() {
      const { read, recover } = yield* Workspace
      expect(yield* recover("write", { filePath: "new/file", content: "mine" })).toBe("again")
      expect(read("new/file")).toBe("mine")
    }))

  it.effect("has its result where the file holds just that, and the session has seen it", () =>
    Effect.gen(function*() {
      const { call, read, recover, write } = yield* Workspace
      write("done", "mine")
      expect(yield* recover("write", { filePath: "done", content: "mine" })).toMatchObject({
        title: "done",
        output: expect.stringContaining("done was found to hold just that (4 bytes)"),
        metadata: { filePath: "done", done: "found", bytes: 4 }
      })
      yield* call("write", { filePath: "done", content: "more" })
      expect(read("done")).toBe("more")
    }))

  it.effect("does not touch a file that holds something else", () =>
    Effect.gen(function*() {
      const { call, read, recover, write } = yield* Workspace
      write("other", "theirs")
      yield* call("read", { filePath: "other" })
      const error = yield* Effect.flip(recover("write", { filePath: "other", content: "mine" }))
      expect(error).toMatchObject({
        kind: "interrupted",
        message: expect.stringContaining("Read it, and write it again")
      })
      expect(read("other")).toBe("theirs")
    }))
})

it.layer(Workspace.layer)("after a crash, edit", (it) => {
  const found = (text: string, input: ReturnType<typeof edit>) =>
    Effect.gen(function*() {
      const { read, recover, write } = yield* Workspace
      write("x", text)
      const end = yield* Effect.either(recover("edit", input))
      expect(read("x")).toBe(text)
      return end._tag === "Left" ? end.left : end.right
    })

  const done = (output: string) => ({ title: "x", output: expect.stringContaining(output) })

  const open = { kind: "interrupted", message: expect.stringContaining("The edit was not made") }

  const unknown = {
    kind: "interrupted",
    message: expect.stringContaining("Skein cannot tell whether the edit was made")
  }

  it.effect("has its result where the new text stands in the place of the old one", () =>
    Effect.gen(function*() {
      expect(yield* found("a\nnew\nb\n", edit("old", "new"))).toMatchObject({
        ...done("oldString is no longer in x, and newString is at line 2. Read the file"),
        metadata: { filePath: "x", replacements: 1, diff: "-old\n+new" }
      })
      expect(yield* found("a\nb\n", edit("old\n", ""))).toMatchObject(done("oldString is no longer in x. Read"))
    }))

  it.effect("is said not to be made where the old text still stands, and leaves the file", () =>
    Effect.gen(function*() {
      expect(yield* found("a\nold\nb\n", edit("old", "new"))).toMatchObject(open)
      expect(yield* found("old\nnew\n", edit("old", "new"))).toMatchObject(open)
      expect(yield* found("old\n", edit("old", ""))).toMatchObject(open)
    }))

  it.effect("is unknown where neither text is there, or no file", () =>
    Effect.gen(function*() {
      expect(yield* found("a\n", edit("old", "new"))).toMatchObject(unknown)
      const { at, recover } = yield* Workspace
      fs.rmSync(at("x"))
      expect(yield* Effect.flip(recover("edit", edit("old", "new")))).toMatchObject({
        ...unknown,
        message: expect.stringContaining("x no longer exists")
      })
    }))

  it.effect("knows a new text that has the old one in it, and an old one that has the new one", () =>
    Effect.gen(function*() {
      expect(yield* found("one()\ntwo()\n", edit("one()", "one()\ntwo()"))).toMatchObject(done("at line 1"))
      expect(yield* found("one()\n", edit("one()", "one()\ntwo()"))).toMatchObject(open)
      expect(yield* found("one()\ntwo()\n", edit("one()\ntwo()", "one()"))).toMatchObject(open)
      expect(yield* found("one()\n", edit("one()\ntwo()", "one()"))).toMatchObject(done("at line 1"))
    }))

  it.effect("looks at every place with replaceAll", () =>
    Effect.gen(function*() {
      expect(yield* found("f(f(f))\n", edit("f", "gf", true))).toMatchObject(open)
      expect(yield* found("gf(gf(f))\n", edit("f", "gf", true))).toMatchObject(open)
      expect(yield* found("gf(gf(gf))\n", edit("f", "gf", true))).toMatchObject({ metadata: { replacements: 3 } })
    }))

  it.effect("does not mind line ends, but where they are what was to be changed", () =>
    Effect.gen(function*() {
      expect(yield* found("a\r\nnew\r\nb\r\n", edit("a\nold\n", "a\nnew\n"))).toMatchObject(done("at line 1"))
      expect(yield* found("a\r\nold\r\nb\r\n", edit("a\nold\n", "a\nnew\n"))).toMatchObject(open)
      expect(yield* found("a\nb\n", edit("a\n", "a\r\n"))).toMatchObject(open)
      expect(yield* found("a\r\nb\n", edit("a\n", "a\r\n"))).toMatchObject(done("at line 1"))
    }))

  it.effect("of nothing, or to the same, is refused as ever", () =>
    Effect.gen(function*() {
      expect(yield* found("a\n", edit("", "new"))).toMatchObject({ kind: "invalid_arguments" })
      expect(yield* found("a\n", edit("a", "a"))).toMatchObject({ kind: "invalid_arguments" })
    }))
})

describe("after a crash", () => {
  const patchText = envelope("*** Update File: dir/x", "@@", "-a", "+b")
  const calls: ReadonlyArray<readonly [string, object]> = [
    ["write", { filePath: "dir/x", content: "b" }],
    ["edit", { filePath: "dir/x", oldString: "a", newString: "b" }],
    ["patch", { patchText }]
  ]
  it.effect.each(calls)(
    "%s takes away what it had written beside the file, and nothing of other calls",
    ([name, input]) =>
      Effect.gen(function*() {
        const { at, recover, write } = yield* Workspace
        write("dir/x", "a\n")
        write("dir/.skein-prt_test-1abc.tmp", "b")
        write("dir/.skein-prt_other-1abc.tmp", "b")
        yield* Effect.either(recover(name, input))
        expect(fs.readdirSync(at("dir"))).toEqual([".skein-prt_other-1abc.tmp", "x"])
      }).pipe(Effect.provide(Workspace.layer))
  )
})

describe("after a crash, patch", () => {
  const patchText = envelope(
    "*** Update File: a.ts",
    "@@",
    " one",
    "-two",
    "+2",
    "*** Add File: new.ts",
    "+new",
    "*** Update File: old.ts",
    "*** Move to: moved.ts",
    "@@",
    "-x",
    "+y",
    "*** Delete File: gone.ts"
  )

  const before = { "a.ts": "one\ntwo\n", "old.ts": "x\n", "gone.ts": "" }

  const after = { "a.ts": "one\n2\n", "new.ts": "new\n", "moved.ts": "y\n" }

  const put = (files: Readonly<Record<string, string>>) =>
    Effect.map(Workspace, ({ write }) => {
      for (const [name, text] of Object.entries(files)) write(name, text)
    })

  const holds = Effect.map(
    Workspace,
    ({ at, read }) => Object.fromEntries(fs.readdirSync(at(".")).map((name) => [name, read(name)]))
  )

  it.effect("is applied where nothing of it was", () =>
    Effect.gen(function*() {
      const { recover } = yield* Workspace
      yield* put(before)
      expect(yield* recover("patch", { patchText })).toBe("again")
      expect(yield* holds).toEqual(after)
    }).pipe(Effect.provide(Workspace.layer)))

  it.effect("has its result where all of it was, and the session has seen what is new", () =>
    Effect.gen(function*() {
      const { call, recover } = yield* Workspace
      yield* put(after)
      expect(yield* recover("patch", { patchText })).toEqual({
        title: "5 files",
        output:
          "Skein ended while this call was made. The patch was found applied:\nM a.ts\nA new.ts\nA moved.ts\nD old.ts\nD gone.ts",
        metadata: { files: ["M a.ts", "A new.ts", "A moved.ts", "D old.ts", "D gone.ts"] }
      })
      expect(yield* holds).toEqual(after)
      yield* call("write", { filePath: "new.ts", content: "more" })
    }).pipe(Effect.provide(Workspace.layer)))

  it.effect("says what is changed and what is not where a part of it was applied", () =>
    Effect.gen(function*() {
      const { recover } = yield* Workspace
      const half = { ...after, "old.ts": "x\n", "gone.ts": "" }
      yield* put(half)
      const error = yield* Effect.flip(recover("patch", { patchText }))
      expect(error).toMatchObject({
        kind: "interrupted",
        message: [
          "Skein ended while the patch was applied.",
          "These changes are made:",
          "M a.ts",
          "A new.ts",
          "These are not made:",
          "D gone.ts",
          "May or may not be changed:",
          "A moved.ts",
          "D old.ts",
          "Read the files, and patch what is missing."
        ].join("\n")
      })
      expect(yield* holds).toEqual(half)
    }).pipe(Effect.provide(Workspace.layer)))

  it.effect("does not know of files that fit neither before nor after", () =>
    Effect.gen(function*() {
      const { recover } = yield* Workspace
      yield* put({ "a.ts": "three\n", "new.ts": "other\n", "moved.ts": "other\n" })
      const { message } = yield* Effect.flip(recover("patch", { patchText }))
      expect(message).toContain("May or may not be changed:\nM a.ts\nA new.ts\nA moved.ts\nD old.ts\n")
    }).pipe(Effect.provide(Workspace.layer)))

  const state = (text: string, ...lines: ReadonlyArray<string>) =>
    Effect.gen(function*() {
      const { recover, write } = yield* Workspace
      write("x", text)
      const end = yield* Effect.either(recover("patch", { patchText: lines.join("\n") }))
      return end._tag === "Left" ? end.left.kind : end.right === "again" ? "open" : "made"
    }).pipe(Effect.provide(Workspace.layer))

  it.effect("knows lines that are only added, or only removed", () =>
    Effect.gen(function*() {
      const adds = ["--- a/x", "+++ b/x", "@@ -1,1 +1,2 @@", " a", "+b"]
      expect(yield* state("a\n", ...adds)).toBe("open")
      expect(yield* state("a\nb\n", ...adds)).toBe("made")
      const removes = ["--- a/x", "+++ b/x", "@@ -1,2 +1,1 @@", " a", "-b"]
      expect(yield* state("a\nb\n", ...removes)).toBe("open")
      expect(yield* state("a\n", ...removes)).toBe("made")
      const bare = ["--- a/x", "+++ b/x", "@@ -2 +1,0 @@", "-b", "@@ -3,0 +3 @@", "+d"]
      expect(yield* state("a\nb\nc\n", ...bare)).toBe("open")
      expect(yield* state("a\nc\nd\n", ...bare)).toBe("made")
      const close = ["--- a/x", "+++ b/x", "@@ -1 +0,0 @@", "-b", "@@ -2 +1 @@", "-c", "+d"]
      expect(yield* state("d\n", ...close)).toBe("made")
    }))

  it.effect("knows a change of white space alone, and line ends of Windows", () =>
    Effect.gen(function*() {
      const indents = ["--- a/x", "+++ b/x", "@@ -1,1 +1,1 @@", "-a", "+  a"]
      expect(yield* state("a\n", ...indents)).toBe("open")
      expect(yield* state("  a\n", ...indents)).toBe("made")
      const changes = ["--- a/x", "+++ b/x", "@@ -1,2 +1,2 @@", " a", "-b", "+c"]
      expect(yield* state("a\r\nb\r\n", ...changes)).toBe("open")
      expect(yield* state("a\r\nc\r\n", ...changes)).toBe("made")
      const ends = ["--- a/x", "+++ b/x", "@@ -1,1 +1,1 @@", "-a", "+b", "\\ No newline at end of file"]
      expect(yield* state("a\n", ...ends)).toBe("open")
      expect(yield* state("b", ...ends)).toBe("made")
    }))
})
