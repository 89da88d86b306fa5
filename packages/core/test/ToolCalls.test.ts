import { describe, expect, it } from "@effect/vitest"
import { Session } from "@skein/core/Session"
import { define, ToolError } from "@skein/core/Tool"
import type { ToolPart } from "@skein/domain/Part"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/TestClock"
import { callsOf, expectStill, resultOf, root } from "./support/tree.ts"

const echo = SkeinTest.tool("echo", ({ words }) => Effect.succeed(`said ${String(words)}`))
const sleepy = SkeinTest.tool("sleepy", ({ ms }) => Effect.as(Effect.sleep(Number(ms)), `slept ${String(ms)}`))
const bash = SkeinTest.tool("bash", ({ command }) => Effect.succeed(`ran ${String(command)}`), {
  parameters: Schema.Struct({ command: Schema.String }) as never,
  effect: "never"
})
const failing = SkeinTest.tool("failing", () => Effect.fail(new ToolError({ kind: "oops", message: "It went wrong." })))
const dying = SkeinTest.tool("dying", () => Effect.die(new Error("a bug")))
const throwing = SkeinTest.tool("throwing", () => {
  throw new Error("a bug at once")
})
const cutting = SkeinTest.tool("cutting", () => Effect.interrupt)
const denied = SkeinTest.tool("denied", () => Effect.succeed("never"), {
  authorise: () => Effect.succeed([{ permission: "edit", patterns: ["a"], always: [], metadata: {} }])
})
const tools = [echo, sleepy, bash, failing, dying, throwing, cutting, denied]

/** Prompts a session whose model makes these calls and then says that it is done. */
const turn = Effect.fnUntraced(function*(step: Scripted.ScriptedStep, more: ReadonlyArray<Scripted.ScriptedStep> = []) {
  const script = Scripted.make({ build: [step, ...more, "done"] })
  return yield* Effect.gen(function*() {
    const session = yield* Session
    const { id } = yield* root()
    const fiber = yield* Effect.fork(Effect.either(session.prompt(id, "Go")))
    yield* TestClock.adjust("1 hour")
    const result = yield* Fiber.join(fiber)
    const messages = yield* session.messages(id)
    yield* expectStill(id, script)
    return { result, messages, requests: script.requests, calls: callsOf(messages) }
  }).pipe(Effect.provide(SkeinTest.layer(script, { tools })))
})

/** The results in the next request for the calls of the one before it. */
const resultsIn = (requests: ReadonlyArray<Scripted.Scripted["requests"][number]>, at = 1): ReadonlyArray<string> =>
  requests[at]?.messages.flatMap((message) => message.role === "tool" ? message.content : []).map((each) =>
    each.output.value
  ) ?? []

const tagOf = ({ state }: ToolPart) => (state.status === "error" ? state.error.tag : state.status)

it.effect("a tool without arguments is offered as an object without properties, also inside others", () => {
  const nothing = { type: "object", properties: {} }
  const script = Scripted.make({ build: ["ok"] })
  const tools = [
    define({ ...SkeinTest.tool("none", () => Effect.succeed("")), parameters: Schema.Struct({}) }),
    define({
      ...SkeinTest.tool("nested", () => Effect.succeed("")),
      parameters: Schema.Struct({ list: Schema.Array(Schema.Struct({})) })
    })
  ]
  return Effect.gen(function*() {
    yield* Session.prompt((yield* root()).id, "Go")
    const offered = script.requests[0]?.tools ?? []
    const schemaOf = (name: string) => offered.find((tool) => tool.name === name)?.inputSchema
    expect(schemaOf("none")).toEqual(nothing)
    expect(schemaOf("nested")).toMatchObject({ properties: { list: { type: "array", items: nothing } } })
  }).pipe(Effect.provide(SkeinTest.layer(script, { tools })))
})

