import { describe, expect, it } from "@effect/vitest"
import { Agent } from "@skein/core/Agent"
import { Session } from "@skein/core/Session"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"

const good = { identifier: "sql-reviewer", whenToUse: "Use this agent for SQL.", systemPrompt: "You review SQL." }
const create = (input: unknown) => Scripted.call("create_agent", input)

const generate = (
  steps: ReadonlyArray<Scripted.ScriptedStep | string>,
  wish: Partial<Parameters<typeof Agent.generate>[0]> = {}
) => {
  const script = Scripted.make({ generate: steps })
  return Effect.map(
    Effect.all([
      Effect.either(Agent.generate({ description: "review SQL migrations", ...wish })),
      Effect.flatMap(Session, ({ list }) => list({}))
    ]),
    ([result, sessions]) => ({ result, sessions, requests: script.requests })
  ).pipe(
    Effect.provide(SkeinTest.layer(script, { agents: [SkeinTest.agent("sql-expert")] }))
  )
}

const lastUser = ({ messages }: Scripted.Scripted["requests"][number]) => JSON.stringify(messages.at(-1))

describe("Agent.generate", () => {
  it.effect("returns an agent that a model designed, and creates no session", () =>
    Effect.gen(function*() {
      const { requests, result, sessions } = yield* generate([create(good)])
      expect(result).toMatchObject({ _tag: "Right", right: good })
      expect(sessions.rows).toEqual([])
      expect(requests).toHaveLength(1)
      expect(requests[0]).toMatchObject({ toolChoice: "required", temperature: 0.3, tools: [{ name: "create_agent" }] })
      expect(lastUser(requests[0]!)).toContain("review SQL migrations")
      expect(lastUser(requests[0]!)).toMatch(/build, compaction, [^]*sql-expert/)
    }))

  it.effect("accepts a one-word name", () =>
    Effect.gen(function*() {
      const { requests, result } = yield* generate([create({ ...good, identifier: "reviewer" })])
      expect(result).toMatchObject({ right: { identifier: "reviewer" } })
      expect(requests).toHaveLength(1)
    }))

  it.effect("has the model correct a taken or invalid name, and an answer in text", () =>
    Effect.gen(function*() {
      const { requests, result } = yield* generate([
        create({ ...good, identifier: "sql-expert" }),
        create({ ...good, identifier: "SQL Reviewer" }),
        "Here is your agent!",
        create(good)
      ])
      expect(result).toMatchObject({ _tag: "Right", right: good })
      expect(requests.slice(1).map(lastUser)).toEqual([
        expect.stringContaining("\\\"sql-expert\\\" is taken"),
        expect.stringContaining("identifier: "),
        expect.stringContaining("create_agent was not called")
      ])
    }))

  it.effect("avoids names that only the caller knows", () =>
    Effect.gen(function*() {
      const { result } = yield* generate([create(good), create({ ...good, identifier: "sql-judge" })], {
        taken: ["sql-reviewer"]
      })
      expect(result).toMatchObject({ right: { identifier: "sql-judge" } })
    }))

  it.effect("fails after three corrections, with the model's last answer", () =>
    Effect.gen(function*() {
      const { requests, result } = yield* generate([create({ identifier: "no" })])
      expect(requests).toHaveLength(4)
      expect(result).toMatchObject({
        left: {
          _tag: "AgentNotGenerated",
          last: "{\"identifier\":\"no\"}",
          message: expect.stringContaining("in 4 tries")
        }
      })
    }))
})
