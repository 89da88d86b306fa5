import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import { Workspace } from "./workspace.ts"

const envelope = (...lines: ReadonlyArray<string>) => ["*** Begin Patch", ...lines, "*** End Patch"].join("\n")

describe("patch", () => {
  it.effect("adds, changes, moves and removes files (apply_patch)", () =>
    Effect.gen(function*() {
      const { at, call, read, write } = yield* Workspace
      write("a.ts", "function one() {\n  return 1\n}\n\nfunction two() {\n  return 1\n}\n")
      write("old.ts", "x\n")
      write("gone.ts", "y\n")
      const result = yield* call("patch", {
        patchText: envelope(
          "*** Update File: a.ts",
          "@@ function two() {",
          "-  return 1",
          "+  return 2",
          "*** Add File: dir/new.ts",
          "+first",
          "+second",
          "*** Update File: old.ts",
          "*** Move to: moved/old.ts",
          "@@",
          "-x",
          "+z",
          "*** Delete File: gone.ts"
        )
      })
      expect(read("a.ts")).toBe("function one() {\n  return 1\n}\n\nfunction two() {\n  return 2\n}\n")
      expect(read("dir/new.ts")).toBe("first\nsecond\n")
      expect(read("moved/old.ts")).toBe("z\n")
      expect(fs.readdirSync(at(".")).toSorted()).toEqual(["a.ts", "dir", "moved"])
      expect(result.output).toBe("The patch was applied:\nM a.ts\nA dir/new.ts\nA moved/old.ts\nD old.ts\nD gone.ts")
      // To move a file shows what is in it, and so does a part that fits or does not.
      expect(result.asks).toMatchObject([
        { permission: "read", patterns: ["a.ts", "old.ts", "gone.ts"] },
        {
          permission: "edit",
          patterns: ["a.ts", "dir/new.ts", "old.ts", "moved/old.ts", "gone.ts"],
          always: ["a.ts", "dir/**", "old.ts", "moved/**", "gone.ts"]
        }
      ])
    }).pipe(Effect.provide(Workspace.layer)))

  it.effect("refuses to change more than 500 files, before it looks at them", () =>
    Effect.gen(function*() {
      const { asks } = yield* Workspace
      const sections = (count: number) =>
        envelope(...Array.from({ length: count }, (_, index) => [`*** Add File: f${index}`, "+x"]).flat())
      const renames = Array.from({ length: 20_000 }, (_, index) => `rename from f${index}\nrename to g${index}`).join(
        "\n"
      )
      for (const patchText of [sections(20_000), sections(501), renames]) {
        expect(yield* Effect.flip(asks("patch", { patchText }))).toMatchObject({
          kind: "too_large",
          message: expect.stringMatching(
            /^The patch has (?:20000|501) files; the limit is 500\. Split it, or use bash\.$/
          )
        })
      }
      expect(yield* asks("patch", { patchText: sections(500) })).toMatchObject([{ permission: "edit" }])
    }).pipe(Effect.provide(Workspace.layer)))

  it.effect("takes what git and diff write", () =>
    Effect.gen(function*() {
      const { at, call, read, write } = yield* Workspace
      const numbers = Array.from({ length: 30 }, (_, index) => `${index + 1}`)
      write("n.txt", numbers.join("\n") + "\n")
      write("tail.txt", "a\nb")
      write("from.txt", "same\n")
      write("plain.txt", "p\n")
      write("rm.txt", "bye\n")
      yield* call("patch", {
        patchText: `diff --git a/n.txt b/n.txt
index 1..2 100644
--- a/n.txt
+++ b/n.txt
@@ -1,3 +1,4 @@
+0
 1
 2
 3
@@ -19,4 +20,3 @@ some function
 19
-20
 21
 22
diff --git a/tail.txt b/tail.txt
--- a/tail.txt
+++ b/tail.txt
@@ -1,2 +1,3 @@
 a
-b
\\ No newline at end of file
+b
+c
diff --git a/from.txt b/to.txt
similarity index 100%
rename from from.txt
rename to to.txt
diff --git a/new.txt b/new.txt
new file mode 100644
--- /dev/null
+++ b/new.txt
@@ -0,0 +1 @@
+new
\\ No newline at end of file
--- plain.txt\t2026-01-01 00:00:00
+++ plain.txt\t2026-01-02 00:00:00
@@ -1 +1 @@
-p
+q
--- a/rm.txt
+++ /dev/null
@@ -1 +0,0 @@
-bye
`
      })
      expect(read("n.txt")).toBe(["0", ...numbers.filter((each) => each !== "20")].join("\n") + "\n")
      expect(read("tail.txt")).toBe("a\nb\nc\n")
      expect(read("to.txt")).toBe("same\n")
      expect(read("new.txt")).toBe("new")
      expect(read("plain.txt")).toBe("q\n")
      expect(fs.readdirSync(at(".")).toSorted()).toEqual(["n.txt", "new.txt", "plain.txt", "tail.txt", "to.txt"])
    }).pipe(Effect.provide(Workspace.layer)))

  it.effect("bears the slips of models: wrong counts and places, fences, empty lines without their space", () =>
    Effect.gen(function*() {
      const { call, read, write } = yield* Workspace
      write("a.py", "import os\n\ndef f():\n    return 1   \n\ndef g():\n    return 1\n")
      write("b.py", "b\n")
      yield* call("patch", {
        patchText:
          "```diff\n--- a/a.py\n+++ b/a.py\n@@ -40,9 +40,9 @@\n import os\n\n def f():\n-    return 1\n+    return 2\n\n--- a/b.py\n+++ b/b.py\n@@ -1 +1 @@\n-b\n+c\n```"
      })
      expect(read("a.py")).toBe("import os\n\ndef f():\n    return 2\n\ndef g():\n    return 1\n")
      expect(read("b.py")).toBe("c\n")
    }).pipe(Effect.provide(Workspace.layer)))

  it.effect("keeps line ends, and lines that it does not change", () =>
    Effect.gen(function*() {
      const { call, read, write } = yield* Workspace
      write("dos.txt", "one\r\ntwo  \r\nthree\r\n")
      yield* call("patch", { patchText: envelope("*** Update File: dos.txt", "@@", " two", "-three", "+3", "+4") })
      expect(read("dos.txt")).toBe("one\r\ntwo  \r\n3\r\n4\r\n")
    }).pipe(Effect.provide(Workspace.layer)))

  it.effect("takes lines that differ in the white space at their end before those that differ in their indentation", () =>
    Effect.gen(function*() {
      const { call, read, write } = yield* Workspace
      write("a.py", "  pass\npass  \n")
      yield* call("patch", { patchText: envelope("*** Update File: a.py", "@@", "-pass", "+return") })
      expect(read("a.py")).toBe("  pass\nreturn\n")
    }).pipe(Effect.provide(Workspace.layer)))

  it.effect("does nothing at all where one part does not fit", () =>
    Effect.gen(function*() {
      const { at, call, read, write } = yield* Workspace
      write("a.ts", "a\n")
      write("b.ts", "b\n")
      const error = yield* Effect.flip(call("patch", {
        patchText: envelope(
          "*** Update File: a.ts",
          "@@",
          "-a",
          "+x",
          "*** Add File: c.ts",
          "+c",
          "*** Update File: b.ts",
          "@@",
          "-nope",
          "+y"
        )
      }))
      expect(error).toMatchObject({
        kind: "no_match",
        message: expect.stringMatching(/Change 1 of b\.ts does not fit.*\nnope/)
      })
      expect([read("a.ts"), read("b.ts"), fs.readdirSync(at(".")).toSorted()]).toEqual(["a\n", "b\n", ["a.ts", "b.ts"]])
    }).pipe(Effect.provide(Workspace.layer)))

  it.effect("refuses what cannot be meant, in words", () =>
    Effect.gen(function*() {
      const { call, write } = yield* Workspace
      write("a.ts", "a\n")
      const refused: ReadonlyArray<readonly [patch: string, kind: string, words: string]> = [
        ["hello", "malformed_patch", "no file is named"],
        [envelope("*** Update File: a.ts", "@@", "a"), "malformed_patch", "line 4"],
        [envelope("*** Update File: a.ts"), "malformed_patch", "nothing is changed in a.ts"],
        [envelope("*** Add File: n.ts", "no plus"), "malformed_patch", "line 3"],
        [envelope("*** Frobnicate: n.ts"), "malformed_patch", "is expected here"],
        [envelope("*** Add File: a.ts", "+x"), "exists", "a.ts exists already"],
        [envelope("*** Delete File: none.ts"), "not_found", "none.ts does not exist"],
        [
          envelope("*** Update File: a.ts", "*** Move to: a.ts2", "*** Update File: a.ts", "@@", "-a"),
          "malformed_patch",
          "twice"
        ],
        ["--- a/a.ts\n+++ b/a.ts\nno hunk", "malformed_patch", "no hunk follows"],
        ["@@ -1 +1 @@\n-a\n+b", "malformed_patch", "without --- and +++"],
        ["diff --git a/x b/x\nGIT binary patch\n", "malformed_patch", "binary"]
      ]
      for (const [patchText, kind, words] of refused) {
        const error = yield* Effect.flip(call("patch", { patchText }))
        expect(error, patchText).toMatchObject({ kind, message: expect.stringContaining(words) })
      }
    }).pipe(Effect.provide(Workspace.layer)))

  it.effect("does not change what has changed since the session read it", () =>
    Effect.gen(function*() {
      const { call, write } = yield* Workspace
      write("a.ts", "a\n")
      yield* call("read", { filePath: "a.ts" })
      write("a.ts", "a\nb\n")
      const error = yield* Effect.flip(
        call("patch", { patchText: envelope("*** Update File: a.ts", "@@", "-a", "+x") })
      )
      expect(error.kind).toBe("stale")
    }).pipe(Effect.provide(Workspace.layer)))
})
