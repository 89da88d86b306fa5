import { describe, expect, it } from "@effect/vitest"
import { Session } from "@skein/core/Session"
import { SessionStorage } from "@skein/core/SessionStorage"
import { Tasks } from "@skein/core/Tasks"
import type { SessionID } from "@skein/domain/Id"
import * as Scripted from "@skein/testing/ScriptedProvider"
import { seeds } from "@skein/testing/Seeds"
import { simulate } from "@skein/testing/Simulation"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Random from "effect/Random"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/TestClock"
import { lonely } from "./support/mortal.ts"
import { makeRecordedStorage } from "./support/storage.ts"
import { callsMade, childrenOf, expectStill, messagesOf, resultOf, root } from "./support/tree.ts"

const agents = [SkeinTest.agent("worker")]
const slow = SkeinTest.tool("slow", () => Effect.as(Effect.sleep("1 hour"), "done"), { effect: "never" })

/** Storage that outlives the programs that use it. */
const lasting = Effect.map(Layer.build(SessionStorage.layerMemory), (context) => Layer.succeedContext(context))

/** Runs a program until a given time, and ends it so that it can store nothing more. */
const crashing = <A>(
  scripts: Scripted.Scripted,
  inner: Layer.Layer<SessionStorage>,
  program: Effect.Effect<A, unknown, Session | Tasks>,
  after: number
) =>
  Effect.gen(function*() {
    const storage = makeRecordedStorage({ inner })
    const scope = yield* Scope.make()
    const layer = SkeinTest.layer(scripts, { agents, tools: [slow], storage: storage.layer })
    const context = yield* Layer.buildWithScope(layer, scope)
    yield* Effect.forkIn(Effect.provide(program, context), scope)
    yield* Effect.sleep(after)
    storage.failWhere(() => true)
    yield* Scope.close(scope, Exit.void)
  })

