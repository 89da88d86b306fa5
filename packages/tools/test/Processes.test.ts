import { describe, expect, it } from "@effect/vitest"
import { Owner } from "@skein/core/Owner"
import { Processes, type Tracked } from "@skein/tools/Processes"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as TestClock from "effect/TestClock"
import { spawn } from "node:child_process"
import * as fs from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { elapse, gone, isAlive, pidIn, turn } from "./support/processes.ts"
import { Workspace } from "./workspace.ts"

describe("when a command has ended", () => {
  const cases = {
    "in the background with its outputs closed": "sleep 9999 >&- 2>&- & echo $! > pid",
    "in a session of its own, without outputs": "setsid sh -c 'echo $$ > pid; exec sleep 9999' >/dev/null 2>&1 &",
    "in a session of its own that holds the outputs open": "setsid sh -c 'echo $$ > pid; exec sleep 9999' &",
    "below a process that has ended":
      "(setsid sh -c 'trap \"\" TERM HUP; sh -c \"echo \\$\\$ > pid; exec sleep 9999\" & exit' >/dev/null 2>&1 &)",
    "in a group that a shell made for it":
      "set -m; sh -c 'trap \"\" TERM; echo $$ > pid; sleep 9999; :' >/dev/null 2>&1 &"
  }
  it.effect.each(Object.entries(cases))("nothing is left %s", ([, command]) =>
    Effect.gen(function*() {
      const { at, call } = yield* Workspace
      const fiber = yield* Effect.fork(call("bash", { command: `${command}\nwhile [ ! -s pid ]; do sleep 0.01; done` }))
      expect((yield* elapse(fiber)).metadata).toMatchObject({ exit: 0 })
      yield* gone(yield* pidIn(at("pid")))
    }).pipe(Effect.provide(Workspace.layer)))

  it.effect("nothing is left of one that ran for long", () =>
    Effect.gen(function*() {
      const { at, call } = yield* Workspace
      const command =
        "(setsid sh -c 'echo $$ > pid; exec sleep 9999' >/dev/null 2>&1 &); while [ ! -e end ]; do sleep 0.01; done"
      const fiber = yield* Effect.fork(call("bash", { command }))
      const pid = yield* pidIn(at("pid"))
      yield* TestClock.adjust("1 minute")
      fs.writeFileSync(at("end"), "")
      yield* elapse(fiber)
      yield* gone(pid)
    }).pipe(Effect.provide(Workspace.layer)))

  it.effect("nor of one that is cut off, whose children have left it and ignore requests to end", () =>
    Effect.gen(function*() {
      const { at, call } = yield* Workspace
      const command = "(setsid sh -c 'trap \"\" TERM; echo $$ > pid; while :; do sleep 9999; done' &); sleep 9999"
      const fiber = yield* Effect.fork(call("bash", { command }))
      const pid = yield* pidIn(at("pid"))
      yield* elapse(yield* Effect.fork(Fiber.interrupt(fiber)))
      yield* gone(pid)
    }).pipe(Effect.provide(Workspace.layer)))

  it.effect("what has left it is asked first, and has a second to put things away", () =>
    Effect.gen(function*() {
      const { at, call, read } = yield* Workspace
      const command =
        "(setsid bash -c 'trap \"sleep 0.1; echo bye > bye; exit\" TERM; echo $$ > pid; while :; do sleep 0.01; done' &); sleep 9999"
      const fiber = yield* Effect.fork(call("bash", { command }))
      const pid = yield* pidIn(at("pid"))
      const stopped = yield* Effect.fork(Fiber.interrupt(fiber))
      yield* gone(pid)
      expect(read("bye")).toBe("bye\n")
      yield* elapse(stopped)
    }).pipe(Effect.provide(Workspace.layer)))

  it.effect("what has left it and has no mark is found below it", () =>
    Effect.gen(function*() {
      const { at, call } = yield* Workspace
      const command = "env -i setsid bash -c 'trap \"\" TERM; echo $$ > pid; while :; do sleep 9999; done' & wait"
      const fiber = yield* Effect.fork(call("bash", { command }))
      const pid = yield* pidIn(at("pid"))
      yield* elapse(yield* Effect.fork(Fiber.interrupt(fiber)))
      yield* gone(pid)
    }).pipe(Effect.provide(Workspace.layer)))

  it.effect("what another command has started goes on", () =>
    Effect.gen(function*() {
      const { at, call } = yield* Workspace
      const until = (name: string) => `while [ ! -e ${name} ]; do sleep 0.01; done`
      const first = yield* Effect.fork(call("bash", { command: `echo $$ > first; ${until("end1")}` }))
      yield* pidIn(at("first"))
      const command = `setsid sh -c 'echo $$ > pid; exec sleep 9999' & ${until("end2")}`
      const second = yield* Effect.fork(call("bash", { command }))
      const pid = yield* pidIn(at("pid"))
      fs.writeFileSync(at("end1"), "")
      yield* elapse(first)
      expect(isAlive(pid)).toBe(true)
      fs.writeFileSync(at("end2"), "")
      yield* elapse(second)
      yield* gone(pid)
    }).pipe(Effect.provide(Workspace.layer)))

  it.effect("its record is gone, which only this user could read", () =>
    Effect.gen(function*() {
      const { call, top } = yield* Workspace
      const directory = join(top, "data", "processes")
      const ready = yield* Deferred.make<void>()
      const fiber = yield* Effect.fork(
        call("bash", { command: "echo $$; while [ ! -e end ]; do sleep 0.01; done" }, {
          report: () => Effect.asVoid(Deferred.succeed(ready, undefined))
        })
      )
      yield* elapse(yield* Effect.fork(Deferred.await(ready)))
      const files = fs.readdirSync(directory)
      expect(files.length).toBe(1)
      const file = join(directory, files.join(""))
      const [owner, leader] = fs.readFileSync(file, "utf8").split("\n")
      expect(fs.statSync(directory).mode & 0o777).toBe(0o700)
      expect(fs.statSync(file).mode & 0o777).toBe(0o600)
      expect(owner).toContain(`:${process.pid}:`)
      fs.writeFileSync(join(top, "w", "repo", "end"), "")
      expect((yield* Fiber.join(fiber)).output).toBe(`${leader?.split(" ")[0]}\n`)
      expect(fs.readdirSync(directory)).toEqual([])
    }).pipe(Effect.provide(Workspace.layer)))
})