describe("the calls of a step", () => {
  it.effect("run in parallel, and their results are in the order of the calls", () =>
    Effect.gen(function*() {
      const { calls, requests, result } = yield* turn({
        calls: [300, 100, 200].map((ms) => ({ tool: "sleepy", input: { ms } }))
      })
      expect(result).toMatchObject({ _tag: "Right", right: { text: "done" } })
      expect(resultsIn(requests)).toEqual(["slept 300", "slept 100", "slept 200"])
      const ends = calls.map(({ state }) => state.status === "completed" ? state.time : undefined)
      expect(ends).toEqual([{ start: 0, end: 300 }, { start: 0, end: 100 }, { start: 0, end: 200 }])
    }))

  it.effect("run in parallel up to the limit", () => {
    let now = 0
    let most = 0
    const counted = SkeinTest.tool("counted", () =>
      Effect.acquireUseRelease(
        Effect.sync(() => {
          most = Math.max(most, ++now)
        }),
        () => Effect.as(Effect.sleep(10), "done"),
        () => Effect.sync(() => now--)
      ))
    const script = Scripted.make({
      build: [{ calls: Array.from({ length: 40 }, (_, n) => ({ tool: "counted", input: { n } })) }, "done"]
    })
    return Effect.gen(function*() {
      const { id } = yield* root()
      const fiber = yield* Effect.fork(Session.prompt(id, "Go"))
      yield* TestClock.adjust("1 minute")
      expect((yield* Fiber.join(fiber)).text).toBe("done")
      expect(most).toBe(4)
    }).pipe(Effect.provide(SkeinTest.layer(script, { tools: [counted], config: { limits: { concurrency: 4 } } })))
  })

  it.effect("do not stop each other when one fails, dies, throws, interrupts itself or is denied", () =>
    Effect.gen(function*() {
      const names = ["echo", "failing", "dying", "throwing", "cutting", "denied", "sleepy"]
      const { calls, requests, result } = yield* turn({
        calls: names.map((tool) => ({ tool, input: { words: "hi", ms: 50 } }))
      })
      expect(result).toMatchObject({ _tag: "Right", right: { text: "done", end: "completed" } })
      expect(calls.map(tagOf)).toEqual([
        "completed",
        "oops",
        "defect",
        "defect",
        "interrupted",
        "permission",
        "completed"
      ])
      expect(resultsIn(requests)).toEqual(calls.map(resultOf))
      expect(calls.slice(1, 4).map(resultOf)).toEqual([
        "It went wrong.",
        "Tool execution failed: a bug",
        "Tool execution failed: a bug at once"
      ])
      expect(resultOf(calls.at(-1)!)).toBe("slept 50")
    }))

  it.effect("do not begin before they are allowed", () =>
    Effect.gen(function*() {
      const begun: Array<string> = []
      const eager = (name: string, action: "allow" | "deny") =>
        SkeinTest.tool(name, () => {
          begun.push(name)
          return Effect.succeed(name)
        }, { authorise: () => Effect.succeed([{ permission: "edit", patterns: [action], always: [], metadata: {} }]) })
      const script = Scripted.make({ build: [{ calls: [{ tool: "bad" }, { tool: "good" }] }, "done"] })
      yield* Effect.flatMap(root(), ({ id }) => Session.prompt(id, "Go")).pipe(
        Effect.provide(SkeinTest.layer(script, {
          tools: [eager("bad", "deny"), eager("good", "allow")],
          rules: { edit: { allow: "allow", deny: "deny" } }
        }))
      )
      expect(begun).toEqual(["good"])
    }))

  it.effect("are kept in the history as they were made", () =>
    Effect.gen(function*() {
      const { requests } = yield* turn({ text: "Look:", calls: [{ tool: "echo", input: { words: "a" } }] })
      expect(requests[1]?.messages.slice(1)).toMatchObject([
        { role: "user", content: [{ type: "text", text: "Go" }] },
        {
          role: "assistant",
          content: [{ type: "text", text: "Look:" }, { type: "tool-call", toolName: "echo", input: { words: "a" } }]
        },
        {
          role: "tool",
          content: [{ type: "tool-result", toolName: "echo", output: { type: "text", value: "said a" } }]
        }
      ])
    }))
})

