import { describe, expect, it } from "@effect/vitest"
import { Config } from "@skein/core/Config"
import { Governor } from "@skein/core/Governor"
import type { Call, Slot, SlotNews } from "@skein/core/Slot"
import type { SessionID } from "@skein/domain/Id"
import { share } from "@skein/testing/Seeds"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Fiber from "effect/Fiber"
import * as FiberId from "effect/FiberId"
import * as Layer from "effect/Layer"
import * as Scheduler from "effect/Scheduler"
import * as TestClock from "effect/TestClock"
import { simulate } from "./support/simulate.ts"

const governed = (concurrency: number, process_concurrency = 64) =>
  Governor.layer.pipe(Layer.provide(Config.layer({ limits: { concurrency, process_concurrency } })))

const rootID = (name: string | number) => `ses_${name}` as SessionID
const silent: SlotNews = { queued: () => Effect.void, granted: Effect.void }

/** Agents that note when they begin and end their work. */
const makeNotes = () => {
  const notes: Array<string> = []
  const note = (words: string) => Effect.sync(() => void notes.push(words))
  const agent = Effect.fnUntraced(
    function*(name: string, root = "r", queued: SlotNews["queued"] = silent.queued) {
      const governor = yield* Governor
      const work = Effect.zipRight(note(`${name} begins`), Effect.zipRight(Effect.sleep(100), note(`${name} ends`)))
      yield* governor.slot(rootID(root), { ...silent, queued }).work(work)
    }
  )
  return { notes, note, agent }
}

