/** Proves that what a person asks in one process is done by the one that holds the tree, and answered there. */
import { expect, it } from "@effect/vitest"
import { answerAnywhere, askHolder, leaveRequest, refusals } from "@skein/core/Control"
import { Confinement, ModeRefused } from "@skein/core/Isolation"
import { Permission } from "@skein/core/Permission"
import type { ModelRequest } from "@skein/core/Provider"
import { Session } from "@skein/core/Session"
import { findTask } from "@skein/core/SessionLookup"
import { SessionStorage, type Write } from "@skein/core/SessionStorage"
import { Tasks } from "@skein/core/Tasks"
import type { ControlRow } from "@skein/domain/Control"
import { PermissionID } from "@skein/domain/Id"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { touch } from "./support/asking.ts"
import { asked, generations, go } from "./support/generations.ts"
import { run, stack, type Storage } from "./support/sharedStorage.ts"
import { childrenOf, root } from "./support/tree.ts"

/** The storage as several processes see it, with the requests between them. */
const shared = (inner: Storage) => {
  const rows = new Map<string, ControlRow>()
  const note = (write: Write) => {
    if (write._tag === "Control") rows.set(write.row.id, write.row)
    if (write._tag === "RemoveControl") rows.delete(write.id)
  }
  const layer = Layer.succeed(SessionStorage, {
    ...inner,
    mail: Effect.sync(() => [...rows.values()].filter(({ answer }) => answer === undefined)),
    commit: (writes) => Effect.tap(inner.commit(writes), () => Effect.sync(() => writes.forEach(note)))
  })
  return { layer, rows }
}

/** A root whose task works for a minute in one process, and another process. */
const scene = (inner: Storage) =>
  Effect.gen(function*() {
    const { layer, rows } = shared(inner)
    const script = Scripted.make({
      build: ({ messages }) =>
        messages.some(({ role }) => role === "tool")
          ? "the end"
          : Scripted.call("task", { description: "d", prompt: "p", subagent_type: "worker" }),
      worker: (request) =>
        Scripted.lastText(request) === "p"
          ? { calls: [{ tool: "touch", input: { path: "src/a" } }], delay: { first: 30_000 } }
          : { text: "heard", delay: { first: 30_000 } }
    })
    const options = {
      tools: [touch],
      asks: "person" as const,
      confinement: Layer.succeed(Confinement, { auto: new ModeRefused({ message: "There is no sandbox." }) })
    }
    const holder = yield* stack(script, layer, options)
    const other = yield* stack(Scripted.make({}), layer, options)
    const { id } = yield* Effect.provide(root(), holder)
    const prompted = yield* Effect.fork(Effect.either(Effect.provide(Session.prompt(id, "Go"), holder)))
    yield* Effect.sleep(5_000)
    const [child] = yield* Effect.provide(childrenOf(id), holder)
    return { child: child!, holder, id, other, prompted, rows }
  })

it("a stop ends the tree where it works, and the asker waits for that", () => {
  run((inner) =>
    Effect.gen(function*() {
      const { id, other, prompted, rows } = yield* scene(inner)
      yield* Effect.provide(Effect.flatMap(Session, (session) => session.stop(id, "the user")), other)
      expect(yield* Fiber.join(prompted)).toMatchObject(Either.left({ _tag: "SessionStopped" }))
      const { rows: runs } = yield* inner.runs({ rootID: id })
      expect(runs).toMatchObject([{ state: "settled", outcome: { status: "stopped", by: "the user" } }])
      expect(rows.size).toBe(0)
    })
  )
})

it("a task is stopped, gets a message, and moves to the background", () => {
  run((inner) =>
    Effect.gen(function*() {
      const { child, holder, id, other, prompted } = yield* scene(inner)
      const [task, tasks] = yield* Effect.provide(Effect.all([findTask(child.id), Tasks]), other)
      expect(yield* tasks.message(task, "more")).toBe("steered")
      expect(yield* tasks.promote(task)).toMatchObject({ status: "accepted", taskID: child.id })
      expect(yield* Effect.either(tasks.promote(task))).toMatchObject(
        Either.left({ _tag: "TaskRefused", reason: "settled" })
      )
      expect(yield* Fiber.join(prompted)).toMatchObject(Either.right({ text: "the end" }))
      expect(yield* tasks.stop(task, { by: "the user", reason: "enough" })).toMatchObject([{ status: "stopped" }])
      yield* Effect.provide(Effect.flatMap(Session, (session) => session.untilIdle(id)), holder)
    })
  )
})

