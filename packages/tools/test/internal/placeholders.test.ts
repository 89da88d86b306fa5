import { expect, it } from "@effect/vitest"
import type { Owner } from "@skein/core/Owner"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import * as fs from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import {
  makePlaceholders,
  type PlannedPlaceholder,
  reapPlaceholders,
  writeRecord
} from "../../src/internal/placeholders.ts"

const owner = (id: string): typeof Owner.Service => ({
  id,
  isGone: (other) => Effect.succeed(other.startsWith("dead")),
  evict: () => Effect.succeed(false)
})

/** A tree and a directory of records; several Skeins, of which one may be dead. */
const world = Effect.gen(function*() {
  const top = yield* Effect.acquireRelease(
    Effect.sync(() => fs.realpathSync(fs.mkdtempSync(join(tmpdir(), "skein-placeholders-")))),
    (path) => Effect.sync(() => fs.rmSync(path, { recursive: true, force: true }))
  )
  const records = join(top, "records")
  const tree = join(top, "tree")
  fs.mkdirSync(records)
  fs.mkdirSync(tree)
  const at = (name: string) => join(tree, name)
  const wanted: ReadonlyArray<PlannedPlaceholder> = [[at("skein.json"), "file"], [at(".skein"), "directory"]]
  const skein = (id: string) => makePlaceholders(records, owner(id))
  const hold = (placeholders: Effect.Effect.Success<ReturnType<typeof skein>>) =>
    Effect.gen(function*() {
      const scope = yield* Scope.make()
      const held = yield* Scope.extend(placeholders.hold(wanted), scope)
      return { held, end: Scope.close(scope, Exit.void) }
    })
  const reap = reapPlaceholders(records, owner("alive"))
  return { top, tree, records, at, wanted, skein, hold, reap, there: () => fs.readdirSync(tree).toSorted() }
})

it.scoped("what two Skeins need stays until the last of them needs it no more", () =>
  Effect.gen(function*() {
    const { at, hold, skein, there, wanted } = yield* world
    const one = yield* hold(yield* skein("one"))
    const two = yield* skein("two")
    expect(two.known()(at("skein.json"))).toBe(true)
    const second = yield* hold(two)
    expect([one.held, second.held]).toEqual([wanted, wanted])
    yield* one.end
    expect(there()).toEqual([".skein", "skein.json"])
    yield* second.end
    expect(there()).toEqual([])
  }))

it.scoped("what somebody has made meanwhile is nobody's placeholder", () =>
  Effect.gen(function*() {
    const { at, hold, skein, there } = yield* world
    fs.writeFileSync(at("skein.json"), "")
    const one = yield* skein("one")
    expect(one.known()(at("skein.json"))).toBe(false)
    const { end, held } = yield* hold(one)
    expect(held).toEqual([[at(".skein"), "directory"]])
    fs.writeFileSync(join(at(".skein"), "mine"), "x")
    yield* end
    expect(there()).toEqual([".skein", "skein.json"])
  }))

it.scoped("what a dead Skein has left is taken away, but for what somebody needs, has filled or has made anew", () =>
  Effect.gen(function*() {
    const { at, hold, reap, records, skein, there } = yield* world
    yield* hold(yield* skein("dead"))
    const living = yield* hold(yield* skein("one"))
    yield* reap
    expect(there()).toEqual([".skein", "skein.json"])
    yield* living.end
    expect(there()).toEqual([])

    yield* hold(yield* skein("dead"))
    fs.writeFileSync(at("skein.json"), "{}")
    yield* reap
    expect(there()).toEqual(["skein.json"])
    fs.rmSync(at("skein.json"))

    yield* hold(yield* skein("dead"))
    fs.rmSync(at("skein.json"))
    fs.writeFileSync(at("other"), "")
    fs.writeFileSync(at("skein.json"), "")
    yield* reap
    expect(there()).toEqual(["other", "skein.json"])
    expect(fs.readdirSync(records)).toEqual([])
  }))

it.scoped("a crash before anybody knew which ones they became leaves nothing either", () =>
  Effect.gen(function*() {
    const { reap, records, there, top, wanted } = yield* world
    writeRecord(join(records, "abc"), "dead", wanted)
    fs.writeFileSync(wanted[0]?.[0] ?? "", "")
    yield* reap
    expect(there()).toEqual([])

    const temporary = join(top, "skein-tmp-x")
    fs.mkdirSync(join(temporary, "tmp", "deep"), { recursive: true })
    const others = join(top, "others")
    fs.mkdirSync(others)
    writeRecord(join(records, "abc"), "dead", [[temporary, "temporary"]])
    writeRecord(join(records, "def"), "dead", [[others, "temporary"]])
    yield* reap
    expect([temporary, others].map((path) => fs.existsSync(path))).toEqual([false, true])
  }))

it.scoped("who died with the lock does not keep others from it", () =>
  Effect.gen(function*() {
    const { hold, records, skein, wanted } = yield* world
    fs.symlinkSync("dead", join(records, "lock"))
    expect((yield* hold(yield* skein("one"))).held).toEqual(wanted)
    expect(fs.existsSync(join(records, "lock"))).toBe(false)
  }))