describe("the governor", () => {
  it.effect("lets as many agents of a root work as the limit says, first come first served", () => {
    const { agent, notes } = makeNotes()
    return Effect.gen(function*() {
      const all = yield* Effect.fork(
        Effect.forEach(["a", "b", "c", "d"], (name) => agent(name), { concurrency: "unbounded", discard: true })
      )
      yield* TestClock.adjust(50)
      expect(notes).toEqual(["a begins", "b begins"])
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(all)
      expect(notes.filter((note) => note.endsWith("begins"))).toEqual(["a begins", "b begins", "c begins", "d begins"])
    }).pipe(Effect.provide(governed(2)))
  })

  it.effect("tells those who wait their place in the queue, and not those who need not wait", () => {
    const { agent } = makeNotes()
    const told: Array<string> = []
    return Effect.gen(function*() {
      yield* Effect.fork(
        Effect.forEach(
          ["a", "b", "c"],
          (name) => agent(name, "r", (position) => Effect.sync(() => void told.push(`${name} ${position}`))),
          { concurrency: "unbounded", discard: true }
        )
      )
      yield* TestClock.adjust(0)
      expect(told).toEqual(["b 1", "c 2"])
      expect(yield* Effect.flatMap(Governor, (governor) => governor.load)).toEqual({ held: 1, waiting: 2 })
    }).pipe(Effect.provide(governed(1)))
  })

  it.effect("leaves nobody waiting when a call is interrupted that asks for the slot again, whatever it does just then", () => {
    const isGoneOnWith = (operation: number) => {
      let target: Fiber.RuntimeFiber<unknown, unknown> | undefined
      let operations = 0
      const interrupts: Scheduler.Scheduler = {
        shouldYield: (fiber) => {
          if (fiber === target && operations++ === operation) fiber.unsafeInterruptAsFork(FiberId.none)
          return false
        },
        scheduleTask: (task, priority) => Scheduler.defaultScheduler.scheduleTask(task, priority)
      }
      return Effect.gen(function*() {
        const governor = yield* Governor
        const waited = yield* Effect.makeLatch()
        const asks = Effect.fnUntraced(function*(call: Call) {
          const asking = yield* Effect.fork(call.waiting(waited.await))
          yield* Effect.yieldNow()
          target = asking
          yield* Fiber.await(asking)
        })
        const slot = governor.slot(rootID("r"), silent)
        const calls = slot.calls([asks, (call: Call) => call.waiting(waited.await)], (body, call) => body(call))
        const work = yield* Effect.fork(slot.work(calls))
        yield* TestClock.adjust(1)
        yield* waited.open
        yield* TestClock.adjust(1)
        const isOver = work.unsafePoll() !== null
        yield* Fiber.interrupt(work)
        return isOver && operations > 0
      }).pipe(Effect.provide(governed(1)), Effect.withScheduler(interrupts))
    }
    return Effect.gen(function*() {
      for (let operation = 0; operation < 60; operation++) {
        expect(yield* isGoneOnWith(operation), `interrupted at operation ${operation}`).toBe(true)
      }
    })
  })

  it.effect("passes over the agents of a root that is full", () => {
    const { agent, notes } = makeNotes()
    return Effect.gen(function*() {
      yield* Effect.fork(
        Effect.all([agent("a1", "a"), agent("a2", "a"), agent("b1", "b")], { concurrency: "unbounded" })
      )
      yield* TestClock.adjust(50)
      expect(notes).toEqual(["a1 begins", "b1 begins"])
    }).pipe(Effect.provide(governed(1)))
  })

  it.effect("keeps to the limit of the process over all roots", () => {
    const { agent, notes } = makeNotes()
    return Effect.gen(function*() {
      yield* Effect.fork(
        Effect.forEach([1, 2, 3, 4, 5], (n) => agent(`${n}`, `root${n}`), { concurrency: "unbounded", discard: true })
      )
      yield* TestClock.adjust(50)
      expect(notes).toEqual(["1 begins", "2 begins", "3 begins"])
    }).pipe(Effect.provide(governed(8, 3)))
  })

  it.effect("lets roots take turns, and the agents of each in the order in which they came", () => {
    const { agent, notes } = makeNotes()
    const told: Record<string, number> = {}
    return Effect.gen(function*() {
      const names = ["a1", "a2", "a3", "a4", "b1", "b2", "c1"]
      for (const name of names) {
        yield* Effect.fork(agent(name, name[0], (position) => Effect.sync(() => void (told[name] = position))))
        yield* TestClock.adjust(0)
      }
      yield* TestClock.adjust("1 second")
      const order = notes.filter((note) => note.endsWith("begins")).map((note) => note.slice(0, 2))
      expect(order).toEqual(["a1", "a2", "b1", "c1", "a3", "b2", "a4"])
      expect(told).toEqual({ a2: 1, a3: 2, a4: 3, b1: 2, b2: 4, c1: 3 })
    }).pipe(Effect.provide(governed(8, 1)))
  })

  it.effect("lets an agent go on after waiting before a new one begins", () => {
    const { agent, note, notes } = makeNotes()
    return Effect.gen(function*() {
      const governor = yield* Governor
      const slot = governor.slot(rootID("r"), silent)
      const waits = slot.work(
        slot.calls([0], (_, call) => call.waiting(Effect.sleep(10))).pipe(Effect.zipRight(note("waiter goes on")))
      )
      yield* Effect.fork(waits)
      yield* TestClock.adjust(0)
      yield* Effect.fork(agent("first"))
      yield* TestClock.adjust(0)
      yield* Effect.fork(agent("second"))
      yield* TestClock.adjust("1 second")
      expect(notes).toEqual(["first begins", "first ends", "waiter goes on", "second begins", "second ends"])
    }).pipe(Effect.provide(governed(1)))
  })

  it.effect("tells once that there is a slot, and not again after waiting", () => {
    let granted = 0
    return Effect.gen(function*() {
      const governor = yield* Governor
      const slot = governor.slot(rootID("r"), { ...silent, granted: Effect.sync(() => void granted++) })
      const wait = slot.calls([0], (_, call) => call.waiting(Effect.sleep(10)))
      const working = yield* Effect.fork(slot.work(Effect.zipRight(wait, wait)))
      yield* TestClock.adjust(1)
      expect(granted).toBe(1)
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(working)
      expect(granted).toBe(1)
    }).pipe(Effect.provide(governed(1)))
  })

  it.effect("gives a slot before there is work, at once or in turn, and takes it back where there is none", () => {
    const { agent, notes } = makeNotes()
    const begun: Array<string> = []
    return Effect.gen(function*() {
      const governor = yield* Governor
      const ask = (name: string) => governor.slot(rootID("r"), silent).first(() => void begun.push(name))
      const { giveUp } = ask("a")
      expect(begun).toEqual(["a"])
      const { giveUp: withdraw, position } = ask("b")
      expect(position).toBe(1)
      ask("c")
      yield* Effect.fork(agent("d"))
      yield* TestClock.adjust(0)
      expect(yield* governor.load).toEqual({ held: 1, waiting: 3 })
      withdraw()
      withdraw()
      expect(yield* governor.load).toEqual({ held: 1, waiting: 2 })
      giveUp()
      giveUp()
      expect(begun).toEqual(["a", "c"])
      expect(notes).toEqual([])
      expect(yield* governor.load).toEqual({ held: 1, waiting: 1 })
      governor.free.first(() => void begun.push("root")).giveUp()
      expect(begun).toEqual(["a", "c", "root"])
    }).pipe(Effect.provide(governed(1)))
  })

  it.effect("gives one slot to an agent that asked for it twice, also where there is room for both at once", () =>
    Effect.gen(function*() {
      const governor = yield* Governor
      const slot = () => governor.slot(rootID("r"), silent)
      const others = [slot().first(() => {}), slot().first(() => {})]
      const twice = slot()
      const { giveUp } = twice.first(() => {})
      const working = yield* Effect.fork(twice.work(Effect.sleep(10)))
      yield* TestClock.adjust(0)
      expect(yield* governor.load).toEqual({ held: 2, waiting: 2 })
      for (const other of others) other.giveUp()
      expect(yield* governor.load).toEqual({ held: 1, waiting: 0 })
      yield* TestClock.adjust(10)
      yield* Fiber.join(working)
      giveUp()
      expect(yield* governor.load).toEqual({ held: 0, waiting: 0 })
    }).pipe(Effect.provide(governed(2))))

  it.effect("begins the next run of an agent with the slot that its work has, and tells that run", () => {
    let granted = 0
    const begun: Array<string> = []
    const next = { ...silent, granted: Effect.sync(() => void granted++) }
    return Effect.gen(function*() {
      const governor = yield* Governor
      const slot = governor.slot(rootID("r"), silent)
      const working = yield* Effect.fork(slot.work(Effect.sleep(10)))
      yield* TestClock.adjust(0)
      const { giveUp, position } = slot.first(() => void begun.push("next"), next)
      expect([position, begun]).toEqual([0, ["next"]])
      giveUp()
      expect(yield* governor.load).toEqual({ held: 1, waiting: 0 })
      yield* TestClock.adjust(10)
      yield* Fiber.join(working)
      yield* slot.work(Effect.void)
      expect(granted).toBe(1)
      expect(yield* governor.load).toEqual({ held: 0, waiting: 0 })
    }).pipe(Effect.provide(governed(1)))
  })

  it.effect("serves work and a run of one agent with one slot, whatever limits they came with", () => {
    const { agent } = makeNotes()
    const begun: Array<string> = []
    return Effect.gen(function*() {
      const governor = yield* Governor
      const slot = governor.slot(rootID("r"), { ...silent, most: 1 })
      const waits = slot.calls([0], (_, call) => call.waiting(Effect.sleep(10)))
      const working = yield* Effect.fork(slot.work(waits))
      yield* TestClock.adjust(0)
      for (const name of ["a", "b"]) yield* Effect.fork(agent(name))
      yield* TestClock.adjust(20)
      // The work waits for a slot of one; the run may have a second or third one, and gets it first.
      slot.first(() => void begun.push("run"), { ...silent, most: 3 })
      yield* TestClock.adjust("1 second")
      expect(begun).toEqual(["run"])
      yield* Fiber.join(working)
      expect(yield* governor.load).toEqual({ held: 0, waiting: 0 })
    }).pipe(Effect.provide(governed(2)))
  })

  it.effect("waits without its slot where an earlier turn was cut off between its calls", () =>
    Effect.gen(function*() {
      const governor = yield* Governor
      const slot = governor.slot(rootID("r"), silent)
      yield* Effect.exit(slot.work(slot.calls([0, 1], () => Effect.interrupt)))
      const waits = slot.calls([0], (_, call) => call.waiting(Effect.never))
      const waiting = yield* Effect.fork(slot.work(waits))
      yield* TestClock.adjust(0)
      expect(yield* governor.load).toEqual({ held: 0, waiting: 0 })
      yield* Fiber.interrupt(waiting)
    }).pipe(Effect.provide(governed(1))))

  it.effect("keeps the slot while one of several calls is at work", () => {
    const { agent, notes } = makeNotes()
    return Effect.gen(function*() {
      const governor = yield* Governor
      const slot = governor.slot(rootID("r"), silent)
      const works = (ms: number) => (call: Call) => (ms > 0 ? Effect.sleep(ms) : call.waiting(Effect.sleep(500)))
      yield* Effect.fork(slot.work(slot.calls([300, 0], (ms, call) => works(ms)(call))))
      yield* TestClock.adjust(0)
      yield* Effect.fork(agent("other"))
      yield* TestClock.adjust(299)
      expect(notes).toEqual([])
      yield* TestClock.adjust(1)
      expect(notes).toEqual(["other begins"])
    }).pipe(Effect.provide(governed(1)))
  })

  it.effect("gives results in the order of the inputs", () =>
    Effect.gen(function*() {
      const governor = yield* Governor
      const inputs = [30, 10, 20]
      for (const slot of [governor.free, governor.slot(rootID("r"), silent)]) {
        const fiber = yield* Effect.fork(slot.work(slot.calls(inputs, (ms) => Effect.as(Effect.sleep(ms), ms))))
        yield* TestClock.adjust("1 second")
        expect(yield* Fiber.join(fiber)).toEqual(inputs)
      }
    }).pipe(Effect.provide(governed(1))))

  it.effect("never lets a root wait", () => {
    const { agent } = makeNotes()
    return Effect.gen(function*() {
      const governor = yield* Governor
      yield* Effect.fork(agent("a"))
      yield* TestClock.adjust(0)
      expect(yield* governor.free.work(Effect.succeed("at once"))).toBe("at once")
    }).pipe(Effect.provide(governed(1)))
  })

  it.effect("forgets an agent that is interrupted while it waits", () => {
    const { agent, notes } = makeNotes()
    return Effect.gen(function*() {
      const governor = yield* Governor
      yield* Effect.fork(agent("a"))
      yield* TestClock.adjust(0)
      const b = yield* Effect.fork(agent("b"))
      const c = yield* Effect.fork(agent("c"))
      yield* TestClock.adjust(50)
      yield* Fiber.interrupt(b)
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(c)
      expect(notes).toEqual(["a begins", "a ends", "c begins", "c ends"])
      expect(yield* governor.load).toEqual({ held: 0, waiting: 0 })
    }).pipe(Effect.provide(governed(1)))
  })
})