it("a mode changes, and a question is answered", () => {
  run((inner) =>
    Effect.gen(function*() {
      const { holder, id, other, rows } = yield* scene(inner)
      yield* Effect.sleep(40_000)
      const pending = yield* Effect.provide(Effect.flatMap(Permission, (permission) => permission.pending(id)), holder)
      expect(pending).toHaveLength(1)
      const reply = (asked: PermissionID) =>
        Effect.either(Effect.provide(
          answerAnywhere({ type: "reply", id: asked, answer: "once" }, Permission.reply(asked, "once")),
          other
        ))
      let asked = 0
      const set = rows.set.bind(rows)
      rows.set = (...row) => (asked++, set(...row))
      expect(yield* reply(PermissionID.make("per_none"))).toMatchObject(Either.left({ _tag: "PermissionNotFound" }))
      // Nobody is asked about a question that no tree has asked.
      expect(asked).toBe(0)
      expect(yield* reply(pending[0]!.id)).toEqual(Either.right(undefined))
      expect(yield* Effect.provide(Effect.flatMap(Permission, (permission) => permission.pending(id)), holder)).toEqual(
        []
      )
      const info = yield* Effect.provide(Effect.flatMap(Session, (session) => session.setMode(id, "edits")), other)
      expect(info).toMatchObject({ id, mode: "edits" })
      const refused = yield* Effect.flip(
        Effect.provide(Effect.flatMap(Session, (session) => session.setMode(id, "auto")), other)
      )
      // No storage is to blame, so nobody tries again.
      expect(refused).toEqual(new ModeRefused({ message: "There is no sandbox." }))
      expect(yield* Effect.provide(Effect.flatMap(Session, (session) => session.get(id)), holder)).toMatchObject({
        mode: "edits"
      })
      yield* Effect.provide(Effect.flatMap(Session, (session) => session.stop(id)), holder)
    })
  )
})

it("a request that its holder did not answer waits for the next one, and a message is delivered once", () => {
  run((inner) =>
    Effect.gen(function*() {
      const { child, holder, id, rows } = yield* scene(inner)
      const place = { id: child.id, rootID: id }
      const left = yield* Effect.provide(leaveRequest(place, { type: "task_message", message: "once" }), holder)
      yield* Effect.sleep(2_000)
      expect(rows.get(left.id)?.answer).toEqual({ ok: true, value: "steered" })
      // As if the holder had ended before it could answer.
      yield* inner.commit([{ _tag: "Control", row: left }])
      rows.set(left.id, left)
      yield* Effect.sleep(2_000)
      expect(rows.get(left.id)?.answer).toEqual({ ok: true, value: "steered" })
      expect((yield* inner.inbox(child.id)).rows).toHaveLength(1)
      yield* Effect.provide(Effect.flatMap(Session, (session) => session.stop(id)), holder)
      yield* Effect.sleep(60_000)
      // Nobody holds the tree any more.
      expect(yield* Effect.provide(askHolder(place, { type: "stop" }, refusals.stop), holder)).toBeUndefined()
    })
  )
})

it("a message that its holder delivered, and ended before it could say so, is not sent again", () => {
  run((inner) =>
    Effect.gen(function*() {
      const cut: Storage = {
        ...inner,
        commit: (writes) =>
          writes.some((write) => write._tag === "Control" && write.row.answer !== undefined)
            ? Effect.never
            : inner.commit(writes)
      }
      const { child, id, other, rows } = yield* scene(cut)
      const task = yield* Effect.provide(findTask(child.id), other)
      const sent = yield* Effect.fork(
        Effect.provide(Effect.flatMap(Tasks, ({ message }) => message(task, "once")), other)
      )
      yield* Effect.sleep(2_000)
      const { epoch, owner } = Option.getOrThrow(yield* inner.lease(id))
      yield* inner.commit([{ _tag: "Release", lease: { rootID: id, owner: owner!, epoch } }])
      expect(yield* Fiber.join(sent)).toBe("steered")
      expect((yield* inner.inbox(child.id)).rows).toHaveLength(1)
      expect(rows.size).toBe(0)
    })
  )
})

