/** Proves that no tool overwrites what a person has not saved, however the editor behaves. */
import { describe, expect, it } from "@effect/vitest"
import type { SessionID } from "@skein/domain/Id"
import type { EditorFailure, EditorOf } from "@skein/tools/EditorFiles"
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import { sessionID, Workspace } from "./workspace.ts"

const failed = (reason: EditorFailure["reason"]): Effect.Effect<never, EditorFailure> =>
  Effect.fail({ _tag: "EditorFailure", reason, message: `It is ${reason}.` })

/** How an editor of a test behaves where it differs from a good one. */
interface Behaviour {
  readonly read?: (path: string) => Effect.Effect<string, EditorFailure>
  readonly write?: EditorOf["write"]
}

/** A good editor: it has texts by path, and saves what it is given. */
const world = (
  texts: Readonly<Record<string, string>>,
  behaviour: (all: Map<string, string>) => Behaviour = () => ({})
) => {
  const editors = new Map<SessionID, EditorOf>()
  const buffers = new Map<string, string>()
  const asked: Array<string> = []
  const place = Effect.map(Workspace, (workspace) => {
    for (const [path, text] of Object.entries(texts)) buffers.set(workspace.at(path), text)
    const special = behaviour(buffers)
    editors.set(sessionID, {
      directory: workspace.repo,
      read: (path) => {
        asked.push(path)
        const text = buffers.get(path)
        return special.read?.(path) ?? (text === undefined ? failed("refused") : Effect.succeed(text))
      },
      write: "write" in special ? special.write : (path, text) =>
        Effect.sync(() => {
          buffers.set(path, text)
          fs.writeFileSync(path, text)
        })
    })
    return { ...workspace, buffers, asked, buffer: (path: string) => buffers.get(workspace.at(path)) }
  })
  return { place, layer: Workspace.layerWith({ editors }) }
}

const edit = { filePath: "a.ts", oldString: "two", newString: "2" }

describe("a file with unsaved text", () => {
  const { layer, place } = world({ "a.ts": "one\ntwo, typed\n" })
  it.effect("is read as the editor has it, and the model is told", () =>
    Effect.gen(function*() {
      const { call, write } = yield* place
      write("a.ts", "one\ntwo\n")
      const { output } = yield* call("read", { filePath: "a.ts" })
      expect(output).toContain("two, typed")
      expect(output).toContain("unsaved text from the editor")
    }).pipe(Effect.provide(layer)))

  it.effect.each(["edit", "write", "patch"])("is changed through the editor, which saves it, by %s", (tool) => {
    const { layer, place } = world({ "a.ts": "one\ntwo, typed\n" })
    const inputs = {
      edit,
      write: { filePath: "a.ts", content: "one\n2, typed\n" },
      patch: { patchText: "--- a/a.ts\n+++ b/a.ts\n@@ -1,2 +1,2 @@\n one\n-two, typed\n+2, typed\n" }
    }
    return Effect.gen(function*() {
      const { buffer, call, read, write } = yield* place
      write("a.ts", "one\ntwo\n")
      yield* call("read", { filePath: "a.ts" })
      yield* call(tool, inputs[tool as keyof typeof inputs])
      expect(buffer("a.ts")).toBe("one\n2, typed\n")
      expect(read("a.ts")).toBe("one\n2, typed\n")
      // What the session wrote, it has seen.
      yield* call("edit", { filePath: "a.ts", oldString: "typed", newString: "done" })
      expect(read("a.ts")).toBe("one\n2, done\n")
    }).pipe(Effect.provide(layer))
  })

  it.effect("is not changed if it was typed in after it was read", () => {
    const { layer, place } = world({ "a.ts": "one\ntwo\n" })
    return Effect.gen(function*() {
      const { at, buffer, buffers, call, read, write } = yield* place
      write("a.ts", "one\ntwo\n")
      yield* call("read", { filePath: "a.ts" })
      buffers.set(at("a.ts"), "one\ntwo and more\n")
      expect(yield* Effect.flip(call("edit", edit))).toMatchObject({ kind: "stale" })
      expect(yield* Effect.flip(call("write", { filePath: "a.ts", content: "all new" }))).toMatchObject({
        kind: "stale"
      })
      expect(buffer("a.ts")).toBe("one\ntwo and more\n")
      expect(read("a.ts")).toBe("one\ntwo\n")
    }).pipe(Effect.provide(layer))
  })

  it.effect("is not changed if it is typed in between the check and the change", () => {
    let reads = 0
    const { layer, place } = world({}, () => ({
      // The first one is that of `read`, the second one the check.
      read: () => Effect.sync(() => `one\ntwo, typed${++reads > 2 ? " more" : ""}\n`),
      write: () => Effect.dieMessage("must not be written")
    }))
    return Effect.gen(function*() {
      const { call, write } = yield* place
      write("a.ts", "one\ntwo\n")
      yield* call("read", { filePath: "a.ts" })
      expect(yield* Effect.flip(call("edit", edit))).toMatchObject({
        kind: "stale",
        message: expect.stringContaining("just now")
      })
    }).pipe(Effect.provide(layer))
  })

  it.effect("is neither removed nor moved, and the rest of the patch is not done either", () => {
    const { layer, place } = world({ "a.ts": "typed\n" })
    return Effect.gen(function*() {
      const { at, call, read, write } = yield* place
      write("a.ts", "one\n")
      const patchText = "*** Begin Patch\n*** Add File: b.ts\n+new\n*** Delete File: a.ts\n*** End Patch"
      expect(yield* Effect.flip(call("patch", { patchText }))).toMatchObject({ kind: "unsaved" })
      expect(read("a.ts")).toBe("one\n")
      expect(fs.existsSync(at("b.ts"))).toBe(false)
    }).pipe(Effect.provide(layer))
  })

  it.effect("is left to the user if the editor lets nobody else write", () => {
    const { layer, place } = world({ "a.ts": "two, typed\n" }, () => ({ write: undefined }))
    return Effect.gen(function*() {
      const { call, read, write } = yield* place
      write("a.ts", "one\n")
      yield* call("read", { filePath: "a.ts" })
      expect(yield* Effect.flip(call("edit", edit))).toMatchObject({ kind: "unsaved" })
      expect(read("a.ts")).toBe("one\n")
    }).pipe(Effect.provide(layer))
  })

  it.effect("that does not exist on disk is read, and is not overwritten unread", () => {
    const { layer, place } = world({ "new.ts": "typed\n" })
    return Effect.gen(function*() {
      const { call } = yield* place
      expect(yield* Effect.flip(call("write", { filePath: "new.ts", content: "x" }))).toMatchObject({ kind: "unread" })
      expect((yield* call("read", { filePath: "new.ts" })).output).toContain("typed")
    }).pipe(Effect.provide(layer))
  })
})

