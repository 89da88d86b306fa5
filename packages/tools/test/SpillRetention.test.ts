import { describe, expect, it } from "@effect/vitest"
import { pruneSpill } from "@skein/tools/SpillFiles"
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"

/** A data directory with these files (in `spill/`), each with the time of its last change in seconds. */
const data = (files: Readonly<Record<string, number>>) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const directory = fs.mkdtempSync(join(tmpdir(), "skein-spill-"))
      for (const [name, time] of Object.entries(files)) {
        const file = join(directory, "spill", name)
        fs.mkdirSync(dirname(file), { recursive: true })
        fs.writeFileSync(file, "text")
        fs.utimesSync(file, time, time)
        fs.utimesSync(dirname(file), time, time)
      }
      return directory
    }),
    (directory) => Effect.sync(() => fs.rmSync(directory, { recursive: true, force: true }))
  )

const left = (directory: string) => fs.readdirSync(join(directory, "spill"), { recursive: true }).toSorted()
const all = () => Effect.succeed(Number.POSITIVE_INFINITY)

describe("pruneSpill", () => {
  it.scoped("removes what is old, by session, and directories that are then empty", () =>
    Effect.gen(function*() {
      const directory = yield* data({ "ses_a/1": 10, "ses_b/2": 10, "ses_b/3": 50, "ses_c/4": 50, "ses_d/5": 10 })
      const before = (session: string) => Effect.succeed(session === "ses_d" ? Number.NEGATIVE_INFINITY : 20_000)
      expect(yield* pruneSpill(directory, { before, dryRun: true })).toEqual({ files: 2, bytes: 8 })
      expect(left(directory)).toHaveLength(9)
      expect(yield* pruneSpill(directory, { before })).toEqual({ files: 2, bytes: 8 })
      expect(left(directory)).toEqual(["ses_b", "ses_b/3", "ses_c", "ses_c/4", "ses_d", "ses_d/5"])
    }))

  it.scoped("removes no more than was asked for, of the oldest sessions first", () =>
    Effect.gen(function*() {
      const directory = yield* data({ "ses_b/2": 10, "ses_a/1": 10, "ses_c/3": 10 })
      expect(yield* pruneSpill(directory, { before: all, limit: 2 })).toEqual({ files: 2, bytes: 8 })
      expect(left(directory)).toEqual(["ses_c", "ses_c/3"])
    }))

  it.scoped("follows no link, and touches nothing that Skein did not make", () =>
    Effect.gen(function*() {
      const elsewhere = yield* data({ "ses_a/1": 10 })
      const directory = yield* data({ "ses_a/1": 10, "notes/1": 10, "ses_a/below/1": 10 })
      const spill = join(directory, "spill")
      fs.symlinkSync(join(elsewhere, "spill", "ses_a"), join(spill, "ses_b"))
      fs.symlinkSync(join(elsewhere, "spill", "ses_a", "1"), join(spill, "ses_a", "2"))
      expect(yield* pruneSpill(directory, { before: all })).toEqual({ files: 1, bytes: 4 })
      // Listing goes through the link to what is still there.
      expect(left(directory)).toEqual(
        ["notes", "notes/1", "ses_a", "ses_a/2", "ses_a/below", "ses_a/below/1", "ses_b", "ses_b/1"]
      )
      expect(left(elsewhere)).toEqual(["ses_a", "ses_a/1"])
      const linked = yield* data({})
      fs.symlinkSync(join(elsewhere, "spill"), join(linked, "spill"))
      expect(yield* pruneSpill(linked, { before: all })).toEqual({ files: 0, bytes: 0 })
      expect(left(elsewhere)).toEqual(["ses_a", "ses_a/1"])
    }))

  it.scoped("finds nothing where there are no long texts yet", () =>
    Effect.gen(function*() {
      expect(yield* pruneSpill(yield* data({}), { before: all })).toEqual({ files: 0, bytes: 0 })
    }))
})
