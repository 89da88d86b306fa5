/** Servers that run a tool as a task, by both revisions, and those that do so badly. */
import { describe, expect, it } from "@effect/vitest"
import { Question } from "@skein/core/Question"
import type { ToolContext } from "@skein/core/Tool"
import type { McpServerConfig } from "@skein/domain/McpConfig"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { existsSync, mkdtempSync, readFileSync, rmSync, watch } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { openAsking } from "./support/host.ts"

const script = fileURLToPath(new URL("./support/taskServer.mjs", import.meta.url))

/** The messages that a server has noted. */
const makeNotes = Effect.map(
  Effect.acquireRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "skein-tasks-"))),
    (directory) => Effect.sync(() => rmSync(directory, { recursive: true }))
  ),
  (directory) => {
    const file = join(directory, "notes")
    const read = (): ReadonlyArray<{ readonly method?: string; readonly params?: Record<string, unknown> }> =>
      existsSync(file) ? readFileSync(file, "utf8").split("\n").slice(0, -1).map((line) => JSON.parse(line)) : []
    const count = (method: string) => read().filter((each) => each.method === method).length
    /** Waits until the server has got such a message. */
    const has = (method: string) =>
      Effect.async<void>((resume) => {
        const watcher = watch(directory, () => look())
        const look = () => {
          if (count(method) === 0) return
          watcher.close()
          resume(Effect.void)
        }
        look()
        return Effect.sync(() => watcher.close())
      })
    return { file, read, count, has }
  }
)

/** A person who agrees to everything. */
const agrees = Question.of(
  {
    ask: () => Effect.succeed(["Agree"])
  } as unknown as Question["Type"]
)

const start = (how: string, revision: string, more: Partial<McpServerConfig> = {}) =>
  Effect.gen(function*() {
    const notes = yield* makeNotes
    const begun = yield* Deferred.make<void>()
    const source = yield* Effect.provideService(
      openAsking({ fake: { command: [process.execPath, script, how, revision], env: { NOTES: notes.file }, ...more } }),
      Question,
      agrees
    )
    yield* source.ready
    const titles: Array<string> = []
    const context = {
      rootID: "ses_1",
      readsOnly: false,
      report: ({ title }: { readonly title: string }) =>
        Effect.zipRight(Effect.sync(() => titles.push(title)), Deferred.succeed(begun, undefined))
    } as unknown as ToolContext
    const tool = source.current().find(({ name }) => name === "mcp_fake_work")
    const call = tool?.execute({}, context, undefined) ?? Effect.dieMessage("there is no tool")
    return { ...notes, begun: Deferred.await(begun), call: Effect.either(call), titles }
  })

describe.each(["2025-11-25", "2026-07-28"])("a server of %s that makes a task of a call", (revision) => {
  const isModern = revision === "2026-07-28"

  it.scopedLive("is asked until it has ended; its status is shown, and its result is read once", () =>
    Effect.gen(function*() {
      const { call, count, titles } = yield* start("fine", revision)
      expect(yield* call).toMatchObject({ right: { output: "done: null" } })
      expect(titles).toEqual([0, 1, 2, 3].map((look) => `fake: work: look ${look}`))
      expect({ looks: count("tasks/get"), reads: count("tasks/result"), cancels: count("tasks/cancel") })
        .toEqual({ looks: 3, reads: isModern ? 0 : 1, cancels: 0 })
    }))

  it.scopedLive("may have ended it before it is asked", () =>
    Effect.gen(function*() {
      const { call, count } = yield* start("at-once", revision)
      expect(yield* call).toMatchObject({ right: { output: "done: null" } })
      expect(count("tasks/get")).toBe(0)
    }))

  it.scopedLive("asks a person through the call, and goes on with the answer", () =>
    Effect.gen(function*() {
      const { call, count } = yield* start("asks", revision)
      expect(yield* call).toMatchObject({ right: { output: expect.stringContaining("\"accept\"") } })
      expect(count("tasks/result")).toBe(isModern ? 0 : 1)
    }))

  it.scopedLive("cancels it when the call is interrupted, which does not wait for its end", () =>
    Effect.gen(function*() {
      const { begun, call, count, read } = yield* start("late", revision)
      const running = yield* Effect.fork(call)
      yield* begun
      yield* Fiber.interrupt(running)
      expect(read().filter(({ method }) => method === "tasks/cancel")).toMatchObject([{ params: { taskId: "task-1" } }])
      expect(count("tasks/result")).toBe(0)
    }))

  it.scopedLive("has a task cancelled that it makes of a call after that was cancelled", () =>
    Effect.gen(function*() {
      const { call, has } = yield* start("after-cancel", revision)
      const running = yield* Effect.fork(call)
      yield* has("tools/call")
      yield* Fiber.interrupt(running)
      yield* has("tasks/cancel")
    }))

  it.scopedLive("never ends it: once nothing new comes for its timeout, the task is cancelled", () =>
    Effect.gen(function*() {
      const { call, count } = yield* start("endless", revision, { timeout: 300 })
      expect(yield* call).toMatchObject({ left: { message: expect.stringContaining("timed out") } })
      expect(count("tasks/cancel")).toBe(1)
    }))

  it.scopedLive("knows it no longer: its outcome is unknown, and nobody says otherwise", () =>
    Effect.gen(function*() {
      const { call } = yield* start("forgets", revision)
      expect(yield* call).toMatchObject({
        left: { message: expect.stringContaining("the outcome of its task is unknown: Task not found") }
      })
    }))

  it.scopedLive.each([
    { how: "other", why: "the outcome of its task is unknown: it answered about another task" },
    { how: "cancels-itself", why: "its task was cancelled by the server: look 2" },
    { how: "garbage", why: "it answered with an invalid task" },
    { how: "fails", why: "out of cheese" }
  ])("fails the call where it says so or cannot be understood: $how", ({ how, why }) =>
    Effect.gen(function*() {
      const { call } = yield* start(how, revision)
      expect(yield* call).toMatchObject({ left: { message: expect.stringContaining(why) } })
    }))

  it.scopedLive("tells of its status without end, and is answered all the same", () =>
    Effect.gen(function*() {
      const { call } = yield* start("flood", revision)
      expect(yield* call).toMatchObject({ right: { output: "done: null" } })
    }))
})