describe("a file that the editor has as it is on disk", () => {
  it.effect.each(["a\r\nb\r\n", "\uFEFFa\nb\n", "a\nb\n"])(
    "is written by Skein itself, byte for byte: %j",
    (disk) => {
      const { layer, place } = world(
        { "a.ts": "a\nb\n" },
        () => ({ write: () => Effect.dieMessage("must not be written") })
      )
      return Effect.gen(function*() {
        const { call, read, write } = yield* place
        write("a.ts", disk)
        yield* call("read", { filePath: "a.ts" })
        yield* call("edit", { filePath: "a.ts", oldString: "b", newString: "c" })
        expect(read("a.ts")).toBe(disk.replace("b", "c"))
      }).pipe(Effect.provide(layer))
    }
  )

  it.effect("may be empty there and missing here: it is new", () => {
    const { layer, place } = world({ "new.ts": "" })
    return Effect.gen(function*() {
      const { call, read } = yield* place
      expect((yield* call("write", { filePath: "new.ts", content: "x" })).output).toContain("Created")
      expect(read("new.ts")).toBe("x")
    }).pipe(Effect.provide(layer))
  })
})

describe("an editor", () => {
  it.effect.each(["refused", "gone"] as const)("that is %s leaves the file to the disk", (reason) => {
    const { layer, place } = world({}, () => ({ read: () => failed(reason) }))
    return Effect.gen(function*() {
      const { call, read, write } = yield* place
      write("a.ts", "two\n")
      expect((yield* call("read", { filePath: "a.ts" })).output).toBe("     1\ttwo")
      yield* call("edit", edit)
      expect(read("a.ts")).toBe("2\n")
    }).pipe(Effect.provide(layer))
  })

  it.effect("that does not answer lets files be read, but not be changed", () => {
    const { layer, place } = world({}, () => ({ read: () => failed("silent") }))
    return Effect.gen(function*() {
      const { call, read, write } = yield* place
      write("a.ts", "two\n")
      expect((yield* call("read", { filePath: "a.ts" })).output).toContain("This is the file on disk")
      const error = yield* Effect.flip(call("edit", edit))
      expect(error).toMatchObject({
        kind: "editor",
        message: expect.stringContaining("Nothing was changed. Try again.")
      })
      expect(read("a.ts")).toBe("two\n")
    }).pipe(Effect.provide(layer))
  })

  it.effect.each(["refused", "silent", "gone"] as const)("that is %s while it writes fails the call", (reason) => {
    const { layer, place } = world({ "a.ts": "two, typed\n" }, () => ({ write: () => failed(reason) }))
    return Effect.gen(function*() {
      const { buffer, call, write } = yield* place
      write("a.ts", "two\n")
      yield* call("read", { filePath: "a.ts" })
      const { kind, message } = yield* Effect.flip(call("edit", edit))
      expect(kind).toBe("editor")
      expect(message).toContain(reason === "refused" ? "was not written" : "Skein cannot tell whether")
      expect(buffer("a.ts")).toBe("two, typed\n")
    }).pipe(Effect.provide(layer))
  })

  it.effect("that lies about having written is found out, and the other files of the patch are put back", () => {
    const { layer, place } = world({ "a.ts": "two, typed\n" }, () => ({ write: () => Effect.void }))
    return Effect.gen(function*() {
      const { call, read, write } = yield* place
      write("a.ts", "two\n")
      write("b.ts", "b\n")
      yield* call("read", { filePath: "a.ts" })
      const patchText =
        "*** Begin Patch\n*** Update File: a.ts\n@@\n-two, typed\n+2\n*** Update File: b.ts\n@@\n-b\n+c\n*** End Patch"
      expect((yield* Effect.flip(call("patch", { patchText }))).message).toContain("still shows the old text")
      expect(read("b.ts")).toBe("b\n")
    }).pipe(Effect.provide(layer))
  })

  it.effect("that formats as it saves makes the session read the file again", () => {
    const { layer, place } = world({ "a.ts": "two, typed\n" }, (buffers) => ({
      write: (path, text) => Effect.sync(() => void buffers.set(path, `${text}// formatted\n`))
    }))
    return Effect.gen(function*() {
      const { call, write } = yield* place
      write("a.ts", "two\n")
      yield* call("read", { filePath: "a.ts" })
      expect((yield* call("edit", edit)).output).toContain("changed the text of a.ts as it saved it")
      const again = { filePath: "a.ts", oldString: "typed", newString: "done" }
      expect(yield* Effect.flip(call("edit", again))).toMatchObject({ kind: "unread" })
    }).pipe(Effect.provide(layer))
  })

  it.effect("that does not save says nothing about the disk: the model is told", () => {
    const { layer, place } = world({ "a.ts": "two, typed\n" }, (buffers) => ({
      write: (path, text) => Effect.sync(() => void buffers.set(path, text))
    }))
    return Effect.gen(function*() {
      const { call, read, write } = yield* place
      write("a.ts", "two\n")
      yield* call("read", { filePath: "a.ts" })
      expect((yield* call("edit", edit)).output).toContain("not saved yet: commands still see the saved file")
      expect(read("a.ts")).toBe("two\n")
      yield* call("edit", { filePath: "a.ts", oldString: "typed", newString: "done" })
    }).pipe(Effect.provide(layer))
  })

  it.effect("is not asked about files outside of its directory, images, or bytes that are no text", () => {
    const { layer, place } = world({})
    return Effect.gen(function*() {
      const { asked, at, call, write } = yield* place
      write("../outside.ts", "x\n")
      write("image.png", Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]))
      write("latin.txt", Buffer.from([0x61, 0xe9, 0x0a]))
      fs.symlinkSync(at("../outside.ts"), at("link.ts"))
      for (const filePath of ["../outside.ts", "image.png", "latin.txt", "link.ts"]) yield* call("read", { filePath })
      expect(asked).toEqual([])
    }).pipe(Effect.provide(layer))
  })

  it.effect("is asked for the subagents of its session, and for no other tree", () => {
    const { layer, place } = world({ "a.ts": "typed\n" })
    return Effect.gen(function*() {
      const { call, write } = yield* place
      write("a.ts", "saved\n")
      const child = { sessionID: "ses_child" as SessionID }
      expect((yield* call("read", { filePath: "a.ts" }, child)).output).toContain("typed")
      const other = { sessionID: "ses_other" as SessionID, rootID: "ses_other" as SessionID }
      expect((yield* call("read", { filePath: "a.ts" }, other)).output).toContain("saved")
    }).pipe(Effect.provide(layer))
  })
})
