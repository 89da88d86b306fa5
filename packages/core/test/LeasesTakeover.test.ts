import { describe, expect, it } from "@effect/vitest"
import { Leases } from "@skein/core/Leases"
import { now } from "@skein/core/MonotonicClock"
import { restedTurn } from "@skein/core/PersonPrompt"
import { Session } from "@skein/core/Session"
import { SessionStorage } from "@skein/core/SessionStorage"
import type { Turn } from "@skein/core/Turn"
import type { SessionID } from "@skein/domain/Id"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import { run, sharedBy, stack } from "./support/sharedStorage.ts"
import { root } from "./support/tree.ts"
import { settableClock, stoppableClock } from "./support/wallClock.ts"

describe("a tree whose process is dead", () => {
  /** A process that works for a minute, and another one that wants its tree. */
  const two = (
    program: (world: {
      readonly latch: Effect.Latch
      readonly prompt: Effect.Effect<string, unknown>
      readonly working: Fiber.RuntimeFiber<string, unknown>
    }) => Effect.Effect<void, unknown, Scope.Scope>
  ) =>
    run((inner) =>
      Effect.gen(function*() {
        const latch = yield* Effect.makeLatch(true)
        const answer = Scripted.make({ build: [{ text: "done", delay: { first: 60_000 } }] })
        const first = yield* stack(answer, sharedBy(inner, latch))
        const second = yield* stack(Scripted.make({ build: ["mine"] }), sharedBy(inner))
        const { id } = yield* Effect.provide(root(), first)
        const textOf = Effect.map(Session.prompt(id, "Go"), ({ text }) => text)
        const working = yield* Effect.fork(Effect.provide(textOf, first))
        yield* Effect.sleep(4_000)
        yield* program({ latch, prompt: Effect.provide(textOf, second), working })
      })
    )

  it.each([0, 1, 250, 500, 750, 999])(
    "is taken over within five seconds, %i ms after a renewal as at any other moment",
    (moment) => {
      two(({ latch, prompt }) =>
        Effect.gen(function*() {
          yield* Effect.sleep(moment)
          yield* latch.close
          const died = yield* now
          expect(yield* prompt).toBe("mine")
          expect((yield* now) - died).toBeLessThan(5_000)
          yield* latch.open
        })
      )
    }
  )

  it("is not taken over while the process lives, however often another tries", () => {
    two(({ prompt, working }) =>
      Effect.gen(function*() {
        for (let tries = 0; tries < 15; tries++) {
          const began = yield* now
          expect(yield* Effect.flip(prompt)).toMatchObject({ reason: "held" })
          expect((yield* now) - began).toBeLessThan(3_000)
        }
        expect(yield* Fiber.join(working)).toBe("done")
      })
    )
  })

  it("is not taken over from a process of an older version, which renews a longer lease less often", () => {
    run((inner) =>
      Effect.gen(function*() {
        const second = yield* stack(Scripted.make({ build: ["mine"] }), sharedBy(inner))
        const { id } = yield* Effect.provide(root(), second)
        yield* Effect.sleep(1_000)
        const found = Option.getOrThrow(yield* inner.lease(id))
        const lease = { rootID: id, owner: "older", epoch: found.epoch + 1 }
        yield* inner.commit([{ _tag: "Hold", lease, length: 15_000, found }])
        const renewing = Effect.zipRight(Effect.sleep(5_000), inner.commit([{ _tag: "Renew", lease, length: 15_000 }]))
        const holding = yield* Effect.fork(Effect.forever(renewing))
        const prompt = Effect.provide(Session.prompt(id, "Go"), second)
        for (let tries = 0; tries < 3; tries++) {
          expect(yield* Effect.flip(prompt)).toMatchObject({ reason: "held" })
        }
        yield* Fiber.interrupt(holding)
        expect((yield* prompt).text).toBe("mine")
      })
    )
  })

  it("is due after looks over three seconds if its process froze, and not while that renews it", () => {
    run((inner) =>
      Effect.gen(function*() {
        const latch = yield* Effect.makeLatch(true)
        const answer = Scripted.make({ build: [{ text: "done", delay: { first: 60_000 } }] })
        const first = yield* stack(answer, sharedBy(inner, latch))
        const second = yield* stack(Scripted.make({ build: ["mine"] }), sharedBy(inner))
        const { id } = yield* Effect.provide(root(), first)
        yield* Effect.fork(Effect.exit(Effect.provide(Session.prompt(id, "Go"), first)))
        yield* Effect.sleep(1_000)
        const due = Effect.provide(Effect.flatMap(Leases, (leases) => leases.due([id])), second)
        /** The seconds until a look finds it, or ten. */
        const looks = Effect.gen(function*() {
          for (let look = 0; look < 10; look++) {
            if ((yield* due).length > 0) return look
            yield* Effect.sleep(1_000)
          }
          return 10
        })
        expect(yield* looks).toBe(10)
        yield* latch.close
        const frozen = yield* now
        expect(yield* looks).toBeGreaterThanOrEqual(3)
        expect((yield* Effect.provide(Session.prompt(id, "Mine!"), second)).text).toBe("mine")
        // What was seen by then counts: nothing more is waited for.
        expect((yield* now) - frozen).toBeLessThan(5_500)
        expect(yield* due).toEqual([])
        yield* latch.open
      })
    )
  })

  it("is claimed at once by one of those that look, if it is free", () => {
    run((inner) =>
      Effect.gen(function*() {
        const answer = Scripted.make({ build: [{ text: "done", delay: { first: 60_000 } }] })
        const first = yield* stack(answer, sharedBy(inner))
        const second = yield* stack(Scripted.make({ build: [] }), sharedBy(inner))
        const third = yield* stack(Scripted.make({ build: [] }), sharedBy(inner))
        const { id } = yield* Effect.provide(root(), first)
        const working = yield* Effect.fork(Effect.provide(Session.prompt(id, "Go"), first))
        yield* Effect.sleep(1_000)
        const due = Effect.flatMap(Leases, (leases) => leases.due([id]))
        const claim = Effect.flatMap(Leases, (leases) => leases.claim(id))
        expect(yield* Effect.provide(due, second)).toEqual([])
        expect(yield* Effect.provide(claim, second)).toBe(false)
        yield* Fiber.join(working)
        yield* Effect.sleep(1_000)
        expect(yield* Effect.provide(due, second)).toEqual([id])
        expect(yield* Effect.provide(due, third)).toEqual([id])
        const began = yield* now
        expect(yield* Effect.provide(claim, second)).toBe(true)
        // Its look is out of date, and it does not wait for the other one.
        expect(yield* Effect.provide(claim, third)).toBe(false)
        expect((yield* now) - began).toBeLessThan(100)
        expect(yield* Effect.provide(claim, second)).toBe(false)
        expect(yield* Effect.provide(due, third)).toEqual([])
      })
    )
  })

  it("has a longer lease while its process is slow, so that nobody takes it over", () => {
    run((inner) =>
      Effect.gen(function*() {
        let delay = 0
        const lengths: Array<number> = []
        const slow = Layer.succeed(SessionStorage, {
          ...inner,
          mail: Effect.succeed(undefined),
          commit: (writes) => {
            for (const each of writes) if (each._tag === "Renew") lengths.push(each.length)
            return Effect.zipRight(Effect.sleep(delay), inner.commit(writes))
          }
        })
        const first = yield* stack(Scripted.make({ build: [{ text: "done", delay: { first: 120_000 } }] }), slow)
        const second = yield* stack(Scripted.make({ build: ["mine"] }), sharedBy(inner))
        const { id } = yield* Effect.provide(root(), first)
        const working = yield* Effect.fork(Effect.provide(Session.prompt(id, "Go"), first))
        const lastLength = Effect.sync(() => lengths.at(-1) ?? 0)
        yield* Effect.sleep(10_000)
        const usual = yield* lastLength
        delay = 1_000
        yield* Effect.sleep(4_000)
        delay = 3_500
        const due = Effect.provide(Effect.flatMap(Leases, (leases) => leases.due([id])), second)
        for (let look = 0; look < 40; look++) {
          expect(yield* due).toEqual([])
          yield* Effect.sleep(500)
        }
        expect(yield* lastLength).toBeGreaterThan(usual + 3_000)
        delay = 0
        yield* Effect.sleep(20_000)
        expect(yield* lastLength).toBeLessThan(usual + 100)
        expect((yield* Fiber.join(working)).text).toBe("done")
      })
    )
  })

  it("is not taken over when both processes were suspended together, for longer than a lease", () => {
    run((inner) =>
      Effect.gen(function*() {
        const { clock, stop } = yield* stoppableClock
        yield* Effect.gen(function*() {
          const answer = Scripted.make({ build: [{ text: "done", delay: { first: 60_000 } }] })
          const first = yield* stack(answer, sharedBy(inner))
          const second = yield* stack(Scripted.make({ build: ["mine"] }), sharedBy(inner))
          const { id } = yield* Effect.provide(root(), first)
          const working = yield* Effect.fork(Effect.provide(Session.prompt(id, "one"), first))
          yield* Effect.sleep(4_000)
          const wanting = yield* Effect.fork(Effect.flip(Effect.provide(Session.prompt(id, "two"), second)))
          yield* Effect.sleep(550)
          stop(4_900)
          expect(yield* Fiber.join(wanting)).toMatchObject({ reason: "held" })
          expect((yield* Fiber.join(working)).text).toBe("done")
        }).pipe(Effect.withClock(clock))
      })
    )
  })
})

