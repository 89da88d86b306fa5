import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import { SystemError } from "@effect/platform/Error"
import * as FileSystem from "@effect/platform/FileSystem"
import { describe, expect, it } from "@effect/vitest"
import { heldByAnother } from "@skein/core/StorageError"
import type { SessionID } from "@skein/domain/Id"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { type Change, makeFileChanges } from "../../src/internal/edit/fileChanges.ts"
import type { Target } from "../../src/Paths.ts"
import { SeenFiles } from "../../src/SeenFiles.ts"

const target = (real: string): Target => ({ real, shown: real, place: "inside", protected: false, linked: false })

const caller = { rootID: "ses_test" as SessionID, directory: "/" }

const full = new SystemError({ module: "FileSystem", method: "rename", reason: "Unknown", description: "no space" })

describe("fileChanges", () => {
  it.scoped("puts everything back where the file system fails half way", () =>
    Effect.gen(function*() {
      const fs = yield* FileSystem.FileSystem
      const seen = yield* SeenFiles
      const top = yield* fs.makeTempDirectoryScoped()
      const path = (name: string) => `${top}/${name}`
      yield* fs.writeFileString(path("changed"), "old")
      yield* fs.chmod(path("changed"), 0o640)
      yield* fs.writeFileString(path("removed"), "kept")
      const written = new Set<string>()
      const failing = {
        ...fs,
        rename: (from: string, to: string) => {
          written.add(from.replace(/^.*\/|[^-]*$/g, ""))
          return to.endsWith("/last") ? Effect.fail(full) : fs.rename(from, to)
        }
      }
      const { apply, existing } = yield* makeFileChanges(failing, seen)
      const before = (name: string) => existing(caller, target(path(name)))
      const after = Buffer.from("new")
      const changes: ReadonlyArray<Change> = [
        { target: target(path("changed")), before: yield* before("changed"), after },
        { target: target(path("added")), before: undefined, after },
        { target: target(path("removed")), before: yield* before("removed"), after: undefined },
        { target: target(path("last")), before: undefined, after }
      ]
      const confirm = Effect.succeed(Number.POSITIVE_INFINITY)
      const error = yield* Effect.flip(apply({ sessionID: "ses_test", partID: "prt_test", confirm } as never, changes))
      expect(error.message).toBe(`Could not write ${path("last")}: no space.`)
      // What a crash leaves of it is found by the name of the call.
      expect([...written]).toEqual([".skein-prt_test-"])
      expect((yield* fs.readDirectory(top)).toSorted()).toEqual(["changed", "removed"])
      expect(yield* fs.readFileString(path("changed"))).toBe("old")
      expect((yield* fs.stat(path("changed"))).mode & 0o777).toBe(0o640)
      expect(yield* fs.readFileString(path("removed"))).toBe("kept")
    }).pipe(Effect.provide(Layer.merge(NodeFileSystem.layer, SeenFiles.layer))))

  it.scoped("changes nothing more once another process may have taken over, not even back", () =>
    Effect.gen(function*() {
      const fs = yield* FileSystem.FileSystem
      const top = yield* fs.makeTempDirectoryScoped()
      const names = ["first", "second", "third"]
      yield* Effect.forEach(names, (name) => fs.writeFileString(`${top}/${name}`, "old"))
      const { apply, existing } = yield* makeFileChanges(fs, yield* SeenFiles)
      let asked = 0
      const confirm = Effect.suspend(() =>
        asked++ === 0 ? Effect.succeed(1) : heldByAnother("renew", { rootID: "ses_test" })
      )
      const changes = yield* Effect.forEach(names, (name) => {
        const place = target(`${top}/${name}`)
        const after = name === "third" ? undefined : Buffer.from("new")
        return Effect.map(existing(caller, place), (before): Change => ({ target: place, before, after }))
      })
      const call = { sessionID: "ses_test", partID: "prt_test", confirm } as never
      expect((yield* Effect.flip(apply(call, changes))).message).toContain("no longer holds the session")
      const found = yield* Effect.forEach(names, (name) => fs.readFileString(`${top}/${name}`))
      expect(found).toEqual(["new", "old", "old"])
      expect((yield* fs.readDirectory(top)).toSorted()).toEqual(names)
    }).pipe(Effect.provide(Layer.merge(NodeFileSystem.layer, SeenFiles.layer))))
})
