import { describe, expect, it } from "@effect/vitest"
import type { ModelRequest } from "@skein/core/Provider"
import { Session } from "@skein/core/Session"
import { SessionStorage } from "@skein/core/SessionStorage"
import type { SessionID } from "@skein/domain/Id"
import * as Scripted from "@skein/testing/ScriptedProvider"
import { seeds, share } from "@skein/testing/Seeds"
import { simulate } from "@skein/testing/Simulation"
import * as SkeinTest from "@skein/testing/SkeinTest"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { type Death, lastingStorage, type Life, lonely, process } from "./support/mortal.ts"
import { callsOf, childrenOf, expectStill, messagesOf, resultOf, root } from "./support/tree.ts"

const results = ({ messages }: ModelRequest): number =>
  messages.reduce((sum, { content, role }) => role === "tool" ? sum + content.length : sum, 0)

const task = (agent: string, background: boolean) => ({
  tool: "task",
  input: { description: agent, prompt: `You are ${agent}`, subagent_type: agent, ...(background ? { background } : {}) }
})
const act = (what: string) => ({ tool: "act", input: { what } })

/** Three effects, a task and one in the background, each with its own effect; the model knows only its conversation. */
const scripts = (life: Life) => {
  const steps = (...list: ReadonlyArray<Scripted.ScriptedStep>) => (request: ModelRequest) =>
    life.alive(Effect.sync(() => {
      let left = results(request)
      for (const step of list) {
        if (left <= 0) return step
        left -= step.calls?.length ?? 0
      }
      return { text: "Enough" }
    }))
  return Scripted.make({
    build: steps(
      { text: "I begin", calls: [act("a"), task("worker", false)] },
      { calls: [task("bg", true), act("b")], delay: { first: 5 } },
      { calls: [act("c")], pieces: 3, text: "in three pieces", delay: { between: 2 } },
      { text: "All is done" }
    ),
    worker: steps({ calls: [act("w")], delay: { first: 3 } }, { text: "worker is done" }),
    bg: steps({ calls: [act("x")], delay: { first: 7 } }, { text: "bg is done", delay: { first: 20 } })
  })
}

const agents = [SkeinTest.agent("worker"), SkeinTest.agent("bg")]

/** A tree in successive processes, each of which dies at a given commit, until one finishes. */
const lives = (deaths: ReadonlyArray<Death>, seed: number) => {
  const effects: Array<string> = []
  let died = 0
  const program = Effect.gen(function*() {
    const inner = yield* lastingStorage
    const run = (n: number): Effect.Effect<void, unknown> =>
      Effect.gen(function*() {
        const end = yield* process(inner, deaths[n], (life, storage) => {
          const tool = SkeinTest.tool("act", ({ what }) =>
            life.alive(Effect.sync(() => {
              effects.push(String(what))
              return `did ${what}`
            })), { effect: "never" })
          const script = scripts(life)
          const owner = lonely(`process ${n}`)
          const layer = SkeinTest.layer(script, { agents, tools: [tool], storage, owner })
          return Effect.flatMap(Layer.build(layer), (context) =>
            Effect.provide(n === 0 ? begin : resume(inner, script, effects), context))
        })
        if (Option.isSome(end)) {
          return
        }
        died++
        yield* run(n + 1)
      })
    yield* run(0)
  })
  simulate(Effect.scoped(program), { seed })
  return { effects, died }
}

const begin = Effect.gen(function*() {
  const { id } = yield* root()
  yield* Session.prompt(id, "Go")
  yield* Effect.flatMap(Session, (session) => session.untilIdle(id))
})

const resume = (
  inner: Context.Tag.Service<SessionStorage>,
  script: Scripted.Scripted,
  effects: ReadonlyArray<string>
) =>
  Effect.gen(function*() {
    const session = yield* Session
    const [info] = (yield* session.list()).rows
    if (info === undefined) return
    yield* session.resume(info.id)
    yield* session.untilIdle(info.id)
    yield* expectStill(info.id, script)
    yield* expectNothingLost(inner, info.id, effects)
  })

const expectNothingLost = Effect.fnUntraced(function*(
  inner: Context.Tag.Service<SessionStorage>,
  id: SessionID,
  effects: ReadonlyArray<string>
) {
  expect(effects.toSorted(), "nothing is done twice").toEqual([...new Set(effects)].toSorted())
  const messages = yield* messagesOf(id)
  // The process died before the prompt was stored, so it was never acknowledged.
  if (messages.length === 0) return
  const children = yield* childrenOf(id)
  expect(children.map(({ agent }) => agent).toSorted(), "no task is begun twice").toEqual(["bg", "worker"])
  const all = [messages, ...(yield* Effect.forEach(children, (child) => messagesOf(child.id)))]
  const acts = callsOf(all.flat()).filter((call) => call.tool === "act")
  for (const call of acts) {
    const { what } = call.state.input as { readonly what: string }
    if (call.state.status === "completed") expect(effects).toContain(what)
    else expect(resultOf(call)).toMatch(/outcome unknown|was not run/)
  }
  const runs = (yield* inner.runs({ rootID: id })).rows
  // Who dies again and again while it waits for the same answer does not ask for it any more.
  if (runs.some(({ outcome }) => outcome?.status === "lost" && outcome.reason?.includes("died 3 times"))) return
  expect(runs.map(({ outcome }) => outcome?.status)).toEqual(["completed", "completed"])
  const texts = messages.flatMap(({ info, parts }) =>
    info.role === "user" ? parts.flatMap((part) => part.type === "text" ? [part.text] : []) : []
  )
  expect(texts.filter((text) => text.includes("<task-notification")), "each outcome is reported once").toHaveLength(1)
  const tasks = callsOf(messages).filter((call) => call.tool === "task")
  expect(tasks.map(({ state }) => state.status)).toEqual(["completed", "completed"])
  expect(resultOf(tasks[0]!)).toContain("worker is done")
  const last = messages.at(-1)
  expect(last?.info).toMatchObject({ role: "assistant", finish: "stop" })
})

/** The number of commits without a crash, and a few more. */
const commits = 80

describe("a tree whose process dies", () => {
  for (const made of [false, true]) {
    it(`${made ? "after" : "before"} any of its commits, continues from there`, { timeout: 60_000 }, () => {
      let died = 0
      for (const at of seeds(1, commits)) {
        const life = lives([{ at, made }], at)
        died += life.died
        if (life.died === 0) expect(life.effects.toSorted()).toEqual(["a", "b", "c", "w", "x"])
      }
      expect(died).toBeGreaterThan(share(30))
    })
  }

  it("repeatedly, also during recovery, still continues", { timeout: 60_000 }, () => {
    let died = 0
    for (const seed of seeds(1, 150)) {
      const deaths = [0, 1, 2, 3].map((n) => ({
        at: 1 + ((seed * 7 + n * 13) % (n === 0 ? 48 : 16)),
        made: (seed + n) % 2 === 0
      }))
      died += lives(deaths, seed).died
    }
    expect(died).toBeGreaterThan(share(250))
  })
})
