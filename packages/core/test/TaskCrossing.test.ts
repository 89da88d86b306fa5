import { describe, expect, it } from "@effect/vitest"
import { Agent } from "@skein/core/Agent"
import { Isolation, IsolationRefused } from "@skein/core/Isolation"
import { Session } from "@skein/core/Session"
import { SessionStorage } from "@skein/core/SessionStorage"
import * as Skein from "@skein/core/Skein"
import { Tasks } from "@skein/core/Tasks"
import * as Scripted from "@skein/testing/ScriptedProvider"
import { seeds, share } from "@skein/testing/Seeds"
import { simulate } from "@skein/testing/Simulation"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Random from "effect/Random"
import * as TestClock from "effect/TestClock"
import { makeRecordedStorage } from "./support/storage.ts"
import { childrenOf, expectStill, root } from "./support/tree.ts"

const aWhile = (most: number) => Effect.flatMap(Random.nextIntBetween(0, most + 1), (ms) => Effect.sleep(ms))
const worker = SkeinTest.agent("worker")

describe("a disposable task", () => {
  /** Resumes such a task at a time near its deletion; returns the result. */
  const resumed = (seed: number, background: boolean) => {
    const script = Scripted.make({
      build: (request) =>
        request.origin.step === 0
          ? Scripted.call("task", {
            description: "d",
            prompt: "p",
            subagent_type: "worker",
            background,
            cleanup: "delete"
          })
          : "well",
      worker: (request) => ({ text: Scripted.lastText(request) === "more" ? "second" : "first", delay: { first: 20 } })
    })
    const program = Effect.gen(function*() {
      const [session, tasks, storage] = yield* Effect.all([Session, Tasks, SessionStorage])
      const { id } = yield* root()
      const prompt = yield* Effect.fork(session.prompt(id, "Go"))
      const [child] = yield* Effect.repeat(Effect.zipRight(Effect.sleep(1), childrenOf(id)), {
        until: (found) => found.length > 0
      })
      yield* aWhile(60)
      const request = { parentID: id, agent: "worker", description: "d", prompt: "more", byUser: true }
      const result = yield* Effect.either(tasks.run({ ...request, taskID: child!.id }))
      yield* Fiber.join(prompt)
      yield* session.untilIdle(id)
      yield* Effect.sleep("1 minute")
      yield* expectStill(id, script)
      const left = yield* childrenOf(id)
      if (result._tag === "Left") {
        expect(result.left, `${seed}`).toMatchObject({ _tag: "TaskRefused", reason: "not_found" })
        expect(result.left.message).toMatch(/^Task not found: /)
        expect(left, `${seed}: removed as a whole`).toEqual([])
        expect((yield* storage.runs({ rootID: id })).rows).toEqual([])
        return "refused"
      }
      expect(result.right, `${seed}`).toMatchObject({ status: "completed", text: "second" })
      // If the first outcome is read only after the second run has ended, nothing continues.
      const kept = left.length === 0 ? 0 : (yield* session.messages(child!.id)).length
      expect([0, 4], `${seed}: a whole session or none`).toContain(kept)
      expect((yield* storage.runs({ rootID: id })).rows).toHaveLength(kept / 2)
      if (kept === 0) return "removed later"
      return "resumed"
    })
    const storage = makeRecordedStorage({ latency: seed % 6 })
    return simulate(
      program.pipe(Effect.provide(SkeinTest.layer(script, { agents: [worker], storage: storage.layer }))),
      { seed, maxSlice: 60 }
    )
  }

  it.each([false, true])(
    "is either kept and resumed, or gone: never half of it (background: %s)",
    (background) => {
      const ends = seeds(1, 150).map((seed) => resumed(seed, background))
      for (const end of ["refused", "resumed"]) {
        expect(ends.filter((each) => each === end).length).toBeGreaterThan(share(10))
      }
    },
    30_000
  )
})

it("a task whose deletion fails can be found again", () => {
  const storage = makeRecordedStorage()
  const script = Scripted.make({ build: ["well"], worker: ["first", "second"] })
  const program = Effect.gen(function*() {
    const [session, tasks] = yield* Effect.all([Session, Tasks])
    const { id } = yield* root()
    const request = { parentID: id, agent: "worker", description: "d", prompt: "p", byUser: true }
    const { taskID } = yield* tasks.run(request)
    storage.failWhere(() => true)
    expect(yield* Effect.flip(session.remove(taskID))).toMatchObject({ _tag: "StorageError" })
    storage.failWhere(() => false)
    expect(yield* tasks.run({ ...request, taskID })).toMatchObject({ status: "completed", text: "second" })
    yield* session.remove(taskID)
    expect(yield* Effect.flip(tasks.run({ ...request, taskID }))).toMatchObject({ reason: "not_found" })
    expect(yield* Effect.flip(session.prompt(taskID, "Go"))).toMatchObject({ _tag: "SessionNotFound" })
  })
  simulate(
    program.pipe(Effect.provide(SkeinTest.layer(script, { agents: [worker], storage: storage.layer }))),
    { seed: 1 }
  )
})

