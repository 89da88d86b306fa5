import { expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { holdFound, holdPath, wholeFile } from "../../src/internal/files/wholeFile.ts"

/** A directory `in` with a file, and one `out` that nobody may come to. */
const place = Effect.acquireRelease(
  Effect.sync(() => {
    const top = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "skein-held-")))
    for (const name of ["in", "out"]) {
      fs.mkdirSync(path.join(top, name))
      fs.writeFileSync(path.join(top, name, "file"), name)
    }
    return top
  }),
  (top) => Effect.sync(() => fs.rmSync(top, { recursive: true, force: true }))
)

const swap = (top: string) => {
  fs.renameSync(path.join(top, "in"), path.join(top, "was"))
  fs.symlinkSync("out", path.join(top, "in"))
}

it.scoped("a path through a link that was put there is not taken", () =>
  Effect.gen(function*() {
    const top = yield* place
    swap(top)
    const real = path.join(top, "in", "file")
    const moved = expect.objectContaining({ code: "EMOVED" })
    const noDirectory = expect.objectContaining({ code: "ENOTDIR" })
    expect(yield* Effect.flip(holdPath(real, { make: true }))).toEqual(noDirectory)
    expect(yield* Effect.flip(holdPath(path.join(top, "in", "file", "x"), { make: false }))).toEqual(noDirectory)
    expect(yield* Effect.flip(holdFound(real))).toEqual(moved)
    expect(yield* Effect.flip(wholeFile(real, 100))).toEqual(moved)
    expect(yield* Effect.flip(holdPath(path.join(real, "..", "deep", "x"), { make: true }))).toEqual(noDirectory)
    expect(fs.readdirSync(path.join(top, "out"))).toEqual(["file"])
  }))

it.scoped("a deeper path through such a link is not taken either, and nothing is made there", () =>
  Effect.gen(function*() {
    const top = yield* place
    fs.mkdirSync(path.join(top, "in", "sub"))
    fs.mkdirSync(path.join(top, "out", "sub"))
    swap(top)
    for (const make of [true, false]) {
      const error = yield* Effect.flip(holdPath(path.join(top, "in", "sub", "x"), { make }))
      expect(error).toMatchObject({ code: "EMOVED" })
    }
    expect((yield* Effect.exit(holdPath(path.join(top, "in", "new", "x"), { make: true })))._tag).toBe("Failure")
    expect(fs.readdirSync(path.join(top, "out")).toSorted()).toEqual(["file", "sub"])
  }))

it.scoped("what is held stays what it was, whatever is put in its place", () =>
  Effect.gen(function*() {
    const top = yield* place
    const held = yield* holdPath(path.join(top, "in", "file"), { make: false })
    const made = yield* holdPath(path.join(top, "in", "a", "b", "new"), { make: true })
    const found = yield* holdFound(path.join(top, "in", "file"))
    swap(top)
    fs.writeFileSync(held, "changed")
    fs.writeFileSync(made, "new")
    expect(fs.readFileSync(found.path, "utf8")).toBe("changed")
    expect(fs.readFileSync(path.join(top, "was", "file"), "utf8")).toBe("changed")
    expect(fs.readFileSync(path.join(top, "was", "a", "b", "new"), "utf8")).toBe("new")
    expect(fs.readFileSync(path.join(top, "out", "file"), "utf8")).toBe("out")
  }))

it.scoped("nothing stays open", () =>
  Effect.gen(function*() {
    const top = yield* place
    const open = () =>
      fs.readdirSync("/proc/self/fd").filter((fd) => {
        const name = fs.existsSync(`/proc/self/fd/${fd}`) ? fs.readlinkSync(`/proc/self/fd/${fd}`) : ""
        return name.startsWith(top)
      })
    yield* Effect.scoped(holdPath(path.join(top, "in", "x", "y", "file"), { make: true }))
    yield* Effect.scoped(holdFound(path.join(top, "in", "file")))
    yield* Effect.flip(wholeFile(path.join(top, "in", "none"), 100))
    expect(open()).toEqual([])
  }))
