/** Proves that a tree can be read at any moment of its recovery: no reader closes it, or keeps a part of its past in memory. */
import { expect, it } from "@effect/vitest"
import { Session } from "@skein/core/Session"
import { SessionStorage } from "@skein/core/SessionStorage"
import type { SessionID } from "@skein/domain/Id"
import type * as Scripted from "@skein/testing/ScriptedProvider"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import { type Generation, generations, go, resumed } from "./support/generations.ts"
import { expectStill } from "./support/tree.ts"

const hasResults = ({ messages }: Scripted.Scripted["requests"][number]) => messages.some(({ role }) => role === "tool")

const same: Omit<Generation, "program"> = {
  options: { agents: [SkeinTest.agent("worker")] },
  scripts: {
    build: (request) =>
      hasResults(request) ? "the end" : {
        calls: ["one", "two", "three"].map((description) => ({
          tool: "task",
          input: { description, prompt: description, subagent_type: "worker" }
        }))
      },
    worker: (request) => hasResults(request) ? "worked" : { calls: [{ tool: "look" }] }
  }
}

const looks = (ms: number) => () => [SkeinTest.tool("look", () => Effect.as(Effect.sleep(ms), "seen"))]

/** Reads sessions of the tree without end, each time after another pause. */
const reading = (ids: ReadonlyArray<SessionID>, first: number) =>
  Effect.gen(function*() {
    const session = yield* Session
    for (let n = first;; n++) {
      yield* Effect.ignore(session.get(ids[n % ids.length]!))
      yield* Effect.sleep((n * 7) % 11)
    }
  })

it.each([1, 3, 8, 20])("while each answer of the storage takes %i ms", (latency) => {
  for (let first = 0; first < 12; first++) {
    generations({ ...same, tools: looks(3_600_000), dies: 1_000, program: go, seed: first }, {
      ...same,
      tools: looks(100),
      latency: { answers: latency },
      program: (id, script) =>
        Effect.gen(function*() {
          const storage = yield* SessionStorage
          const ids = (yield* storage.sessions({ rootID: id })).rows.map((info) => info.id)
          for (let reader = 0; reader < 4; reader++) yield* Effect.forkScoped(reading(ids, first + reader))
          yield* Effect.sleep(first)
          expect(yield* resumed(id)).toMatchObject({ text: "the end" })
          const { rows } = yield* storage.runs({ rootID: id })
          expect(rows.map(({ outcome }) => outcome?.status)).toEqual(["completed", "completed", "completed"])
          yield* expectStill(id, script)
        }).pipe(Effect.scoped)
    })
  }
})