/** A directory, and what Skeins of it know of each other: all whose names begin with `dead` are gone. */
const world = Effect.gen(function*() {
  const top = yield* Effect.acquireRelease(
    Effect.sync(() => fs.realpathSync(fs.mkdtempSync(join(tmpdir(), "skein-processes-")))),
    (path) => Effect.sync(() => fs.rmSync(path, { recursive: true }))
  )
  const layerOf = (id: string, environment: Readonly<Record<string, string>> = {}) =>
    Processes.layer({ dataDirectory: top, environment }).pipe(
      Layer.provide(
        Layer.succeed(Owner, {
          id,
          isGone: (owner) => Effect.succeed(owner.startsWith("dead")),
          evict: () => Effect.succeed(true)
        })
      )
    )
  /** Without what the layer does beside, which would find before the test what the test has left. */
  const skein = (...args: Parameters<typeof layerOf>) =>
    Effect.map(Effect.scoped(Layer.build(layerOf(...args))), Context.get(Processes))
  const dead = yield* skein("dead")
  const alive = yield* skein("alive")
  /** Starts what writes its number to the file `pid`, and is killed with the test. */
  const start = (script: string, tracked?: Tracked) =>
    Effect.gen(function*() {
      const child = spawn("bash", ["-c", script], {
        cwd: top,
        stdio: "ignore",
        detached: true,
        env: { ...process.env, ...tracked?.environment }
      })
      const pid = child.pid ?? 0
      yield* Effect.addFinalizer(() => Effect.sync(() => child.kill("SIGKILL")))
      tracked?.started(pid)
      const written = yield* pidIn(join(top, "pid"))
      fs.rmSync(join(top, "pid"))
      return { pid, written }
    })
  const records = () => fs.readdirSync(join(top, "processes"))
  const reap = (of: typeof alive) => Effect.flatMap(Effect.fork(of.reap), elapse)
  return { top, layerOf, skein, dead, alive, start, records, reap }
})

describe("what a dead Skein has left", () => {
  const cases: Readonly<Record<string, readonly [script: string, isTold: boolean]>> = {
    "in the group of its command": ["sleep 9999 & echo $! > pid; wait", true],
    "in that group, its environment cleared and ignoring requests to end": [
      "trap '' TERM; env -i bash -c 'echo $$ > pid; while :; do sleep 9999; done' & wait",
      true
    ],
    "in a session of its own": ["setsid sh -c 'echo $$ > pid; exec sleep 9999' & wait", true],
    "in a session of its own, its command being over": ["(setsid sh -c 'echo $$ > pid; exec sleep 9999' &)", true],
    "in a session of its own, its environment cleared": [
      "env -i setsid bash -c 'echo $$ > pid; exec sleep 9999' & wait",
      true
    ],
    "of a command whose number it had no time to write down": ["echo $$ > pid; exec sleep 9999", false]
  }
  it.scoped.each(Object.entries(cases))("is ended: %s", ([, [script, isTold]]) =>
    Effect.gen(function*() {
      const { alive, dead, reap, records, start } = yield* world
      const tracked = yield* dead.track()
      const { written } = yield* start(script, isTold ? tracked : { ...tracked, started: () => {} })
      expect(yield* reap(alive)).toBeGreaterThan(0)
      yield* gone(written)
      expect(records()).toEqual([])
    }))
})

it.scoped("what a dead Skein has left is ended with what it starts when it is asked to end", () =>
  Effect.gen(function*() {
    const { alive, dead, start, top } = yield* world
    const last = "setsid sh -c \"echo \\$\\$ > last; exec sleep 9999\" & while [ ! -s last ]; do sleep 0.01; done; exit"
    yield* start(`trap '${last}' TERM; echo $$ > pid; while :; do sleep 0.01; done`, yield* dead.track())
    const reaped = yield* Effect.fork(alive.reap)
    const pid = yield* pidIn(join(top, "last"))
    yield* elapse(reaped)
    yield* gone(pid)
  }))