/** A tree of agents: each works, makes calls that work or wait for children, and some are cut off. */
interface Node {
  readonly work: number
  readonly calls: ReadonlyArray<{ readonly work: number } | { readonly children: ReadonlyArray<Node> }>
  /** After how long whoever waits for it gives up. */
  readonly patience: number | undefined
  readonly enters: (typeof ways)[number]
}

/** How an agent comes to its slot: with work, or before it; then it may not come to work, or work already. */
const ways = ["works", "asks", "asks in vain", "works meanwhile"] as const

const enter = <R>(slot: Slot, way: (typeof ways)[number], work: Effect.Effect<void, never, R>) =>
  way === "works" ? work : Effect.gen(function*() {
    const granted = yield* Deferred.make<void>()
    const { giveUp } = slot.first(() => Deferred.unsafeDone(granted, Effect.void))
    const waiting = Deferred.await(granted)
    const waited = way === "asks"
      ? Effect.zipRight(waiting, work)
      : way === "works meanwhile"
      ? Effect.zipRight(work, Effect.zipRight(waiting, work))
      : Effect.asVoid(Effect.timeoutOption(waiting, 5))
    yield* Effect.ensuring(waited, Effect.sync(giveUp))
  })

const ms = FastCheck.nat({ max: 50 })
const { node } = FastCheck.letrec<{ node: Node }>((tie) => ({
  node: FastCheck.record({
    work: ms,
    calls: FastCheck.array(
      FastCheck.oneof(
        { maxDepth: 3, withCrossShrink: true },
        FastCheck.record({ work: ms }),
        FastCheck.record({ children: FastCheck.array(tie("node"), { maxLength: 3 }) })
      ),
      { maxLength: 3 }
    ),
    patience: FastCheck.option(FastCheck.nat({ max: 200 }), { nil: undefined, freq: 4 }),
    enters: FastCheck.constantFrom(...ways)
  })
}))