const hour = 3_600_000

describe.each([["back", -hour], ["forward", hour]])("a wall clock that is set %s by an hour", (_, by) => {
  /** Two processes and their storage on one clock, and a session in which the first works for a minute. */
  const two = (
    program: (world: {
      readonly second: Effect.Effect.Success<ReturnType<typeof stack>>
      readonly latch: Effect.Latch
      readonly id: SessionID
      readonly working: Fiber.RuntimeFiber<string, unknown>
      readonly jump: (milliseconds: number) => void
    }) => Effect.Effect<void, unknown, Scope.Scope>
  ) =>
    run((inner) =>
      Effect.gen(function*() {
        const { clock, jump } = yield* settableClock
        const latch = yield* Effect.makeLatch(true)
        yield* Effect.gen(function*() {
          const answer = Scripted.make({ build: [{ text: "done", delay: { first: 60_000 } }] })
          const first = yield* stack(answer, sharedBy(inner, latch))
          const second = yield* stack(Scripted.make({ build: ["mine"] }), sharedBy(inner))
          const { id } = yield* Effect.provide(root(), first)
          const prompt = Effect.map(Session.prompt(id, "one"), ({ text }) => text)
          const working = yield* Effect.fork(Effect.provide(prompt, first))
          yield* Effect.sleep(4_000)
          yield* program({ second, latch, id, working, jump })
        }).pipe(Effect.withClock(clock))
      })
    )

  it("takes no tree from a live process", () => {
    two(({ id, jump, second, working }) =>
      Effect.gen(function*() {
        const began = yield* now
        for (const step of [by, -by, by]) {
          jump(step)
          const refused = yield* Effect.provide(Effect.flip(Session.prompt(id, "two")), second)
          expect(refused).toMatchObject({ _tag: "StorageError", reason: "held" })
        }
        expect((yield* now) - began).toBeLessThan(20_000)
        expect(yield* Fiber.join(working)).toBe("done")
      })
    )
  })

  it("does not delay the takeover from a dead process", () => {
    two(({ id, jump, latch, second }) =>
      Effect.gen(function*() {
        const began = yield* now
        yield* latch.close
        jump(by)
        const mine = Session.prompt(id, "two").pipe(Effect.retry({ while: ({ _tag }) => _tag === "StorageError" }))
        expect((yield* Effect.provide(mine, second)).text).toBe("mine")
        expect((yield* now) - began).toBeLessThan(20_000)
        yield* latch.open
      })
    )
  })

  it("gives a tree to no other process while its holder may begin an effect", () => {
    const effects: Array<string> = []
    run((inner) =>
      Effect.gen(function*() {
        const { clock, jump } = yield* settableClock
        const latch = yield* Effect.makeLatch(true)
        const act = SkeinTest.tool("act", () => Effect.sync(() => `${effects.push("first")}`), { effect: "never" })
        yield* Effect.gen(function*() {
          const answer = Scripted.make({ build: [{ calls: [{ tool: "act" }], delay: { first: 19_000 } }, "end"] })
          const first = yield* stack(answer, sharedBy(inner, latch), { tools: [act] })
          const second = yield* stack(Scripted.make({ build: ["mine"] }), sharedBy(inner))
          const { id } = yield* Effect.provide(root(), first)
          const working = yield* Effect.fork(Effect.either(Effect.provide(Session.prompt(id, "one"), first)))
          yield* Effect.sleep(4_000)
          yield* latch.close
          jump(by)
          const mine = Session.prompt(id, "two").pipe(Effect.retry({ while: ({ _tag }) => _tag === "StorageError" }))
          expect((yield* Effect.provide(mine, second)).text).toBe("mine")
          expect(effects).toEqual([])
          yield* latch.open
          expect(Either.isLeft(yield* Fiber.join(working))).toBe(true)
          expect(effects).toEqual([])
        }).pipe(Effect.withClock(clock))
      })
    )
  })
})