describe("invalid arguments", () => {
  const refused = (raw: string, reason: RegExp) =>
    it.effect(`are reported to the model: ${JSON.stringify(raw).slice(0, 60)}`, () =>
      Effect.gen(function*() {
        const { calls, requests, result } = yield* turn({ calls: [{ tool: "bash", raw }] })
        expect(calls.map(tagOf)).toEqual(["invalid_arguments"])
        expect(resultsIn(requests)[0]).toMatch(/^invalid arguments for bash/)
        expect(resultsIn(requests)[0]).toMatch(reason)
        expect(result).toMatchObject({ _tag: "Right", right: { text: "done" } })
        expect(requests[1]?.messages.at(-2)).toMatchObject({
          role: "assistant",
          content: [{ input: expect.any(Object) }]
        })
      }))

  refused("{\"command\":\"rm -rf /tmp/x", /not JSON/)
  refused("ls", /not JSON/)
  refused("{\"command\":5}", /bash\.command: .*string/)
  refused("{}", /bash\.command: is missing/)
  refused("", /bash\.command: is missing/)
  refused("[]", /bash/)
  refused("null", /bash/)
  refused("\"ls\"", /bash/)
  refused("{\"command\":\"ls\",\"timeout\":1}", /bash\.timeout: is unexpected/)
  refused("{\"command\":\"ls\",\"__proto__\":{\"polluted\":1}}", /bash\.__proto__: is unexpected/)

  it.effect("do not change shared prototypes", () =>
    Effect.gen(function*() {
      yield* turn({ calls: [{ tool: "echo", raw: "{\"words\":\"a\",\"__proto__\":{\"polluted\":1}}" }] })
      expect("polluted" in {}).toBe(false)
    }))

  it.effect("are not run when the answer was cut off inside them", () =>
    Effect.gen(function*() {
      const { calls, requests } = yield* turn({
        calls: [{ tool: "bash", input: { command: "rm -rf /tmp/x" } }],
        finish: "length"
      })
      expect(calls.map(tagOf)).toEqual(["cut_off"])
      expect(resultsIn(requests)[0]).toContain("cut off")
    }))

  it.effect("of an answer that is cut off repeatedly end the turn", () =>
    Effect.gen(function*() {
      const cut = { calls: [{ tool: "bash", input: { command: "x" } }], finish: "length" as const }
      const { requests, result } = yield* turn(cut, [cut, cut, cut, cut])
      expect(requests).toHaveLength(3)
      expect(result).toMatchObject({ _tag: "Left", left: { _tag: "ModelError", reason: "bad_response" } })
    }))
})

describe("an unknown tool name", () => {
  for (const name of ["Bash2", "", "ba\nsh", "b".repeat(10_000), "__proto__", "task_", "😀 tool"]) {
    it.effect(`is an error that the model can correct: ${JSON.stringify(name).slice(0, 20)}`, () =>
      Effect.gen(function*() {
        const { calls, requests, result } = yield* turn({ calls: [{ tool: name, input: { command: "ls" } }] })
        expect(calls.map(tagOf)).toEqual(["unknown_tool"])
        expect(resultsIn(requests)[0]).toContain("Tools: bash, cutting, denied, dying, echo")
        expect(result).toMatchObject({ _tag: "Right", right: { text: "done" } })
        const assistant = requests[1]?.messages.findLast((message) => message.role === "assistant")
        const names = assistant?.role === "assistant"
          ? assistant.content.flatMap((part) => part.type === "tool-call" ? [part.toolName] : [])
          : []
        expect(names).toEqual([expect.stringMatching(/^[a-zA-Z0-9_-]{1,64}$/)])
      }))
  }
})

describe("the ids of calls", () => {
  const ids = (requests: Parameters<typeof resultsIn>[0]) =>
    requests.at(-1)?.messages.flatMap((message) => message.role === "assistant" ? message.content : []).flatMap((
      part
    ) => part.type === "tool-call" ? [part.toolCallId] : []) ?? []

  it.effect("are unique in a prompt, whatever ids the model chose", () =>
    Effect.gen(function*() {
      const odd = ["", "", "x".repeat(10_000), "../../x", "call_1\n", "🤷"]
      const { calls, requests } = yield* turn({
        calls: odd.map((id, i) => ({ tool: "echo", id, input: { words: String(i) } }))
      })
      expect(calls.map(tagOf)).toEqual(odd.map(() => "completed"))
      expect(new Set(ids(requests)).size).toBe(odd.length)
      for (const id of ids(requests)) expect(id).toMatch(/^prt_[0-9a-z]+$/)
    }))

  it.effect("that are used twice in one answer make the second call an error", () =>
    Effect.gen(function*() {
      const { calls } = yield* turn({
        calls: [{ tool: "echo", id: "call_1", input: { words: "a" } }, {
          tool: "echo",
          id: "call_1",
          input: { words: "b" }
        }]
      })
      expect(calls.map(tagOf)).toEqual(["completed", "duplicate_id"])
    }))

  it.effect("that were used in an earlier answer run", () =>
    Effect.gen(function*() {
      const { calls, requests } = yield* turn(
        { calls: [{ tool: "echo", id: "call_1", input: { words: "a" } }] },
        [{ calls: [{ tool: "echo", id: "call_1", input: { words: "b" } }] }]
      )
      expect(calls.map(resultOf)).toEqual(["said a", "said b"])
      expect(new Set(ids(requests)).size).toBe(2)
    }))
})
