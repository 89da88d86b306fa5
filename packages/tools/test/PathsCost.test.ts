/** How many calls of the file system it takes to decide where a path leads: few, however many Skeins the user has. */
import * as NodeContext from "@effect/platform-node/NodeContext"
import { expect, it } from "@effect/vitest"
import type { ToolCaller } from "@skein/core/Tool"
import { Paths } from "@skein/tools/Paths"
import { SpillFiles } from "@skein/tools/SpillFiles"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import fs from "node:fs"
import { syncBuiltinESMExports } from "node:module"
import { tmpdir } from "node:os"
import * as path from "node:path"
import { enterPlace } from "../src/internal/secretFiles.ts"

const names = ["statSync", "lstatSync", "readdirSync", "existsSync", "readFileSync", "lstat", "readlink"] as const

/** Counts calls of the file system while the scope is open. */
const counting = Effect.acquireRelease(
  Effect.sync(() => {
    const counted = { calls: 0 }
    const put = (holder: object, name: string) => {
      const original: unknown = Reflect.get(holder, name)
      const replaced = (...args: ReadonlyArray<unknown>) => {
        counted.calls++
        return Reflect.apply(original as () => unknown, fs, args)
      }
      Reflect.set(holder, name, Object.assign(replaced, original))
      return () => void Reflect.set(holder, name, original)
    }
    const restore = [
      ...names.map((name) => put(fs, name)),
      put(fs.realpath, "native"),
      put(fs.realpathSync, "native")
    ]
    syncBuiltinESMExports()
    return { counted, restore }
  }),
  ({ restore }) =>
    Effect.sync(() => {
      for (const each of restore.toReversed()) each()
      syncBuiltinESMExports()
    })
)

const temporary = Effect.acquireRelease(
  Effect.sync(() => fs.realpathSync(fs.mkdtempSync(path.join(tmpdir(), "skein-paths-")))),
  (made) => Effect.sync(() => fs.rmSync(made, { recursive: true }))
)

/** The calls for a path that is decided and confirmed, when another path in its directory has been decided before. */
const callsFor = (programs: number) =>
  Effect.gen(function*() {
    const top = yield* temporary
    const [home, project, register] = ["home", "home/project/src", "home/state/places"]
      .map((each) => path.join(top, each)) as [string, string, string]
    fs.mkdirSync(project, { recursive: true })
    for (const name of ["a.ts", "b.ts"]) fs.writeFileSync(path.join(project, name), name)
    const data = Array.from({ length: programs + 1 }, (_, at) => path.join(home, `data-${at}`, "skein"))
    for (const each of data) {
      fs.mkdirSync(path.join(each, "servers"), { recursive: true })
      fs.writeFileSync(path.join(each, "skein.db"), "SECRET")
      yield* enterPlace(register, { dataDirectory: each, secret: [path.join(each, "skein.db")] })
    }
    const own = data[0] as string
    const layer = Paths.layer({ home, dataDirectory: own, register, environment: {} }).pipe(
      Layer.provide(SpillFiles.layer(own)),
      Layer.provide(NodeContext.layer)
    )
    return yield* Effect.gen(function*() {
      const { confirm, decide } = yield* Paths
      const caller = { directory: path.dirname(project), sessionID: "ses_1" } as unknown as ToolCaller
      yield* decide("src/a.ts", caller)
      const { counted } = yield* counting
      yield* confirm(yield* decide("src/b.ts", caller), "src/b.ts", caller)
      return counted.calls
    }).pipe(Effect.provide(layer))
  }).pipe(Effect.scoped)

it.live("decides where a path leads with few calls of the file system, however many Skeins are registered", () =>
  Effect.gen(function*() {
    const alone = yield* callsFor(0)
    expect(alone).toBeGreaterThan(2)
    expect(alone).toBeLessThanOrEqual(14)
    expect(yield* callsFor(10)).toBe(alone)
  }))

it.scopedLive("resolves the files that only a person lets calls change once, also for calls at the same time", () =>
  Effect.gen(function*() {
    const top = yield* temporary
    fs.writeFileSync(path.join(top, "a.ts"), "")
    const own = Array.from({ length: 100 }, (_, at) => path.join(top, `own-${at}`))
    for (const each of own) fs.writeFileSync(each, "")
    const layer = Paths.layer({ own, environment: {} }).pipe(
      Layer.provide(SpillFiles.layer(path.join(top, "data"))),
      Layer.provide(NodeContext.layer)
    )
    const { decide } = yield* Effect.provide(Paths, layer)
    const caller = { directory: top, sessionID: "ses_1" } as unknown as ToolCaller
    const { counted } = yield* counting
    yield* Effect.all(Array.from({ length: 20 }, () => decide("a.ts", caller)), { concurrency: "unbounded" })
    expect(counted.calls).toBeLessThan(2 * own.length + 20 * 14)
  }))
