import { expect, it } from "@effect/vitest"
import { SessionStorage } from "@skein/core/SessionStorage"
import { record } from "@skein/testing/RecordedEvents"
import type * as Scripted from "@skein/testing/ScriptedProvider"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import { type Generation, generations, go, resumed } from "./support/generations.ts"
import { expectStill } from "./support/tree.ts"

const task = (description: string, subagent_type: string, background: boolean) => ({
  tool: "task",
  input: { description, prompt: description, subagent_type, background }
})

const hasResults = ({ messages }: Scripted.Scripted["requests"][number]) => messages.some(({ role }) => role === "tool")

const beside = ["one", "two", "three", "four", "five"].map((name) => task(name, "worker", true))

const same: Omit<Generation, "program"> = {
  options: {
    agents: [SkeinTest.agent("lead", { permission: { task: "allow" } }), SkeinTest.agent("worker")],
    config: { limits: { concurrency: 20 } }
  },
  scripts: {
    build: (request) => hasResults(request) ? "the end" : { calls: [task("lead", "lead", true), ...beside] },
    // Its task is the last in the list of runs, so that it settles before recovery reaches it.
    lead: (request) =>
      hasResults(request) ? "led" : { calls: [task("awaited", "worker", false)], delay: { first: 50 } },
    worker: (request) => hasResults(request) ? "worked" : { calls: [{ tool: "look" }] }
  }
}

const looks = (ms: number) => () => [SkeinTest.tool("look", () => Effect.as(Effect.sleep(ms), "seen"))]

it.each([1, 5])(
  "a run settles once, even if it does so while its tree is still being recovered (%i ms)",
  (latency) => {
    generations({ ...same, tools: looks(3_600_000), dies: 1_000, program: go }, {
      ...same,
      tools: looks(0),
      latency,
      program: (id, script) =>
        Effect.gen(function*() {
          const events = yield* record()
          yield* resumed(id)
          yield* Effect.sleep("1 minute")
          const { rows } = yield* Effect.flatMap(SessionStorage, (storage) => storage.runs({ rootID: id }))
          const ended = [...events.of("subagent.completed"), ...events.of("subagent.failed")]
          expect(ended.map(({ properties: { outcome } }) => outcome.status)).toEqual(rows.map(() => "completed"))
          expect(new Set(ended.map(({ properties: { run_id } }) => run_id)).size).toBe(rows.length)
          expect(rows.map(({ outcome }) => outcome?.status)).toEqual(rows.map(() => "completed"))
          yield* expectStill(id, script)
        }).pipe(Effect.scoped)
    })
  }
)
