import { describe, expect, it } from "@effect/vitest"
import { Provider } from "@skein/core/Provider"
import { Session } from "@skein/core/Session"
import type { AgentInfo } from "@skein/domain/AgentInfo"
import type { SessionID } from "@skein/domain/Id"
import { none, noTokens, since } from "@skein/domain/Usage"
import { record } from "@skein/testing/RecordedEvents"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/TestClock"
import { asked, changing, prompted, summaries, summaryOf, use } from "./support/summaries.ts"
import { root } from "./support/tree.ts"

describe("a summary", () => {
  it.effect("is made of what was asked, changed, run, delegated and answered, and stored with the session", () => {
    const script = Scripted.make({
      build: [
        {
          calls: [{ tool: "edit", input: { filePath: "src/a.ts" } }, { tool: "bash", input: { command: "npm test" } }]
        },
        { calls: [{ tool: "bash", input: { command: "ls" } }, { tool: "patch", input: {} }] },
        Scripted.tasks({ worker: "Do the rest" }),
        "All is done.",
        "Nothing more."
      ],
      worker: [Scripted.call("edit", { filePath: "b.ts" }), "b is done"],
      summary: ["  Renamed a.\nb is new. \n"]
    })
    return use(
      script,
      Effect.gen(function*() {
        const session = yield* Session
        const { all } = yield* record()
        const { id } = yield* root()
        yield* session.prompt(id, "Rename\n  a")
        yield* session.prompt(id, "And more?")
        const before = yield* session.get(id)
        yield* TestClock.adjust(5)
        const summary = yield* session.summarize(id)
        const until = (yield* session.messages(id)).at(-1)?.info.id
        expect(summary).toEqual({
          text: "Renamed a.\nb is new.",
          files: ["new.ts", "src/a.ts", "b.ts"],
          until,
          time: 5
        })
        // It was published and stored, and did not change the order of sessions.
        const after = yield* session.get(id)
        expect(after).toEqual({ ...before, summary, usage: after.usage })
        expect((yield* session.list()).rows).toEqual([{ ...after, summary }])
        expect(all.at(-1)).toMatchObject({ type: "session.updated", properties: { info: { summary } } })
        expect(asked(script)).toBe(`Session: Test
Directory: /work
Agent: build

Asked:
- Rename a
- And more?

Files changed:
- new.ts (patch by build)
- src/a.ts (edit, patch by build)
- b.ts (edit by worker)

Commands run:
- npm test (build, exit code 2)

Tasks of subagents:
- worker task (worker), completed: b is done

Last answer:
Nothing more.`)
        expect(summaries(script)[0]).toMatchObject({ tools: [], origin: { path: ["summary"], sessionID: id } })
        const { time, usage } = yield* session.get(id)
        // Its usage counts, it is no step, and it does not change the date of the session.
        expect(since(before.usage.subtree, usage.subtree)).toEqual({
          ...none,
          tokens: { ...noTokens, input: 10, output: 5 },
          cost: "0.00002"
        })
        expect(time.updated).toBe(before.time.updated)
      })
    )
  })

  it.effect("of a child covers only it and what is below it", () => {
    const script = Scripted.make({
      build: [changing, Scripted.tasks({ worker: "Half" }), "ok"],
      worker: [Scripted.call("edit", { filePath: "b.ts" }), "b is done"]
    })
    return use(
      script,
      Effect.gen(function*() {
        const { id, session } = yield* prompted
        const [child] = yield* session.children(id)
        const { files, text } = yield* session.summarize(child?.id ?? id)
        expect([files, text]).toEqual([["b.ts"], "A summary"])
        expect(asked(script)).toContain("Asked:\n- Half")
        expect(asked(script)).not.toContain("Tasks of subagents")
        expect(yield* summaryOf(id)).toBeUndefined()
      })
    )
  })

  it.effect("names files in order of time, from all agents, and asks only of people", () => {
    const script = Scripted.make({
      build: [
        Scripted.call("task", { description: "Later", prompt: "Go", subagent_type: "worker", background: true }),
        Scripted.call("edit", { filePath: "first.ts" }),
        { calls: [{ tool: "edit", input: { filePath: "last.ts" } }], delay: { first: 2_000 } },
        "ok"
      ],
      worker: [{ calls: [{ tool: "edit", input: { filePath: "middle.ts" } }], delay: { first: 1_000 } }, "done"]
    })
    return use(
      script,
      Effect.gen(function*() {
        const session = yield* Session
        const { id } = yield* root()
        const turn = yield* Effect.fork(Effect.zipRight(session.prompt(id, "Go"), session.untilIdle(id)))
        yield* TestClock.adjust("1 minute")
        yield* Fiber.join(turn)
        // The notification of the task was a message of the runtime.
        expect(JSON.stringify(yield* session.messages(id))).toContain("<task-notification")
        expect((yield* session.summarize(id)).files).toEqual(["first.ts", "middle.ts", "last.ts"])
        expect(asked(script)).toContain("Asked:\n- Go\n\nFiles changed:")
        expect(asked(script)).toContain("- Later (worker), completed: done")
      })
    )
  })

  it.effect("has a limited cost, however long the session is, and is well-formed text", () => {
    const script = Scripted.make({
      build: Array.from({ length: 400 }, (_, at) =>
        at % 2 === 0
          ? Scripted.call("edit", { filePath: `src/${"d".repeat(200)}/${at}.ts` })
          : `${"\u{1F600}".repeat(9_000)} ${at}`),
      summary: [`x\uD83D${"y".repeat(20_000)}`]
    })
    return use(
      script,
      Effect.gen(function*() {
        const session = yield* Session
        const { id } = yield* root()
        for (let at = 0; at < 150; at++) yield* session.prompt(id, `${at} ${"\u{1F600}".repeat(2_000)}`)
        const { files, text } = yield* session.summarize(id)
        expect(files).toHaveLength(100)
        expect(files.at(-1)).toMatch(/\/298\.ts$/)
        expect(text.length).toBeLessThanOrEqual(4_000)
        expect(text.isWellFormed()).toBe(true)
        const digest = asked(script)
        expect(digest.length).toBeLessThan(25_000)
        expect(digest.isWellFormed()).toBe(true)
        expect(digest).not.toContain("\uFFFD")
        // The first prompt and the last ones.
        expect(digest).toMatch(/Asked:\n- 0 .*…\n- \(\d+ more\)\n- \d+ /)
        expect(digest).toContain("\n- 149 ")
      })
    )
  })

  it.effect("needs a session with messages", () =>
    use(
      Scripted.make({ build: ["ok"] }),
      Effect.gen(function*() {
        const session = yield* Session
        const { id } = yield* root()
        const error = yield* Effect.flip(session.summarize(id))
        expect(error).toMatchObject({
          _tag: "SummaryFailed",
          reason: "nothing_said",
          message: `The session ${id} cannot be summarised: nothing was said in it yet. Prompt it first.`
        })
        const unknown = yield* Effect.flip(session.summarize("ses_none" as SessionID))
        expect(unknown._tag).toBe("SessionNotFound")
      })
    ))

  const bad = {
    "refuses": { step: Scripted.fault("auth", { message: "No." }), why: "No.", requests: 1 },
    "says nothing": { step: { text: " \n" }, why: "scripted/model ended without text", requests: 2 }
  }
  for (const [name, { requests, step, why }] of Object.entries(bad)) {
    it.effect(`that the model ${name} leaves the previous one in place`, () => {
      const script = Scripted.make({ build: ["ok"], summary: ["First", step] })
      return use(
        script,
        Effect.gen(function*() {
          const { id, session } = yield* prompted
          const first = yield* session.summarize(id)
          const asking = yield* Effect.fork(Effect.flip(session.summarize(id)))
          yield* TestClock.adjust("1 minute")
          const error = yield* Fiber.join(asking)
          expect(error).toMatchObject({ _tag: "SummaryFailed", reason: "model" })
          expect(error.message).toContain(`The session ${id} could not be summarised: ${why}`)
          expect(error.message).toContain("agent.summary.model in skein.json")
          expect(yield* summaryOf(id)).toEqual(first)
          expect(summaries(script)).toHaveLength(1 + requests)
        })
      )
    })
  }

  it.effect("without an available model says which setting to change", () =>
    use(
      Scripted.make({ build: ["ok"] }),
      Effect.gen(function*() {
        const { id, session } = yield* prompted
        const error = yield* Effect.flip(session.summarize(id))
        expect(error).toMatchObject({ _tag: "SummaryFailed", reason: "unavailable" })
        expect(error.message).toContain("small_model in skein.json")
      }),
      { small_model: "no/such" }
    ))

  it.effect("is retried if the model is overloaded", () => {
    const script = Scripted.make({
      build: ["ok"],
      summary: [Scripted.fault("overloaded", {}, { text: "half" }), "Whole"]
    })
    return use(
      script,
      Effect.gen(function*() {
        const { id, session } = yield* prompted
        const asking = yield* Effect.fork(session.summarize(id))
        yield* TestClock.adjust("1 minute")
        expect((yield* Fiber.join(asking)).text).toBe("Whole")
      })
    )
  })

  it.effect("that covers more is not overwritten by a later one that covers less", () => {
    const script = Scripted.make({ build: ["ok"], summary: [{ text: "Old", delay: { first: 60_000 } }, "New"] })
    return use(
      script,
      Effect.gen(function*() {
        const { id, session } = yield* prompted
        const slow = yield* Effect.fork(session.summarize(id))
        yield* TestClock.adjust(10)
        yield* session.prompt(id, "On")
        yield* session.summarize(id)
        yield* TestClock.adjust("1 minute")
        expect((yield* Fiber.join(slow)).text).toBe("New")
        expect((yield* summaryOf(id))?.text).toBe("New")
      })
    )
  })

  it.effect("comes from the agent's own model, else from that of the current agent", () => {
    const [own, worker, usual] = ["own", "worker", "usual"].map((modelID) =>
      Scripted.make({ lead: ["ok"], build: ["ok"], summary: [modelID] }, { modelID })
    ) as [Scripted.Scripted, Scripted.Scripted, Scripted.Scripted]
    const refs = (modelID: string) => [{ providerID: "scripted", modelID }]
    const textWith = (agents: ReadonlyArray<AgentInfo>, agent: string) =>
      Effect.gen(function*() {
        const session = yield* Session
        const { id } = yield* root({ agent })
        yield* session.prompt(id, "Go")
        return (yield* session.summarize(id)).text
      }).pipe(
        Effect.provide(SkeinTest.layer(
          { layer: Provider.layerModels([usual.model, own.model, worker.model]) },
          { agents: [SkeinTest.agent("lead", { mode: "all", model: refs("worker") }), ...agents] }
        ))
      )
    return Effect.gen(function*() {
      expect(yield* textWith([], "build")).toBe("usual")
      expect(yield* textWith([], "lead")).toBe("worker")
      expect(yield* textWith([SkeinTest.agent("summary", { hidden: true, model: refs("own") })], "lead")).toBe("own")
    })
  })

  it.effect("closes its request if it is interrupted, or fails if its session is stopped", () => {
    const script = Scripted.make({ build: ["ok"], summary: [{ hangs: true }] })
    return use(
      script,
      Effect.gen(function*() {
        const { id, session } = yield* prompted
        const first = yield* Effect.fork(session.summarize(id))
        yield* TestClock.adjust(10)
        expect(script.open.now).toBe(1)
        const exit = yield* Fiber.interrupt(first)
        expect([Exit.isInterrupted(exit), script.open.now]).toEqual([true, 0])
        const second = yield* Effect.fork(Effect.flip(session.summarize(id)))
        yield* TestClock.adjust(10)
        yield* session.stop(id)
        expect(script.open.now).toBe(0)
        expect(yield* Fiber.join(second)).toMatchObject({ _tag: "SessionStopped" })
        const third = yield* Effect.fork(Effect.flip(session.summarize(id)))
        yield* TestClock.adjust(10)
        yield* session.remove(id)
        expect((yield* Fiber.join(third))._tag).toBe("SessionStopped")
        expect((yield* Effect.flip(session.get(id)))._tag).toBe("SessionNotFound")
      })
    )
  })
})