it.scoped("what a dead Skein has left is killed at once where nobody has time to wait", () =>
  Effect.gen(function*() {
    const { alive, dead, records, start } = yield* world
    const { pid } = yield* start("trap '' TERM; echo $$ > pid; while :; do sleep 9999; done", yield* dead.track())
    const fiber = yield* Effect.fork(alive.reap)
    yield* Effect.repeat(turn, { until: () => Effect.map(TestClock.sleeps(), (times) => [...times].length > 0) })
    yield* Fiber.interrupt(fiber)
    yield* gone(pid)
    expect(records()).toEqual([])
  }))

describe("what is left alone", () => {
  it.scoped("commands of a Skein that is there, or of which nothing is known", () =>
    Effect.gen(function*() {
      const { alive, reap, records, skein, start } = yield* world
      const other = yield* skein("other")
      const tracked = yield* other.track()
      const { pid } = yield* start("echo $$ > pid; exec sleep 9999", tracked)
      expect(yield* reap(alive)).toBe(0)
      expect(isAlive(pid)).toBe(true)
      expect(records()).toEqual([tracked.mark])
    }))

  it.scoped("records of which nothing is known go after a day, and nothing is ended", () =>
    Effect.gen(function*() {
      const { alive, records, skein, start, top } = yield* world
      const other = yield* skein("other")
      const tracked = yield* other.track()
      const { pid } = yield* start("echo $$ > pid; exec sleep 9999", tracked)
      fs.utimesSync(join(top, "processes", tracked.mark), 0, 0)
      yield* TestClock.adjust("23 hours")
      yield* alive.reap
      expect(records()).toEqual([tracked.mark])
      yield* TestClock.adjust("2 hours")
      yield* alive.reap
      expect(records()).toEqual([])
      expect(isAlive(pid)).toBe(true)
    }))

  it.scoped("another process that has the number of the command by now", () =>
    Effect.gen(function*() {
      const { alive, dead, reap, records, start, top } = yield* world
      const tracked = yield* dead.track()
      const { pid } = yield* start("echo $$ > pid; exec sleep 9999")
      fs.appendFileSync(join(top, "processes", tracked.mark), `${pid} 1\n`)
      expect(yield* reap(alive)).toBe(0)
      expect(isAlive(pid)).toBe(true)
      expect(records()).toEqual([])
    }))

  it.scoped("what records say that others could have written", () =>
    Effect.gen(function*() {
      const { alive, dead, reap, start, top } = yield* world
      const tracked = yield* dead.track()
      const { pid } = yield* start("echo $$ > pid; exec sleep 9999", tracked)
      fs.chmodSync(join(top, "processes", tracked.mark), 0o666)
      expect(yield* reap(alive)).toBe(0)
      expect(isAlive(pid)).toBe(true)
    }))

  it.scoped("what a Skein belongs to itself", () =>
    Effect.gen(function*() {
      const { dead, reap, skein, start } = yield* world
      const tracked = yield* dead.track()
      const inner = yield* skein("inner", tracked.environment)
      const { pid } = yield* start("echo $$ > pid; exec sleep 9999", tracked)
      expect(yield* reap(inner)).toBe(0)
      expect(isAlive(pid)).toBe(true)
    }))
})

it.scoped("what a Skein in a command of another one starts belongs to both", () =>
  Effect.gen(function*() {
    const { alive, dead, reap, skein, start } = yield* world
    const inner = yield* skein("inner", (yield* dead.track()).environment)
    const { pid } = yield* start("echo $$ > pid; exec sleep 9999", yield* inner.track())
    expect(yield* reap(alive)).toBe(1)
    yield* gone(pid)
  }))

it.scoped("the layer looks for what was left by itself", () =>
  Effect.gen(function*() {
    const { dead, layerOf, start } = yield* world
    const { pid } = yield* start("echo $$ > pid; exec sleep 9999", yield* dead.track())
    yield* Layer.build(layerOf("later"))
    yield* gone(pid)
  }))

it.scoped("a record that cannot be kept is told once, and the command runs", () =>
  Effect.gen(function*() {
    const { skein, top } = yield* world
    fs.writeFileSync(join(top, "processes"), "")
    const logged: Array<unknown> = []
    const log = Logger.replace(Logger.defaultLogger, Logger.make(({ message }) => logged.push(message)))
    const alive = yield* skein("alive")
    yield* turn
    const tracked = yield* Effect.scoped(Effect.zipRight(alive.track(), alive.track())).pipe(Effect.provide(log))
    expect(tracked.environment).toEqual({ SKEIN_GROUP: tracked.mark })
    expect(logged).toEqual([[
      expect.stringMatching(/^The record of a command, .* could not be made$/),
      expect.anything()
    ]])
  }))