describe("a message to an isolated task", () => {
  /** Isolation of one task, with slow operations. */
  const isolation = (place: { there: boolean }) =>
    Layer.succeed(Isolation, {
      open: ({ taskID }) => {
        const directory = `/worktrees/${taskID}`
        const opened = { directory, root: directory, branch: taskID, base: "abc", gitDirectory: "/git", omits: [] }
        const make = Effect.sync(() => {
          place.there = true
          return opened
        })
        return Effect.suspend(() => place.there ? make : Effect.zipRight(Effect.sleep("2 seconds"), make))
      },
      close: () =>
        Effect.map(Effect.sleep("1 second"), () => {
          place.there = false
          return { kept: false as const }
        }),
      contains: ({ taskID, root }) => Effect.succeed(root === `/worktrees/${taskID}`),
      list: Effect.succeed([]),
      remove: () => Effect.void
    })

  const slow = SkeinTest.tool("slow", () => Effect.as(Effect.sleep("1 minute"), "waited"))

  it.each(["caller", "task"])("starts a new run when its %s is stopped, and both outcomes are reported", (which) => {
    const place = { there: false }
    const prompts: Array<string> = []
    const script = Scripted.make({
      build: ["well"],
      worker: (request) => {
        prompts.push(Scripted.lastText(request))
        return request.origin.step === 0 ? { ...Scripted.call("slow", {}), text: "Half." } : { text: "Seen." }
      }
    })
    const program = Effect.gen(function*() {
      const [session, tasks, storage] = yield* Effect.all([Session, Tasks, SessionStorage])
      const { id } = yield* root()
      const request = { parentID: id, agent: "worker", description: "d", byUser: true }
      const outcomes: Array<string> = []
      const fiber = yield* Effect.fork(tasks.run({ ...request, prompt: "p", isolation: "worktree" }, {
        started: () => Effect.void,
        summary: () => Effect.void,
        settled: ({ status }) => Effect.sync(() => outcomes.push(status))
      }))
      yield* Effect.sleep("5 seconds")
      const [child] = yield* childrenOf(id)
      const name = { parentID: id, taskID: child!.id }
      expect(yield* tasks.message(name, "look left")).toBe("steered")
      const began = yield* Effect.clockWith((clock) => clock.currentTimeMillis)
      const exit = yield* which === "caller"
        ? Fiber.interrupt(fiber)
        : Effect.zipRight(tasks.stop(name, { by: "me" }), Fiber.await(fiber))
      expect((yield* Effect.clockWith((clock) => clock.currentTimeMillis)) - began, "in time").toBeLessThan(5_000)
      expect(Exit.isInterrupted(exit)).toBe(which === "caller")
      expect(outcomes).toEqual(["stopped"])
      yield* session.untilIdle(id)
      yield* Effect.sleep("1 minute")
      expect(prompts.filter((words) => words.includes("look left")).length).toBe(1)
      const { rows } = yield* storage.runs({ rootID: id })
      expect(rows.map(({ outcome }) => outcome?.status).slice(0, 1)).toEqual(["stopped"])
      if (which === "caller") expect(rows[1]).toMatchObject({ prompt: "look left", outcome: { status: "completed" } })
      expect(place.there).toBe(false)
      expect((yield* storage.inbox(child!.id)).rows).toEqual([])
      yield* expectStill(id, script)
    })
    simulate(
      program.pipe(Effect.provide(Skein.layer({
        provider: script.layer,
        agents: Agent.layerWith([worker], []),
        tools: Effect.succeed([slow]),
        isolation: isolation(place)
      }))),
      { seed: 1 }
    )
  })

  it("gets its worktree, even if that is being closed when the message arrives", () => {
    for (let ms = 0; ms <= 4_000; ms += 200) {
      const place = { there: false }
      const places: Array<boolean> = []
      const script = Scripted.make({
        build: ["well"],
        worker: () => {
          places.push(place.there)
          return { text: "Done.", delay: { first: 100 } }
        }
      })
      const program = Effect.gen(function*() {
        const [session, tasks] = yield* Effect.all([Session, Tasks])
        const { id } = yield* root()
        const request = { parentID: id, agent: "worker", description: "d", prompt: "p", byUser: true }
        const { taskID } = yield* tasks.run({ ...request, isolation: "worktree", background: true })
        yield* Effect.sleep(ms)
        expect(yield* tasks.run({ ...request, taskID })).toMatchObject({ status: "completed" })
        yield* session.untilIdle(id)
        expect([places, place.there], `${ms}`).toEqual([[true, true], false])
      })
      const agents = Agent.layerWith([worker], [])
      simulate(
        program.pipe(Effect.provide(Skein.layer({ provider: script.layer, agents, isolation: isolation(place) }))),
        { seed: 1 + ms }
      )
    }
  })

  it("is answered by the outcome of a run without a worktree", () => {
    let opened = 0
    const place = { there: false }
    const broken = Layer.effect(
      Isolation,
      Effect.map(Isolation, (inner) => ({
        ...inner,
        open: (of: Parameters<typeof inner.open>[0]) =>
          opened++ === 0
            ? inner.open(of)
            : Effect.fail(new IsolationRefused({ reason: "failed", message: "The disk is full." }))
      }))
    ).pipe(Layer.provide(isolation(place)))
    const script = Scripted.make({ build: ["well"], worker: ["Done."] })
    const program = Effect.gen(function*() {
      const [session, tasks, storage] = yield* Effect.all([Session, Tasks, SessionStorage])
      const { id } = yield* root()
      const request = { parentID: id, agent: "worker", description: "d", prompt: "p", byUser: true }
      const first = yield* tasks.run({ ...request, isolation: "worktree" })
      expect(yield* tasks.message({ parentID: id, taskID: first.taskID }, "look left")).toMatchObject({
        status: "accepted"
      })
      yield* session.untilIdle(id)
      expect((yield* storage.runs({ rootID: id })).rows[1]).toMatchObject({
        prompt: "look left",
        outcome: { status: "failed", error: { tag: "isolation", message: "The disk is full." } }
      })
      expect(JSON.stringify(yield* session.messages(id))).toContain("The disk is full.")
      yield* expectStill(id, script)
    })
    simulate(
      program.pipe(
        Effect.provide(
          Skein.layer({ provider: script.layer, agents: Agent.layerWith([worker], []), isolation: broken })
        )
      ),
      { seed: 1 }
    )
  })
})

