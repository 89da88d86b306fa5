import { describe, expect, it, vi } from "@effect/vitest"
import * as Workspace from "@skein/testing/Workspace"
import * as Effect from "effect/Effect"
import { existsSync, lstatSync, readlinkSync, realpathSync, writeFileSync } from "node:fs"

describe("a workspace", () => {
  it.scoped("contains the given files, and is removed with the scope", () =>
    Effect.gen(function*() {
      const directory = yield* Effect.scoped(Effect.gen(function*() {
        const place = yield* Workspace.make({
          "a.txt": "a\n",
          "src/deep/b.bin": new Uint8Array([0, 255]),
          "run.sh": { content: "#!/bin/sh\n", executable: true },
          "plain.sh": { content: "x" },
          link: { link: "src/deep" },
          "empty/": ""
        })
        expect(realpathSync(place.directory)).toBe(place.directory)
        expect(yield* place.read("a.txt")).toBe("a\n")
        expect([...(yield* place.bytes("link/b.bin"))]).toEqual([0, 255])
        expect(readlinkSync(place.at("link"))).toBe("src/deep")
        const mode = (path: string) => lstatSync(place.at(path)).mode & 0o111
        expect([mode("run.sh"), mode("plain.sh"), mode("a.txt")]).toEqual([0o111, 0, 0])
        expect(lstatSync(place.at("empty")).isDirectory()).toBe(true)
        expect(yield* place.changes).toEqual([])
        const other = yield* Workspace.make()
        expect(other.directory).not.toBe(place.directory)
        return place.directory
      }))
      expect(existsSync(directory)).toBe(false)
    }))

  it.scoped("reports changes of file contents and kinds", () =>
    Effect.gen(function*() {
      const place = yield* Workspace.make({
        "same.txt": "same",
        "edited.txt": "before",
        "gone/a.txt": "a",
        "script.sh": "x",
        link: { link: "same.txt" },
        "turned.txt": "x"
      })
      yield* place.write({
        "same.txt": "same",
        "new/b.txt": "b",
        "script.sh": { content: "x", executable: true },
        link: { link: "edited.txt" },
        "turned.txt": { link: "same.txt" }
      })
      writeFileSync(place.at("edited.txt"), "after.")
      yield* place.remove("gone")
      yield* place.remove("never/there")
      expect(yield* place.changes).toEqual([
        { path: "edited.txt", change: "changed" },
        { path: "gone/a.txt", change: "removed" },
        { path: "link", change: "changed" },
        { path: "new/b.txt", change: "added" },
        { path: "script.sh", change: "changed" },
        { path: "turned.txt", change: "changed" }
      ])
      // An overwritten link no longer leads to its target.
      yield* place.write({ "turned.txt": "mine" })
      expect(yield* place.read("same.txt")).toBe("same")
    }))

  it.scoped("is a repository on request, identical each time, and independent of the machine", () =>
    Effect.gen(function*() {
      // As in a git hook, where git would change another repository.
      vi.stubEnv("GIT_DIR", "/nowhere/.git")
      yield* Effect.addFinalizer(() => Effect.sync(() => vi.unstubAllEnvs()))
      const files = { "a.txt": "a\n", "skipped.log": "x", ".gitignore": "*.log\n" }
      const one = yield* Workspace.make(files, { git: true })
      const two = yield* Workspace.make(files, { git: true })
      const head = yield* one.git("rev-parse", "HEAD")
      expect(yield* two.git("rev-parse", "HEAD")).toBe(head)
      expect(yield* one.git("status", "--porcelain", "--branch")).toBe("## main")
      expect(yield* one.git("ls-files")).toBe(".gitignore\na.txt")
      expect(yield* one.git("log", "--format=%an %s")).toBe("Somebody First")
      yield* one.write({ "a.txt": "b\n" })
      yield* one.git("commit", "-qam", "Second")
      expect(yield* one.changes).toEqual([{ path: "a.txt", change: "changed" }])
      expect(yield* (yield* Workspace.make({}, { git: true })).git("rev-list", "--count", "HEAD")).toBe("1")
    }))

  it.scoped("reports what could not be done, and where", () =>
    Effect.gen(function*() {
      const place = yield* Workspace.make({ "a/b.txt": "b" })
      const { directory } = place
      const messages = yield* Effect.forEach([
        place.read("none.txt"),
        place.read("../etc/passwd"),
        place.write({ "/etc/skein": "x" }),
        place.remove("a/.."),
        place.git("no-such-thing")
      ], (effect) => Effect.map(Effect.flip(effect), ({ _tag, message }) => `${_tag}: ${message}`))
      expect(messages[0]).toContain(`WorkspaceError: none.txt in the workspace ${directory} could not be read: ENOENT`)
      for (const message of messages.slice(1, 4)) expect(message).toContain(`by its path below ${directory}.`)
      expect(messages[4]).toContain(
        `git no-such-thing failed in ${directory}: git: 'no-such-thing' is not a git command`
      )
      expect(existsSync(place.at("a", "b.txt"))).toBe(true)
      const failed = yield* Effect.flip(Effect.scoped(Workspace.make({ "a.txt": "a", "a.txt/b.txt": "b" })))
      expect(failed.message).toContain("a.txt/b.txt in the workspace")
    }))
})