describe("waiting for a tree with a background task", () => {
  /** A root that has answered early, and whose task needs a minute in the process that began it. */
  const begun = (
    program: (world: {
      readonly freeze: Effect.Effect<unknown>
      readonly thaw: Effect.Effect<unknown>
      /** Waits in the process that began. */
      readonly rested: Effect.Effect<Turn | undefined, unknown>
      /** Continues in another process, and waits there. */
      readonly continued: Effect.Effect<Turn | undefined, unknown>
      /** Asks a third one. */
      readonly asked: Effect.Effect<Turn | undefined, unknown>
    }) => Effect.Effect<void, unknown, Scope.Scope>
  ) =>
    run((inner) =>
      Effect.gen(function*() {
        const latch = yield* Effect.makeLatch(true)
        const input = { description: "d", prompt: "p", subagent_type: "worker", background: true }
        const first = yield* stack(
          Scripted.make({
            build: [{ calls: [{ tool: "task", input }] }, "early"],
            worker: [{ text: "never", delay: { first: 60_000 } }]
          }),
          sharedBy(inner, latch)
        )
        const second = yield* stack(
          Scripted.make({ build: ["final"], worker: [{ text: "found", delay: { first: 10_000 } }] }),
          sharedBy(inner)
        )
        const third = yield* stack(Scripted.make({ build: [] }), sharedBy(inner))
        const { id } = yield* Effect.provide(root(), first)
        expect((yield* Effect.provide(Session.prompt(id, "Go"), first)).text).toBe("early")
        const rested = restedTurn(id)
        yield* program({
          freeze: latch.close,
          thaw: latch.open,
          rested: Effect.provide(rested, first),
          continued: Effect.provide(
            Effect.zipRight(Effect.flatMap(Session, (session) => session.resume(id)), rested),
            second
          ),
          asked: Effect.provide(rested, third)
        })
      })
    )

  it("never ends with the early answer in a process that has lost the tree", () => {
    begun(({ continued, freeze, rested, thaw }) =>
      Effect.gen(function*() {
        const waiting = yield* Effect.fork(Effect.flip(rested))
        yield* freeze
        const other = yield* Effect.fork(continued)
        yield* Effect.sleep(8_000)
        yield* thaw
        expect(yield* Fiber.join(waiting)).toMatchObject({ reason: "held" })
        expect((yield* Fiber.join(other))?.text).toBe("final")
        yield* Effect.sleep(1_000)
        expect((yield* rested)?.text).toBe("final")
      })
    )
  })

  it("fails in a process that does not have the tree, and gives the last answer once nobody works in it", () => {
    begun(({ asked, continued, freeze, thaw }) =>
      Effect.gen(function*() {
        expect(yield* Effect.flip(asked)).toMatchObject({ reason: "held" })
        yield* freeze
        const other = yield* Effect.fork(continued)
        yield* Effect.sleep(8_000)
        expect(yield* Effect.flip(asked)).toMatchObject({ reason: "held" })
        yield* Fiber.join(other)
        yield* Effect.sleep(1_000)
        expect((yield* asked)?.text).toBe("final")
        yield* thaw
      })
    )
  })
})
