import { describe, expect, it } from "@effect/vitest"
import { currentLoad, heldTrees } from "@skein/core/Metrics"
import { Owner } from "@skein/core/Owner"
import { Session } from "@skein/core/Session"
import type { Write } from "@skein/core/SessionStorage"
import * as Scripted from "@skein/testing/ScriptedProvider"
import { simulate } from "@skein/testing/Simulation"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { lastingStorage } from "./support/mortal.ts"
import { run, sharedBy, stack, words } from "./support/sharedStorage.ts"
import { callsMade, expectStill, resultOf, root } from "./support/tree.ts"

describe("a tree that two processes want", () => {
  it("is changed only by its holder, and the other process learns who that is", () => {
    run((inner) =>
      Effect.gen(function*() {
        const first = yield* stack(
          Scripted.make({ build: [{ text: "done", delay: { first: 60_000 } }] }),
          sharedBy(inner)
        )
        const second = yield* stack(Scripted.make({ build: ["mine"] }), sharedBy(inner))
        const { id } = yield* Effect.provide(root(), first)
        const working = yield* Effect.fork(Effect.provide(Session.prompt(id, "one"), first))
        yield* Effect.sleep(1_000)
        const refused = yield* Effect.provide(Effect.flip(Session.prompt(id, "two")), second)
        expect(refused).toMatchObject({ _tag: "StorageError", reason: "held" })
        expect(refused.message).toMatch(/^Another process works in the session .*--fork/)
        const session = yield* Effect.provide(Session, second)
        expect(yield* Effect.flip(session.rename(id, "No"))).toMatchObject({ reason: "held" })
        expect(yield* Effect.flip(session.remove(id))).toMatchObject({ reason: "held" })
        // Reading needs no lease.
        expect(yield* session.messages(id)).toHaveLength(2)
        expect((yield* Fiber.join(working)).text).toBe("done")
      })
    )
  })

  it("changes hands when it is idle, and each process reads the other's changes", () => {
    run((inner) =>
      Effect.gen(function*() {
        const first = yield* stack(Scripted.make({ build: ["a", "c"] }), sharedBy(inner))
        const second = yield* stack(Scripted.make({ build: ["b", "d"] }), sharedBy(inner))
        const { id } = yield* Effect.provide(root(), first)
        yield* Effect.provide(Session.prompt(id, "1"), first)
        yield* Effect.provide(Session.prompt(id, "2"), second)
        yield* Effect.provide(Session.prompt(id, "3"), first)
        yield* Effect.provide(Session.prompt(id, "4"), second)
        for (const each of [first, second]) {
          expect(yield* Effect.provide(words(id), each)).toEqual(["1", "a", "2", "b", "3", "c", "4", "d"])
          const info = yield* Effect.provide(Effect.flatMap(Session, (session) => session.get(id)), each)
          expect(info.usage.own.steps).toBe(4)
        }
      })
    )
  })

  it("is prompted by one of two that ask at the same moment, and the other waits for its end", () => {
    for (let seed = 1; seed <= 30; seed++) {
      simulate(
        Effect.scoped(Effect.gen(function*() {
          const inner = yield* lastingStorage
          const stacks = yield* Effect.forEach(
            ["a", "b"],
            (text) => stack(Scripted.make({ build: [{ text, delay: { first: 300 } }] }), sharedBy(inner))
          )
          const { id } = yield* Effect.provide(root(), stacks[0]!)
          yield* Effect.sleep(1_000)
          yield* Effect.forEach(stacks, (each, at) => Effect.provide(Session.prompt(id, String(at)), each), {
            concurrency: "unbounded"
          })
          const all = yield* Effect.provide(words(id), stacks[0]!)
          expect([["0", "a", "1", "b"], ["1", "b", "0", "a"]]).toContainEqual(all)
        })),
        { seed, everywhere: true, maxSlice: 60 }
      )
    }
  })
})

describe("a process that is suspended for longer than its lease", () => {
  it("loses its tree: another process continues, and the first stores nothing more", () => {
    const effects: Array<string> = []
    const counted = () => ({ lost: currentLoad().lost, trees: heldTrees() })
    const before = counted()
    run((inner) =>
      Effect.gen(function*() {
        const latch = yield* Effect.makeLatch(true)
        const act = (who: string) =>
          SkeinTest.tool("act", () => Effect.sync(() => `${effects.push(who)}`), { effect: "never" })
        const frozen = Scripted.make({
          build: [
            { calls: [{ tool: "act" }] },
            { calls: [{ tool: "act" }], delay: { first: 20_000 } },
            "the end of the first"
          ]
        })
        const lively = Scripted.make({ build: ["the end of the second"] })
        const first = yield* stack(frozen, sharedBy(inner, latch), { tools: [act("first")] })
        const second = yield* stack(lively, sharedBy(inner), { tools: [act("second")] })
        const { id } = yield* Effect.provide(root(), first)
        const working = yield* Effect.fork(Effect.either(Effect.provide(Session.prompt(id, "Go"), first)))
        yield* Effect.sleep(4_000)
        expect(counted()).toEqual({ lost: before.lost, trees: before.trees + 1 })
        expect(yield* Effect.provide(Effect.flip(Session.prompt(id, "Mine?")), second)).toMatchObject({
          reason: "held"
        })
        yield* latch.close
        // Nobody can know whether it is dead.
        expect((yield* Effect.provide(Session.prompt(id, "Mine!"), second)).text).toBe("the end of the second")
        yield* latch.open
        const end = yield* Fiber.join(working)
        expect(Either.isLeft(end)).toBe(true)
        yield* Effect.sleep(120_000)
        expect(effects).toEqual(["first"])
        yield* Effect.provide(expectStill(id, lively), second)
        expect(yield* Effect.provide(words(id), second)).not.toContain("the end of the first")
        // The process that lost the tree can acquire it again, in its current state.
        expect((yield* Effect.provide(Session.prompt(id, "And I?"), first)).text).toBe("the end of the first")
        yield* Effect.sleep(1_000)
        expect(counted()).toEqual({ lost: before.lost + 1, trees: before.trees })
      })
    )
  })
})