describe("any trees of agents under any limits", () => {
  it("never exceed a limit, all come to their end, and leave no slot behind", () => {
    const scenario = FastCheck.record({
      seed: FastCheck.nat(),
      perRoot: FastCheck.integer({ min: 1, max: 3 }),
      perProcess: FastCheck.integer({ min: 1, max: 4 }),
      trees: FastCheck.array(node, { minLength: 1, maxLength: 4 })
    })
    FastCheck.assert(
      FastCheck.property(scenario, ({ perProcess, perRoot, seed, trees }) => {
        const atWork = new Map<SessionID, number>()

        const busy = (root: SessionID, duration: number) =>
          Effect.acquireUseRelease(
            Effect.sync(() => {
              atWork.set(root, (atWork.get(root) ?? 0) + 1)
              const all = [...atWork.values()].reduce((a, b) => a + b, 0)
              if ((atWork.get(root) ?? 0) > perRoot || all > perProcess) throw new Error("too many at work")
            }),
            () => Effect.sleep(duration),
            () => Effect.sync(() => atWork.set(root, (atWork.get(root) ?? 0) - 1))
          )

        const run = (root: SessionID, { calls, enters, patience, work }: Node): Effect.Effect<void, never, Governor> =>
          Effect.gen(function*() {
            const governor = yield* Governor
            const slot = governor.slot(root, silent)
            const together = slot.calls(calls, (each, call) =>
              "children" in each
                ? call.waiting(Effect.forEach(each.children, (child) => run(root, child), {
                  concurrency: "unbounded",
                  discard: true
                }))
                : Effect.sleep(each.work))
            const all = enter(
              slot,
              enters,
              slot.work(busy(root, work).pipe(Effect.zipRight(together), Effect.zipRight(busy(root, 1))))
            )
            yield* patience === undefined ? all : Effect.timeoutOption(all, patience)
          })

        const program = Effect.gen(function*() {
          const governor = yield* Governor
          yield* Effect.forEach(trees, (tree, i) => run(rootID(i % 2), tree), { concurrency: "unbounded" })
          return yield* governor.load
        })
        const load = simulate(Effect.provide(program, governed(perRoot, perProcess)), { seed, patience: 40 })
        expect(load).toEqual({ held: 0, waiting: 0 })
      }),
      { numRuns: share(150), seed: 7 }
    )
  }, 60_000)
})