describe("a run that is ended before it has a slot", () => {
  const slow = SkeinTest.agent("slow")
  const agents = [worker, slow]
  const one = { limits: { concurrency: 1 } }

  it.effect("while it is being queued holds no slot, and blocks nothing behind it", () => {
    const script = Scripted.make({ worker: ["done"] })
    return Effect.gen(function*() {
      const tasks = yield* Tasks
      const { id } = yield* root()
      const request = { parentID: id, agent: "worker", description: "d", prompt: "p", byUser: true }
      let taskID = ""
      const started = (run: { readonly taskID: string }) => {
        taskID = run.taskID
        return Effect.sleep(10)
      }
      const nothing = () => Effect.void
      const run = yield* Effect.fork(tasks.run(request, { started, summary: nothing, settled: nothing }))
      yield* TestClock.adjust(5)
      const stop = yield* Effect.fork(tasks.stop({ parentID: id, taskID }, { by: "me" }))
      yield* TestClock.adjust(50)
      expect((yield* Fiber.join(stop)).map(({ status }) => status)).toEqual(["stopped"])
      expect(yield* Fiber.join(run)).toMatchObject({ status: "stopped", by: "me" })
      yield* expectStill(id, script)
      expect(yield* tasks.run({ ...request, taskID })).toMatchObject({ status: "completed", text: "done" })
      yield* expectStill(id, script)
    }).pipe(Effect.provide(SkeinTest.layer(script, { agents, config: one })))
  })

  it.effect("leaves the budget to an earlier run of the same task, and reports its usage", () => {
    const script = Scripted.make({
      slow: [{ text: "slow", delay: { first: 100 } }],
      worker: (request) => ({
        text: `step ${request.origin.step}`,
        calls: [{ tool: "none", input: { at: request.origin.step } }],
        delay: { first: 100 }
      })
    })
    return Effect.gen(function*() {
      const tasks = yield* Tasks
      const session = yield* Session
      const { id } = yield* root()
      const request = {
        parentID: id,
        agent: "worker",
        description: "d",
        prompt: "p",
        byUser: true,
        budget: { steps: 3 }
      }
      yield* Effect.fork(tasks.run({ ...request, agent: "slow" }))
      yield* TestClock.adjust(50)
      const first = yield* Effect.fork(tasks.run(request))
      yield* TestClock.adjust(0)
      const taskID = (yield* childrenOf(id)).find(({ agent }) => agent === "worker")!.id
      const giveUpBehind = Effect.gen(function*() {
        const behind = yield* Effect.fork(tasks.run({ ...request, taskID }))
        yield* TestClock.adjust(0)
        yield* Fiber.interrupt(behind)
      })
      yield* giveUpBehind
      expect(yield* session.status(taskID)).toMatchObject({ type: "queued" })
      yield* TestClock.adjust(200)
      yield* giveUpBehind
      yield* TestClock.adjust("1 minute")
      expect(yield* Fiber.join(first)).toMatchObject({ status: "budget_exhausted", usage: { steps: 3 } })
      yield* expectStill(id, script)
    }).pipe(Effect.provide(SkeinTest.layer(script, { agents, config: one })))
  })
})