it("a new tree names the host of the process that makes it, if that is known", () => {
  run((inner) =>
    Effect.gen(function*() {
      const hostOfTree = (owner: string) =>
        Effect.gen(function*() {
          const services = yield* stack(Scripted.make({}), sharedBy(inner), {
            owner: Layer.succeed(Owner, {
              id: owner,
              isGone: () => Effect.succeed(false),
              evict: () => Effect.succeed(false)
            })
          })
          const { id } = yield* Effect.provide(root(), services)
          const { host, machine } = Option.getOrThrow(yield* inner.session(id))
          return [host, machine]
        })
      expect(yield* hostOfTree("alpha:7:1:boot.4:x")).toEqual(["alpha", undefined])
      expect(yield* hostOfTree("al%40p%3Aha+1f3a:7:1:boot.4:x")).toEqual(["al@p:ha", "1f3a"])
      expect(yield* hostOfTree("own_01abc")).toEqual([undefined, undefined])
    })
  )
})

describe("commands of the process that held a tree before", () => {
  /** The second process takes over after the first was frozen in a call, or has left; gives what its model read. */
  const takenOver = (isLeft: boolean, isReached: boolean) => {
    const evicted: Array<string> = []
    let heard = ""
    run((inner) =>
      Effect.gen(function*() {
        const latch = yield* Effect.makeLatch(true)
        const act = SkeinTest.tool("act", () => Effect.as(Effect.sleep(60_000), "done"), { effect: "never" })
        const owned = (id: string) =>
          Layer.succeed(Owner, {
            id,
            isGone: () => Effect.succeed(false),
            evict: (owner, rootID) =>
              Effect.sync(() => {
                evicted.push(`${owner} ${rootID}`)
                return isReached
              })
          })
        const first = yield* stack(
          Scripted.make({ build: [{ calls: [{ tool: "act" }] }] }),
          sharedBy(inner, latch),
          { tools: [act], owner: owned("first") }
        )
        const second = yield* stack(Scripted.make({ build: ["the end"] }), sharedBy(inner), {
          tools: [act],
          owner: owned("second")
        })
        const { id } = yield* Effect.provide(root(), first)
        yield* Effect.fork(Effect.exit(Effect.provide(Session.prompt(id, "Go"), first)))
        yield* Effect.sleep(4_000)
        if (isLeft) yield* Effect.provide(Effect.flatMap(Session, (session) => session.leave(id)), first)
        else yield* latch.close
        yield* Effect.provide(Session.prompt(id, "Mine!"), second)
        const [call] = yield* Effect.provide(callsMade(id), second)
        heard = call?.state.status === "error" ? call.state.error.message : ""
        expect(evicted.map((line) => line.replace(id, "the root"))).toEqual(isLeft ? [] : ["first the root"])
        yield* latch.open
      })
    )
    return heard
  }

  it("are ended before anyone hears that their outcome is unknown", () => {
    expect(takenOver(false, true)).toContain(
      "outcome unknown: the process that ran it ended, or was frozen and lost the session"
    )
  })

  it("are said to run still if they are out of reach", () => {
    expect(takenOver(false, false)).toContain("its command may still run there")
  })

  it("are not looked for if that process has left", () => {
    expect(takenOver(true, false)).toContain(
      "outcome unknown: the process that ran it ended, or was frozen and lost the session"
    )
  })
})

describe("every commit of a process to a tree", () => {
  it("contains the fence of its lease", () => {
    const seen: Array<ReadonlyArray<Write>> = []
    run((inner) =>
      Effect.gen(function*() {
        const script = Scripted.make({
          build: [
            Scripted.tasks({ worker: "a" }, { worker: "b" }),
            {
              calls: [{
                tool: "task",
                input: { description: "d", prompt: "p", subagent_type: "worker", background: true }
              }]
            },
            "done"
          ],
          worker: ["yes"]
        })
        const context = yield* stack(script, sharedBy(inner, undefined, seen))
        yield* Effect.provide(
          Effect.gen(function*() {
            const { id } = yield* root()
            const session = yield* Session
            yield* session.append(id, "noted")
            yield* Session.prompt(id, "Go")
            yield* session.untilIdle(id)
            yield* Effect.sleep(1_000)
            yield* session.rename(id, "Another title")
            const copy = yield* session.fork(id)
            yield* session.remove(copy.id)
            expect((yield* callsMade(id)).map(resultOf)).toHaveLength(3)
            yield* session.remove(id)
          }),
          context
        )
      })
    )
    const changes = (writes: ReadonlyArray<Write>) =>
      writes.some(({ _tag }) => !["Hold", "Renew", "Release", "Fence"].includes(_tag))
    const bare = seen.filter((writes) =>
      changes(writes) && !writes.some(({ _tag }) => _tag === "Fence" || _tag === "Hold")
    )
    expect(bare.map((writes) => writes[0]?._tag)).toEqual([])
    expect(seen.length).toBeGreaterThan(30)
  })
})
