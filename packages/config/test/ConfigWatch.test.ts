import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as FileSystem from "@effect/platform/FileSystem"
import { expect, layer } from "@effect/vitest"
import * as ConfigWatch from "@skein/config/ConfigWatch"
import { DataDirs } from "@skein/config/DataDirs"
import { Agent } from "@skein/core/Agent"
import { Config } from "@skein/core/Config"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
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

/** A project that is watched. */
const watched = Effect.fnUntraced(function*(files: Parameters<typeof workspace>[0]) {
  const root = yield* workspace(files)
  const fs = yield* FileSystem.FileSystem
  const told = yield* Queue.bounded<ConfigWatch.Read>(16)
  yield* Effect.forkScoped(
    Stream.runForEach(ConfigWatch.watch({ directory: join(root, "project") }), (read) => Queue.offer(told, read)).pipe(
      Effect.provide(dirs(root))
    )
  )
  const write = (path: string, text: string) => fs.writeFileString(join(root, path), text)
  return { root, told, write, fs, first: yield* Queue.take(told) }
})

/** Lets time go on until something is told. */
const next = (told: Queue.Dequeue<ConfigWatch.Read>) =>
  Effect.raceFirst(
    Queue.take(told),
    Effect.forever(Effect.zipRight(TestClock.adjust(ConfigWatch.interval), Effect.yieldNow()))
  )

const steps = (read: ConfigWatch.Read) => Either.map(read, ({ settings }) => settings.agent?.["a"]?.steps)

layer(NodeFileSystem.layer)("ConfigWatch", (it) => {
  it.scoped("tells what the files say at first, and each time that they say something else", () =>
    Effect.gen(function*() {
      const { first, fs, root, told, write } = yield* watched({ "project/skein.json": { agent: { a: { steps: 1 } } } })
      expect(steps(first)).toEqual(Either.right(1))
      yield* write("project/skein.json", "{ \"agent\": { \"a\": { \"steps\": 22 } } }")
      expect(steps(yield* next(told))).toEqual(Either.right(22))
      // A file that was not there, in a directory that was not there.
      yield* fs.makeDirectory(join(root, "project/.skein/agent"), { recursive: true })
      yield* write("project/.skein/agent/b.md", "Hello")
      const more = yield* next(told)
      expect(Either.map(more, ({ settings }) => settings.agent?.["b"])).toEqual(Either.right({ prompt: "Hello" }))
      yield* fs.remove(join(root, "project/skein.json"))
      expect(steps(yield* next(told))).toEqual(Either.right(undefined))
    }))

  it.scoped("tells of mistakes, of their end, and of files that others name", () =>
    Effect.gen(function*() {
      const { first, told, write } = yield* watched({
        "project/skein.json": { agent: { a: { prompt: "{file:p.txt}" } } },
        "project/p.txt": "one"
      })
      const prompt = (read: ConfigWatch.Read) => Either.map(read, ({ settings }) => settings.agent?.["a"]?.prompt)
      expect(prompt(first)).toEqual(Either.right("one"))
      yield* write("project/p.txt", "two and more")
      expect(prompt(yield* next(told))).toEqual(Either.right("two and more"))
      yield* write("project/skein.json", "{ \"agnet\": {} }")
      expect(yield* next(told)).toMatchObject({ _tag: "Left", left: { message: expect.stringContaining("agnet") } })
      yield* write("project/skein.json", "{}")
      expect(prompt(yield* next(told))).toEqual(Either.right(undefined))
    }))

  it.scoped("gives settings and agents that follow the files, and keeps those that held where a mistake is made", () =>
    Effect.gen(function*() {
      const root = yield* workspace({ "project/skein.json": { agent: { a: { steps: 1 } } } })
      const fs = yield* FileSystem.FileSystem
      const logged: Array<string> = []
      const logger = Logger.replace(
        Logger.defaultLogger,
        Logger.make(({ message }) => void logged.push(String(message)))
      )
      yield* Effect.gen(function*() {
        const config = yield* Config
        const agents = yield* Agent
        const until = (holds: () => boolean) =>
          Effect.iterate(0, {
            while: () => !holds(),
            body: (count) =>
              Effect.as(Effect.zipRight(TestClock.adjust(ConfigWatch.interval), Effect.yieldNow()), count)
          })
        expect((yield* agents.get("a")).steps).toBe(1)
        const write = (text: string) => fs.writeFileString(join(root, "project/skein.json"), text)
        yield* write("{ \"limits\": { \"max_tasks\": 7 }, \"agent\": { \"a\": { \"steps\": 22 } } }")
        yield* until(() => config.settings.limits.max_tasks === 7)
        expect((yield* agents.get("a")).steps).toBe(22)
        expect(config.origins["limits.max_tasks"]).toContain("skein.json:1")
        yield* write("{ \"limits\": { \"max_tasks\": -1 } }")
        yield* until(() => logged.length > 0)
        expect(logged[0]).toContain("limits.max_tasks must be")
        expect(config.settings.limits.max_tasks).toBe(7)
        expect(agents.all.map(({ name }) => name)).toContain("a")
      }).pipe(
        Effect.provide(ConfigWatch.layer({ directory: join(root, "project") })),
        Effect.provide(dirs(root)),
        Effect.provide(logger)
      )
    }))
})