it("a request is carried out once, although it is read again while it is in hand", () => {
  run((inner) =>
    Effect.gen(function*() {
      const answers: Array<string> = []
      let commits = 0
      const rows = new Map<string, ControlRow>()
      /** Reads only what others have committed since, as SQLite tells it. */
      const seenBy = (isHolder: boolean) => {
        let seen = -1
        const mail = Effect.sync(() => {
          if (seen === commits) return undefined
          seen = commits
          return [...rows.values()].filter(({ answer }) => answer === undefined)
        })
        const note = (write: Write) => {
          if (write._tag === "RemoveControl") rows.delete(write.id)
          if (write._tag !== "Control") return
          rows.set(write.row.id, write.row)
          if (write.row.answer !== undefined) answers.push(write.row.request.type)
        }
        return Layer.succeed(SessionStorage, {
          ...inner,
          mail,
          commit: (writes) =>
            Effect.tap(inner.commit(writes), () =>
              Effect.sync(() => {
                if (!isHolder) commits++
                writes.forEach(note)
              }))
        })
      }
      const script = Scripted.make({
        build: ({ messages }) =>
          messages.some(({ role }) => role === "tool")
            ? { text: "the end", delay: { first: 60_000 } }
            : Scripted.call("task", { description: "d", prompt: "p", subagent_type: "worker" }),
        worker: () => ({ text: "heard", delay: { first: 3_000 } })
      })
      const holder = yield* stack(script, seenBy(true))
      const other = yield* stack(Scripted.make({}), seenBy(false))
      const { id } = yield* Effect.provide(root(), holder)
      yield* Effect.fork(Effect.either(Effect.provide(Session.prompt(id, "Go"), holder)))
      yield* Effect.sleep(1_000)
      const [child] = yield* Effect.provide(childrenOf(id), holder)
      yield* Effect.provide(leaveRequest({ id: child!.id, rootID: id }, { type: "task_stop", by: "me" }), other)
      yield* Effect.sleep(1_000)
      // Another process stores something while the task concludes.
      yield* Effect.provide(leaveRequest({ id, rootID: id }, { type: "mode", mode: "edits" }), other)
      yield* Effect.sleep(20_000)
      expect(answers.toSorted()).toEqual(["mode", "task_stop"])
      yield* Effect.provide(Effect.flatMap(Session, (session) => session.stop(id)), holder)
    })
  )
})

it.each(["stop", "task_stop"] as const)(
  "a %s that a dead holder did not answer holds before its task continues",
  (type) => {
    const scripts = {
      build: ({ messages }: ModelRequest) =>
        messages.some(({ role }) => role === "tool")
          ? "the end"
          : Scripted.call("task", { description: "d", prompt: "p", subagent_type: "worker", background: true }),
      worker: [{ text: "done", delay: { first: 60_000 } }]
    }
    const options = { agents: [SkeinTest.agent("worker")] }
    generations({ scripts, options, dies: 5_000, program: go }, {
      scripts,
      options,
      program: (id, script) =>
        Effect.gen(function*() {
          const session = yield* Session
          const storage = yield* SessionStorage
          const [child] = yield* childrenOf(id)
          const place = { id: type === "stop" ? id : child!.id, rootID: id }
          const left = yield* leaveRequest(place, { type, by: "the user" })
          yield* session.resume(id)
          yield* session.untilIdle(id)
          expect(asked(script)).not.toContain("build/worker")
          expect((yield* storage.runs({ rootID: id })).rows).toMatchObject([
            { state: "settled", outcome: { status: "stopped", by: "the user" } }
          ])
          expect(Option.getOrUndefined(yield* storage.control(left.id))?.answer).toMatchObject({ ok: true })
          expect(yield* storage.waiting(id)).toEqual([])
        })
    })
  }
)
