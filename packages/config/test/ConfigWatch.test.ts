import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as FileSystem from "@effect/platform/FileSystem"
import { expect, layer } from "@effect/vitest"
import * as ConfigWatch from "@skein/config/ConfigWatch"
import { DataDirs } from "@skein/config/DataDirs"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Queue from "effect/Queue"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/TestClock"
import { join } from "node:path"
import { workspace } from "./workspace.ts"

const dirs = (root: string) =>
  Layer.provide(
    DataDirs.layer(),
    Layer.setConfigProvider(ConfigProvider.fromMap(new Map([["HOME", join(root, "home")]])))
  )

/** A watched project. */
const watched = Effect.fnUntraced(function*(files: Parameters<typeof workspace>[0]) {
  const root = yield* workspace(files)
  const fs = yield* FileSystem.FileSystem
  const versions = yield* Queue.bounded<ConfigWatch.Read>(16)
  yield* Effect.forkScoped(
    Stream.runForEach(ConfigWatch.watch({ directory: join(root, "project") }), (read) => Queue.offer(versions, read))
      .pipe(
        Effect.provide(dirs(root))
      )
  )
  const write = (path: string, text: string) => fs.writeFileString(join(root, path), text)
  return { root, versions, write, fs, first: yield* Queue.take(versions) }
})

/** Lets time pass until a new version arrives. */
const next = (versions: Queue.Dequeue<ConfigWatch.Read>) =>
  Effect.raceFirst(
    Queue.take(versions),
    Effect.forever(Effect.zipRight(TestClock.adjust(ConfigWatch.interval), Effect.yieldNow()))
  )

const steps = (read: ConfigWatch.Read) => Either.map(read, ({ settings }) => settings.agent?.["a"]?.steps)

layer(NodeFileSystem.layer)("ConfigWatch", (it) => {
  it.scoped("emits the content of the files at first, and whenever it changes", () =>
    Effect.gen(function*() {
      const { first, fs, root, versions, write } = yield* watched({
        "project/skein.json": { agent: { a: { steps: 1 } } }
      })
      expect(steps(first)).toEqual(Either.right(1))
      yield* write("project/skein.json", "{ \"agent\": { \"a\": { \"steps\": 22 } } }")
      expect(steps(yield* next(versions))).toEqual(Either.right(22))
      // A new file in a new directory.
      yield* fs.makeDirectory(join(root, "project/.skein/agent"), { recursive: true })
      yield* write("project/.skein/agent/b.md", "Hello")
      const more = yield* next(versions)
      expect(Either.map(more, ({ settings }) => settings.agent?.["b"])).toEqual(Either.right({ prompt: "Hello" }))
      yield* fs.remove(join(root, "project/skein.json"))
      expect(steps(yield* next(versions))).toEqual(Either.right(undefined))
    }))

  it.scoped("emits mistakes, their corrections, and changes of included files", () =>
    Effect.gen(function*() {
      const { first, versions, write } = yield* watched({
        "project/skein.json": { agent: { a: { prompt: "{file:p.txt}" } } },
        "project/p.txt": "one"
      })
      const prompt = (read: ConfigWatch.Read) => Either.map(read, ({ settings }) => settings.agent?.["a"]?.prompt)
      expect(prompt(first)).toEqual(Either.right("one"))
      yield* write("project/p.txt", "two and more")
      expect(prompt(yield* next(versions))).toEqual(Either.right("two and more"))
      yield* write("project/skein.json", "{ \"agnet\": {} }")
      expect(yield* next(versions)).toMatchObject({ _tag: "Left", left: { message: expect.stringContaining("agnet") } })
      yield* write("project/skein.json", "{}")
      expect(prompt(yield* next(versions))).toEqual(Either.right(undefined))
    }))

  it.scoped("emits a version for each change, and none for a mistake, which it logs", () =>
    Effect.gen(function*() {
      const root = yield* workspace({ "project/skein.json": { agent: { a: { steps: 1 } } } })
      const fs = yield* FileSystem.FileSystem
      const logged: Array<string> = []
      const logger = Logger.replace(
        Logger.defaultLogger,
        Logger.make(({ message }) => void logged.push(String(message)))
      )
      yield* Effect.gen(function*() {
        const first = yield* ConfigWatch.follow({ directory: join(root, "project") })
        const write = (text: string) => fs.writeFileString(join(root, "project/skein.json"), text)
        const pass = Effect.zipRight(TestClock.adjust(ConfigWatch.interval), Effect.yieldNow())
        const waited = <A>(next: Effect.Effect<A>) => Effect.raceFirst(next, Effect.forever(pass))
        expect(first.config.settings.agent?.["a"]?.steps).toBe(1)
        yield* write("{ \"limits\": { \"max_tasks\": 7 }, \"agent\": { \"a\": { \"steps\": 22 } } }")
        const second = yield* waited(first.next)
        expect(second.config.settings.agent?.["a"]?.steps).toBe(22)
        expect(second.config.origins["limits.max_tasks"]).toContain("skein.json:1")
        yield* write("{ \"limits\": { \"max_tasks\": -1 } }")
        const third = yield* Effect.fork(second.next)
        yield* Effect.iterate(0, { while: () => logged.length === 0, body: () => Effect.as(pass, 0) })
        expect(logged[0]).toContain("limits.max_tasks must be")
        yield* write("{ \"limits\": { \"max_tasks\": 9 } }")
        expect((yield* waited(Fiber.join(third))).config.settings.limits.max_tasks).toBe(9)
      }).pipe(Effect.provide(dirs(root)), Effect.provide(logger))
    }))
})
