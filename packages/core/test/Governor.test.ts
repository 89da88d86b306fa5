import { describe, expect, it } from "@effect/vitest"
import { Governor } from "@skein/core/Governor"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as FiberId from "effect/FiberId"
import * as Scheduler from "effect/Scheduler"
import * as TestClock from "effect/TestClock"
import type { Call } from "../src/internal/governor/SessionCalls.ts"
import { governed, makeCalls, makeNotes, rootID, silent } from "./support/governed.ts"

describe("the governor", () => {
  it.effect("lets at most as many agents of a root work as the limit says, first come first served", () => {
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

  it.effect("knows how many agents could work with more slots: of each root as many as the root may have", () => {
    const { agent } = makeNotes()
    return Effect.gen(function*() {
      const governor = yield* Governor
      const many = ["a", "b", "c", "d", "e"].map((name) => agent(name, "r"))
      yield* Effect.fork(Effect.all([...many, agent("f", "s")], { concurrency: "unbounded" }))
      yield* TestClock.adjust(0)
      expect(yield* governor.load).toEqual({
        held: 2,
        waiting: 4,
        limit: 2,
        wanted: 4,
        roots: new Map([[rootID("r"), 3], [rootID("s"), 1]])
      })
      yield* TestClock.adjust("1 second")
      expect(yield* governor.load).toMatchObject({ held: 0, waiting: 0, wanted: 0, roots: new Map() })
    }).pipe(Effect.provide(governed(3, 2)))
  })

  it.effect("reports the place in the queue to those that wait, and nothing to others", () => {
    const { agent } = makeNotes()
    const positions: Array<string> = []
    return Effect.gen(function*() {
      yield* Effect.fork(
        Effect.forEach(
          ["a", "b", "c"],
          (name) => agent(name, "r", (position) => Effect.sync(() => void positions.push(`${name} ${position}`))),
          { concurrency: "unbounded", discard: true }
        )
      )
      yield* TestClock.adjust(0)
      expect(positions).toEqual(["b 1", "c 2"])
      expect(yield* Effect.flatMap(Governor, (governor) => governor.load)).toMatchObject({ held: 1, waiting: 2 })
    }).pipe(Effect.provide(governed(1)))
  })

  it.effect("leaves nobody waiting when a call is interrupted while it requests the slot again, at any operation", () => {
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
          const asking = yield* Effect.fork(call.waiting("others", waited.await))
          yield* Effect.yieldNow()
          target = asking
          yield* Fiber.await(asking)
        })
        const slot = governor.slot(rootID("r"), silent)
        const calls = makeCalls(
          slot,
          [asks, (call: Call) => call.waiting("others", waited.await)],
          (body, call) => body(call)
        )
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

  it.effect("skips the agents of a root that is full", () => {
    const { agent, notes } = makeNotes()
    return Effect.gen(function*() {
      yield* Effect.fork(
        Effect.all([agent("a1", "a"), agent("a2", "a"), agent("b1", "b")], { concurrency: "unbounded" })
      )
      yield* TestClock.adjust(50)
      expect(notes).toEqual(["a1 begins", "b1 begins"])
    }).pipe(Effect.provide(governed(1)))
  })

  it.effect("enforces the limit of the process over all roots", () => {
    const { agent, notes } = makeNotes()
    return Effect.gen(function*() {
      yield* Effect.fork(
        Effect.forEach([1, 2, 3, 4, 5], (n) => agent(`${n}`, `root${n}`), { concurrency: "unbounded", discard: true })
      )
      yield* TestClock.adjust(50)
      expect(notes).toEqual(["1 begins", "2 begins", "3 begins"])
    }).pipe(Effect.provide(governed(8, 3)))
  })

  it.effect("serves roots in turn, and the agents of each in order of arrival", () => {
    const { agent, notes } = makeNotes()
    const positions: Record<string, number> = {}
    return Effect.gen(function*() {
      const names = ["a1", "a2", "a3", "a4", "b1", "b2", "c1"]
      for (const name of names) {
        yield* Effect.fork(agent(name, name[0], (position) => Effect.sync(() => void (positions[name] = position))))
        yield* TestClock.adjust(0)
      }
      yield* TestClock.adjust("1 second")
      const order = notes.filter((note) => note.endsWith("begins")).map((note) => note.slice(0, 2))
      expect(order).toEqual(["a1", "a2", "b1", "c1", "a3", "b2", "a4"])
      expect(positions).toEqual({ a2: 1, a3: 2, a4: 3, b1: 2, b2: 4, c1: 3 })
    }).pipe(Effect.provide(governed(8, 1)))
  })

  it.effect("lets an agent continue after a wait before a new one begins", () => {
    const { agent, note, notes } = makeNotes()
    return Effect.gen(function*() {
      const governor = yield* Governor
      const slot = governor.slot(rootID("r"), silent)
      const waits = slot.work(
        makeCalls(slot, [0], (_, call) => call.waiting("others", Effect.sleep(10))).pipe(
          Effect.zipRight(note("waiter continues"))
        )
      )
      yield* Effect.fork(waits)
      yield* TestClock.adjust(0)
      yield* Effect.fork(agent("first"))
      yield* TestClock.adjust(0)
      yield* Effect.fork(agent("second"))
      yield* TestClock.adjust("1 second")
      expect(notes).toEqual(["first begins", "first ends", "waiter continues", "second begins", "second ends"])
    }).pipe(Effect.provide(governed(1)))
  })

  it.effect("reports the first grant, and not again after a wait", () => {
    let granted = 0
    return Effect.gen(function*() {
      const governor = yield* Governor
      const slot = governor.slot(rootID("r"), { ...silent, granted: Effect.sync(() => void granted++) })
      const wait = makeCalls(slot, [0], (_, call) => call.waiting("others", Effect.sleep(10)))
      const working = yield* Effect.fork(slot.work(Effect.zipRight(wait, wait)))
      yield* TestClock.adjust(1)
      expect(granted).toBe(1)
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(working)
      expect(granted).toBe(1)
    }).pipe(Effect.provide(governed(1)))
  })

  it.effect("grants a slot before the work begins, and takes it back if none follows", () => {
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
      expect(yield* governor.load).toMatchObject({ held: 1, waiting: 3 })
      withdraw()
      withdraw()
      expect(yield* governor.load).toMatchObject({ held: 1, waiting: 2 })
      giveUp()
      giveUp()
      expect(begun).toEqual(["a", "c"])
      expect(notes).toEqual([])
      expect(yield* governor.load).toMatchObject({ held: 1, waiting: 1 })
      governor.free.first(() => void begun.push("root")).giveUp()
      expect(begun).toEqual(["a", "c", "root"])
    }).pipe(Effect.provide(governed(1)))
  })

  it.effect("grants one slot to an agent that requested it twice, even if there is room for both", () =>
    Effect.gen(function*() {
      const governor = yield* Governor
      const slot = () => governor.slot(rootID("r"), silent)
      const others = [slot().first(() => {}), slot().first(() => {})]
      const twice = slot()
      const { giveUp } = twice.first(() => {})
      const working = yield* Effect.fork(twice.work(Effect.sleep(10)))
      yield* TestClock.adjust(0)
      expect(yield* governor.load).toMatchObject({ held: 2, waiting: 2 })
      for (const other of others) other.giveUp()
      expect(yield* governor.load).toMatchObject({ held: 1, waiting: 0 })
      yield* TestClock.adjust(10)
      yield* Fiber.join(working)
      giveUp()
      expect(yield* governor.load).toMatchObject({ held: 0, waiting: 0 })
    }).pipe(Effect.provide(governed(2))))

  it.effect("begins the next run of an agent with the slot that it holds, and reports the grant to that run", () => {
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
      expect(yield* governor.load).toMatchObject({ held: 1, waiting: 0 })
      yield* TestClock.adjust(10)
      yield* Fiber.join(working)
      yield* slot.work(Effect.void)
      expect(granted).toBe(1)
      expect(yield* governor.load).toMatchObject({ held: 0, waiting: 0 })
    }).pipe(Effect.provide(governed(1)))
  })

  it.effect("serves work and a run of one agent with one slot, whatever their limits", () => {
    const { agent } = makeNotes()
    const begun: Array<string> = []
    return Effect.gen(function*() {
      const governor = yield* Governor
      const slot = governor.slot(rootID("r"), { ...silent, most: 1 })
      const waits = makeCalls(slot, [0], (_, call) => call.waiting("others", Effect.sleep(10)))
      const working = yield* Effect.fork(slot.work(waits))
      yield* TestClock.adjust(0)
      for (const name of ["a", "b"]) yield* Effect.fork(agent(name))
      yield* TestClock.adjust(20)
      // The work waits for one slot; the run may use a second or third one, and is granted first.
      slot.first(() => void begun.push("run"), { ...silent, most: 3 })
      yield* TestClock.adjust("1 second")
      expect(begun).toEqual(["run"])
      yield* Fiber.join(working)
      expect(yield* governor.load).toMatchObject({ held: 0, waiting: 0 })
    }).pipe(Effect.provide(governed(2)))
  })

  it.effect("waits without its slot if an earlier turn was cut off between its calls", () =>
    Effect.gen(function*() {
      const governor = yield* Governor
      const slot = governor.slot(rootID("r"), silent)
      yield* Effect.exit(slot.work(makeCalls(slot, [0, 1], () => Effect.interrupt)))
      const waits = makeCalls(slot, [0], (_, call) => call.waiting("others", Effect.never))
      const waiting = yield* Effect.fork(slot.work(waits))
      yield* TestClock.adjust(0)
      expect(yield* governor.load).toMatchObject({ held: 0, waiting: 0 })
      yield* Fiber.interrupt(waiting)
    }).pipe(Effect.provide(governed(1))))

  it.effect("keeps the slot while at least one call works", () => {
    const { agent, notes } = makeNotes()
    return Effect.gen(function*() {
      const governor = yield* Governor
      const slot = governor.slot(rootID("r"), silent)
      const works =
        (ms: number) => (call: Call) => (ms > 0 ? Effect.sleep(ms) : call.waiting("others", Effect.sleep(500)))
      yield* Effect.fork(slot.work(makeCalls(slot, [300, 0], (ms, call) => works(ms)(call))))
      yield* TestClock.adjust(0)
      yield* Effect.fork(agent("other"))
      yield* TestClock.adjust(299)
      expect(notes).toEqual([])
      yield* TestClock.adjust(1)
      expect(notes).toEqual(["other begins"])
    }).pipe(Effect.provide(governed(1)))
  })

  it.effect("returns results in the order of the inputs", () =>
    Effect.gen(function*() {
      const governor = yield* Governor
      const inputs = [30, 10, 20]
      for (const slot of [governor.free, governor.slot(rootID("r"), silent)]) {
        const fiber = yield* Effect.fork(slot.work(makeCalls(slot, inputs, (ms) => Effect.as(Effect.sleep(ms), ms))))
        yield* TestClock.adjust("1 second")
        expect(yield* Fiber.join(fiber)).toEqual(inputs)
      }
    }).pipe(Effect.provide(governed(1))))

  it.effect("never makes a root wait", () => {
    const { agent } = makeNotes()
    return Effect.gen(function*() {
      const governor = yield* Governor
      yield* Effect.fork(agent("a"))
      yield* TestClock.adjust(0)
      expect(yield* governor.free.work(Effect.succeed("at once"))).toBe("at once")
    }).pipe(Effect.provide(governed(1)))
  })

  it.effect("removes an agent that is interrupted while it waits", () => {
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
      expect(yield* governor.load).toMatchObject({ held: 0, waiting: 0 })
    }).pipe(Effect.provide(governed(1)))
  })
})