describe("a session whose process died", () => {
  it("continues with a consistent conversation, and says what is unknown", () => {
    let id = "" as SessionID
    const first = Scripted.make({
      build: [{
        text: "I start",
        calls: [{ tool: "slow" }, { tool: "task", input: { description: "d", prompt: "p", subagent_type: "worker" } }]
      }],
      worker: [{ text: "half a sentence", delay: { between: 10_000 }, pieces: 2 }]
    })
    const begin = Effect.gen(function*() {
      ;({ id } = yield* root())
      yield* Session.prompt(id, "Go")
    })
    const second = Scripted.make({ build: ["I see"], worker: ["and the rest"] })
    simulate(
      Effect.scoped(Effect.gen(function*() {
        const inner = yield* lasting
        yield* crashing(first, inner, begin, 5_000)
        yield* Effect.gen(function*() {
          const stored = (yield* callsMade(id)).map((part) => part.state.status)
          expect(stored).toEqual(["running", "running"])
          expect((yield* Session.prompt(id, "What now?")).text).toBe("I see")
          const [lost, task] = (yield* callsMade(id)).map(resultOf)
          expect(lost).toMatch(/interrupted, outcome unknown/)
          expect(task).toMatch(/<task_result>\nand the rest\n<\/task_result>/)
          const [child] = yield* childrenOf(id)
          const [, broken] = yield* messagesOf(child!.id)
          expect(broken).toMatchObject({
            info: {
              error: { tag: "died" },
              usage: { steps: 1, estimated: true },
              time: { completed: expect.any(Number) }
            },
            parts: [{ type: "step-start" }, { type: "text", text: "half a s" }]
          })
        }).pipe(
          Effect.provide(SkeinTest.layer(second, { agents, tools: [slow], storage: inner, owner: lonely("second") }))
        )
      })),
      { seed: 1 }
    )
  })

  it("answers unread prompts", () => {
    let id = "" as SessionID
    const first = Scripted.make({ build: [{ text: "never", hangs: true }] })
    const second = Scripted.make({ build: ["both"] })
    simulate(
      Effect.scoped(Effect.gen(function*() {
        const inner = yield* lasting
        const begin = Effect.gen(function*() {
          ;({ id } = yield* root())
          yield* Effect.fork(Session.prompt(id, "one"))
          yield* Effect.sleep(10)
          yield* Session.prompt(id, "two")
        })
        yield* crashing(first, inner, begin, 1_000)
        yield* Effect.gen(function*() {
          yield* Session.prompt(id, "three")
          // One request may have both, or each its own.
          const users = second.requests.at(-1)?.messages.filter((message) => message.role === "user")
          expect(JSON.stringify(users)).toMatch(/two.*three/)
          expect((yield* Effect.flatMap(SessionStorage, (storage) => storage.inbox(id))).rows).toEqual([])
        }).pipe(Effect.provide(SkeinTest.layer(second, { storage: inner, owner: lonely("second") })))
      })),
      { seed: 1 }
    )
  })

  for (const unread of [[], ["noted"]]) {
    it.effect(`continues in order${unread.length > 0 ? " with unread messages" : ""}, even if the next clock is behind`, () =>
      Effect.gen(function*() {
        const inner = yield* lasting
        const stack = (name: string, script: Scripted.Scripted) =>
          Effect.provide(SkeinTest.layer(script, { storage: inner, owner: lonely(name) }))
        yield* TestClock.setTime(3_600_000)
        const { id } = yield* Effect.gen(function*() {
          const info = yield* root()
          yield* Session.prompt(info.id, "one")
          yield* TestClock.adjust(1_000)
          for (const text of unread) yield* Effect.flatMap(Session, (session) => session.append(info.id, text))
          return info
        }).pipe(stack("ahead", Scripted.make({ build: ["first"] })))
        yield* TestClock.setTime(0)
        const behind = Scripted.make({ build: ["second"] })
        yield* Effect.gen(function*() {
          yield* Session.prompt(id, "two")
          const texts = (yield* messagesOf(id)).flatMap(({ parts }) =>
            parts.flatMap((part) => part.type === "text" ? [part.text] : [])
          )
          expect(texts).toEqual(["one", "first", ...unread, "two", "second"])
          yield* expectStill(id, behind)
        }).pipe(stack("behind", behind))
      }).pipe(Effect.scoped))
  }

  it("is opened once, however many callers open it at the same time", () => {
    for (const seed of seeds(1, 40)) {
      let id = "" as SessionID
      const script = Scripted.make({ build: [{ text: "ok", delay: { first: 1 } }] })
      simulate(
        Effect.scoped(Effect.gen(function*() {
          const inner = yield* lasting
          yield* Effect.gen(function*() {
            ;({ id } = yield* root())
            yield* Effect.flatMap(Session, (session) => session.append(id, "noted"))
          }).pipe(Effect.provide(SkeinTest.layer(script, { storage: inner })))
          const reading = Effect.flatMap(Random.nextIntBetween(0, 6), (ms) => Effect.sleep(ms))
          const storage = makeRecordedStorage({ inner, reading })
          yield* Effect.gen(function*() {
            const prompts = ["a", "b", "c"]
            const late = (text: string) =>
              Effect.zipRight(
                Effect.flatMap(Random.nextIntBetween(0, 10), (ms) => Effect.sleep(ms)),
                Session.prompt(id, text)
              )
            yield* Effect.forEach(prompts, late, { concurrency: "unbounded" })
            const texts = (yield* messagesOf(id)).flatMap(({ info, parts }) =>
              info.role === "user" ? parts.map((part) => part.type === "text" && part.text) : []
            )
            expect(texts.toSorted()).toEqual(["a", "b", "c", "noted"])
            expect(script.open.most).toBe(1)
            yield* expectStill(id, script)
          }).pipe(Effect.provide(SkeinTest.layer(script, { storage: storage.layer })))
        })),
        { seed, everywhere: true, maxSlice: 60 }
      )
    }
  })
})
