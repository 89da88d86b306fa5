import { expect, it } from "@effect/vitest"
import { Session } from "@skein/core/Session"
import * as Skein from "@skein/core/Skein"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"

const Entry = Schema.Struct({ file: Schema.String, line: Schema.Int })

const answer = (value: unknown) => Scripted.call("final_answer", { answer: value })

const ask = (steps: ReadonlyArray<Scripted.ScriptedStep | string>) => {
  const script = Scripted.make({ build: steps })
  return Effect.gen(function*() {
    const session = yield* Session.create({ directory: "/work", agent: "build" })
    const result = yield* Effect.either(Session.ask(session.id, "Where is the entry?", Entry))
    return { result, requests: script.requests.filter((request) => request.origin.purpose === "turn") }
  }).pipe(Effect.provide(Skein.layer({ provider: script.layer })))
}

it.effect("returns an answer of the requested schema", () =>
  Effect.gen(function*() {
    const { requests, result } = yield* ask([answer({ file: "bin.ts", line: 3 })])
    expect(result).toEqual(Either.right({ file: "bin.ts", line: 3 }))
    expect(requests[0]?.tools.map((tool) => tool.name)).toContain("final_answer")
  }))

it.effect("lets the model correct a wrong answer, and an answer in text", () =>
  Effect.gen(function*() {
    const { requests, result } = yield* ask([
      answer({ file: "bin.ts" }),
      "It is bin.ts:3",
      answer({ file: "bin.ts", line: 3 })
    ])
    expect(result).toEqual(Either.right({ file: "bin.ts", line: 3 }))
    expect(requests).toHaveLength(3)
    expect(JSON.stringify(requests[1]?.messages)).toContain("line")
    expect(Scripted.lastText(requests[2]!)).toContain("final_answer")
  }))

it.effect("fails after three corrections, with the last answer", () =>
  Effect.gen(function*() {
    const { requests, result } = yield* ask([answer({ n: 1 }), answer({ n: 2 }), answer({ n: 3 }), answer({ n: 4 })])
    expect(requests).toHaveLength(4)
    expect(Either.isLeft(result) && result.left._tag === "InvalidAnswer" ? result.left.last : "").toContain("\"n\":4")
  }))

it.effect("answers a prompt with its own schema in a separate turn", () => {
  const script = Scripted.make({
    build: (request) =>
      request.tools.some((tool) => tool.name === "final_answer") ? answer({ file: "a.ts", line: 1 }) : "free"
  })
  return Effect.gen(function*() {
    const session = yield* Session.create({ directory: "/work", agent: "build" })
    const [free, typed] = yield* Effect.all(
      [Session.prompt(session.id, "Anything"), Session.ask(session.id, "Where?", Entry)],
      { concurrency: "unbounded" }
    )
    expect(free.text).toBe("free")
    expect(typed).toEqual({ file: "a.ts", line: 1 })
  }).pipe(Effect.provide(Skein.layer({ provider: script.layer })))
})
