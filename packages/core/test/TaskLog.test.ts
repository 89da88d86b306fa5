import { expect, it } from "@effect/vitest"
import { Session } from "@skein/core/Session"
import * as TaskLog from "@skein/core/TaskLog"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as HashMap from "effect/HashMap"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as TestClock from "effect/TestClock"
import { childrenOf, root } from "./support/tree.ts"

it.effect("tasks are logged when they are created, begin to work and end", () => {
  const lines: Array<Readonly<Record<string, unknown>>> = []
  const logger = Logger.make<unknown, void>(({ annotations, date, logLevel, message }) => {
    lines.push({
      at: date.getTime(),
      level: logLevel.label,
      message: String(message),
      ...Object.fromEntries(HashMap.toEntries(annotations))
    })
  })
  const script = Scripted.make({
    build: [Scripted.tasks({ worker: "one" }, { worker: "two" }), "ok"],
    worker: (request) =>
      Scripted.lastText(request).includes("two")
        ? Scripted.fault("auth", { message: "no way" })
        : { text: "done", delay: { first: 1_000 } }
  })
  const agents = [SkeinTest.agent("worker")]
  const services = SkeinTest.layer(script, { agents, config: { limits: { concurrency: 1 } } })
  return Effect.gen(function*() {
    const { id } = yield* root()
    const fiber = yield* Effect.fork(Session.prompt(id, "Go"))
    yield* TestClock.adjust("1 minute")
    yield* Fiber.join(fiber)
    const [one, two] = (yield* childrenOf(id)).map((child) => child.id)
    const told = lines.filter(({ level, message }) => level === "INFO" && String(message).startsWith("A task"))
    const of = (task: unknown) => told.filter((line) => line["task"] === task)
    const order = ["A task is created", "A task begins", "A task has ended"]
    for (const task of [one, two]) expect(of(task).map(({ message }) => message)).toEqual(order)
    // The second one waits for the slot of the first.
    expect(of(one).map(({ at }) => at)).toEqual([0, 0, 1_000])
    expect(of(two).map(({ at }) => at)).toEqual([0, 1_000, 1_000])
    expect(told[0]).toMatchObject({ agent: "worker", parent: id, root: id, depth: 1, run: expect.any(String) })
    expect(of(one)[2]).toMatchObject({ outcome: "completed", durationMs: 1_000, steps: 1 })
    expect(of(two)[2]).toMatchObject({ outcome: "failed", reason: "no way" })
  }).pipe(
    Effect.provide(Layer.provideMerge(TaskLog.layer, services)),
    Effect.provide(Logger.replace(Logger.defaultLogger, logger))
  )
})
