import { describe, expect, it } from "@effect/vitest"
import { Provider } from "@skein/core/Provider"
import { Session } from "@skein/core/Session"
import type { MessageWithParts } from "@skein/domain/Part"
import { record } from "@skein/testing/RecordedEvents"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/TestClock"
import { expectStill, messagesOf, root } from "./support/tree.ts"

/**
 * Prompts a session whose model responds this way, one entry per request; records when each request came and the
 * result.
 */
const attempts = Effect.fnUntraced(
  function*(steps: ReadonlyArray<Scripted.ScriptedStep>, options: SkeinTest.SkeinTestOptions = {}) {
    const times: Array<number> = []
    const script = Scripted.make({
      build: () =>
        Effect.map(Clock.currentTimeMillis, (now) => steps[Math.min(times.push(now), steps.length) - 1] ?? {})
    })
    return yield* Effect.gen(function*() {
      const { id } = yield* root()
      const events = yield* record({ sessionID: id })
      const began = yield* Clock.currentTimeMillis
      const timed = Effect.gen(function*() {
        const result = yield* Effect.either(Session.prompt(id, "Go"))
        return { result, at: (yield* Clock.currentTimeMillis) - began }
      })
      const fiber = yield* Effect.fork(timed)
      yield* TestClock.adjust("3 hours")
      const { at, result } = yield* Fiber.join(fiber)
      yield* expectStill(id, script)
      const gaps = times.slice(1).map((time, i) => time - (times[i] ?? 0))
      return { result, at, times, gaps, events, messages: yield* messagesOf(id) }
    }).pipe(Effect.scoped, Effect.provide(SkeinTest.layer(script, options)))
  }
)

const ok = Scripted.text("well")
const within = (gap: number | undefined, least: number, most: number) => {
  expect(gap).toBeGreaterThanOrEqual(least)
  expect(gap).toBeLessThanOrEqual(most)
}

describe("a request that fails", () => {
  it.effect("is retried after 2 s, 4 s, 8 s and 16 s, each randomly shortened by at most half, and then given up", () =>
    Effect.gen(function*() {
      const { gaps, result } = yield* attempts([Scripted.fault("server", { status: 503, message: "broken" })])
      expect(gaps).toHaveLength(4)
      for (const [i, full] of [2_000, 4_000, 8_000, 16_000].entries()) within(gaps[i], full / 2, full)
      expect(new Set(gaps.map((gap, i) => gap / 2 ** i)).size, "the delay is random").toBeGreaterThan(1)
      expect(result).toMatchObject(Either.left({ _tag: "ModelError", reason: "server", message: "broken" }))
    }))

  it.effect("leaves no trace in the order of the next try, which may begin otherwise", () =>
    Effect.gen(function*() {
      const next = { reasoning: "hm", text: "well" }
      const { messages } = yield* attempts([Scripted.fault("network", {}, { text: "half" }), next])
      const said = messages.at(-1)?.parts.filter(({ type }) => type === "reasoning" || type === "text")
      expect(said).toMatchObject([{ type: "reasoning", text: "hm" }, { type: "text", text: "well" }])
    }))

  it.effect("is paid for, if the provider says what it used", () =>
    Effect.gen(function*() {
      const lost = Scripted.fault("bad_response", {}, { text: "half", tokens: { input: 100, output: 20 } })
      const { result } = yield* attempts([lost, ok])
      expect(result).toMatchObject(Either.right({
        usage: { tokens: { input: 110, output: 25 }, cost: "0.00016", steps: 2 }
      }))
    }))

  it.effect("never waits longer than the cap", () =>
    Effect.gen(function*() {
      const { gaps } = yield* attempts([Scripted.fault("overloaded")], { config: { retry: { attempts: 9 } } })
      expect(gaps).toHaveLength(8)
      for (const gap of gaps.slice(4)) within(gap, 15_000, 30_000)
    }))

  for (const reason of ["rate_limit", "overloaded", "server", "network", "timeout"] as const) {
    it.effect(`is retried after ${reason}`, () =>
      Effect.gen(function*() {
        const { result, times } = yield* attempts([Scripted.fault(reason), ok])
        expect(times).toHaveLength(2)
        expect(result).toMatchObject(Either.right({ text: "well" }))
      }))
  }

  for (const reason of ["auth", "invalid_request"] as const) {
    it.effect(`is not retried after ${reason}`, () =>
      Effect.gen(function*() {
        const { result, times } = yield* attempts([Scripted.fault(reason, { message: "no" }), ok])
        expect(times).toHaveLength(1)
        expect(result).toMatchObject(Either.left({ _tag: "ModelError", reason, message: "no" }))
      }))
  }

  it.effect("succeeds after several kinds of failure, with one user message and one answer", () =>
    Effect.gen(function*() {
      const faults = ([500, 502, 529] as const).map((status) => Scripted.fault("server", { status }))
      const { messages, result, times } = yield* attempts([...faults, ok])
      expect(times).toHaveLength(4)
      expect(result).toMatchObject(Either.right({ text: "well" }))
      expect(messages.map(({ info }) => info.role)).toEqual(["user", "assistant"])
    }))

  it.effect("waits as long as the provider asked, and not much longer", () =>
    Effect.gen(function*() {
      const { gaps } = yield* attempts([Scripted.fault("rate_limit", { retryAfter: 2_000 }), ok])
      within(gaps[0], 2_000, 2_200)
      const patient = yield* attempts([Scripted.fault("rate_limit", { retryAfter: 600_000 }), ok])
      within(patient.gaps[0], 600_000, 660_000)
    }))

  it.effect("waits no longer than the configured cap, whatever the provider asks", () =>
    Effect.gen(function*() {
      const { gaps, result } = yield* attempts([Scripted.fault("rate_limit", { retryAfter: 86_400_000 }), ok], {
        config: { retry: { max_retry_after: 60_000 } }
      })
      within(gaps[0], 60_000, 66_000)
      expect(Either.isRight(result)).toBe(true)
    }))

  it.effect("publishes that it waits, for what, and until when", () =>
    Effect.gen(function*() {
      const { events, messages, times } = yield* attempts([Scripted.fault("server", { message: "broken" }), ok])
      const statuses = events.of("session.status").map((event) => event.properties.status)
      expect(statuses).toEqual([
        { type: "busy", step: 0 },
        { type: "retry", attempt: 1, message: "broken", next: times[1] },
        { type: "busy", step: 0 },
        { type: "idle" }
      ])
      expect(messages[1]?.parts.filter((part) => part.type === "retry")).toMatchObject([
        { attempt: 1, error: { tag: "server", message: "broken" }, next: times[1] }
      ])
    }))

  it.effect("ends immediately when it is stopped while it waits", () => {
    const script = Scripted.make({ build: [Scripted.fault("rate_limit", { retryAfter: 86_400_000 })] })
    return Effect.gen(function*() {
      const session = yield* Session
      const { id } = yield* root()
      const fiber = yield* Effect.fork(Session.prompt(id, "Go"))
      yield* TestClock.adjust(1_000)
      expect(yield* session.status(id)).toMatchObject({ type: "retry", attempt: 1, next: expect.any(Number) })
      yield* session.stop(id)
      expect((yield* Effect.flip(Fiber.join(fiber)))._tag).toBe("SessionStopped")
      expect(script.requests).toHaveLength(1)
      yield* expectStill(id, script)
    }).pipe(Effect.provide(SkeinTest.layer(script)))
  })
})

describe("the text of a failed try", () => {
  const textsOf = (all: ReadonlyArray<MessageWithParts>) =>
    all.flatMap(({ parts }) => parts.filter((part) => part.type === "text" || part.type === "reasoning"))

  it.effect("is not kept next to that of the next one, even if it was already stored", () =>
    Effect.gen(function*() {
      const half = Scripted.fault("network", {}, {
        reasoning: "I think",
        text: "half a sentence",
        pieces: 2,
        delay: { between: 500 },
        calls: [{ tool: "task", input: {} }]
      })
      const { messages, result } = yield* attempts([half, half, Scripted.text("the whole")])
      expect(result).toMatchObject(Either.right({ text: "the whole" }))
      expect(textsOf(messages).slice(1)).toMatchObject([{ type: "text", text: "the whole" }])
      expect(messages[1]?.parts.map((part) => part.type).toSorted()).toEqual([
        "retry",
        "retry",
        "step-finish",
        "step-start",
        "text"
      ])
    }))

  it.effect("is kept as a part of an answer if there is no next one", () =>
    Effect.gen(function*() {
      const broken = Scripted.fault("network", { message: "cut" }, { text: "half a sentence" })
      const { messages } = yield* attempts([Scripted.fault("server", {}, { text: "other" }), broken], {
        config: { retry: { attempts: 2 } }
      })
      expect(textsOf(messages).slice(1)).toMatchObject([{ type: "text", text: "half a sentence", partial: true }])
      expect(messages[1]?.info).toMatchObject({
        error: { tag: "network", message: "cut" },
        time: { completed: expect.any(Number) }
      })
    }))

  it.effect("starts no call", () => {
    const began: Array<string> = []
    const act = SkeinTest.tool("act", () => Effect.sync(() => String(began.push("act"))))
    return Effect.gen(function*() {
      const { messages } = yield* attempts(
        [
          Scripted.fault("network", {}, { calls: [{ tool: "act" }] }),
          Scripted.fault("auth", {}, { calls: [{ tool: "act" }] })
        ],
        { tools: [act] }
      )
      expect(began).toEqual([])
      expect(messages.flatMap(({ parts }) => parts.filter((part) => part.type === "tool"))).toEqual([])
    })
  })
})

describe("a silent model", () => {
  const config = { retry: { attempts: 1 } }
  const silent: ReadonlyArray<readonly [string, Scripted.ScriptedStep, number, string]> = [
    ["does not accept the request for 30 s", { delay: { connect: 3_600_000 } }, 30_000, "connect"],
    ["says nothing for 120 s", { text: "x", delay: { first: 3_600_000 } }, 120_000, "first_event"],
    [
      "stops for 120 s in the middle",
      { text: "abc", pieces: 3, delay: { between: 119_999 }, hangs: true },
      3 * 119_999 + 1,
      "idle"
    ]
  ]
  for (const [name, step, at, phase] of silent) {
    it.effect(`is given up when it ${name}`, () =>
      Effect.gen(function*() {
        const got = yield* attempts([step], { config })
        expect(got.at).toBe(at)
        expect(got.result).toMatchObject(
          Either.left({ reason: "timeout", message: expect.stringContaining(`deadlines.${phase}`) })
        )
      }))
  }

  it.effect("has the time that the config sets, counted from each sign of life", () =>
    Effect.gen(function*() {
      const deadlines = { connect: 10, first_event: 20, idle: 30 }
      const slow = { text: "abcdef", pieces: 6, delay: { connect: 9, first: 19, between: 29 } }
      const fine = yield* attempts([slow], { config: { deadlines, ...config } })
      expect(fine.result).toMatchObject(Either.right({ text: "abcdef" }))
      const ends = yield* Effect.forEach([{ connect: 11 }, { first: 21 }, { between: 31 }], (delay) =>
        Effect.map(attempts([{ ...slow, delay }], { config: { deadlines, ...config } }), ({ at, result }) => [
          at,
          Either.isLeft(result) && result.left.message
        ]))
      expect(ends).toEqual([
        [10, expect.stringContaining("did not accept the connection within 10 ms")],
        [20, expect.stringContaining("said nothing within 20 ms")],
        [30, expect.stringContaining("stopped in the middle of its answer within 30 ms")]
      ])
    }))

  it.effect("is asked again", () =>
    Effect.gen(function*() {
      const { result, times } = yield* attempts([{ text: "so far", hangs: true }, ok])
      expect(result).toMatchObject(Either.right({ text: "well" }))
      within(times[1], 121_000, 122_000)
    }))

  it.effect("that streams for an hour is not cut off", () =>
    Effect.gen(function*() {
      const { at, result } = yield* attempts([{ text: "x".repeat(60), pieces: 60, delay: { between: 60_000 } }])
      expect(Either.isRight(result)).toBe(true)
      expect(at).toBe(3_600_000)
    }))
})

describe("an agent with several models", () => {
  const models = (names: ReadonlyArray<string>) => names.map((modelID) => ({ providerID: "scripted", modelID }))
  const build = (names: ReadonlyArray<string>) => SkeinTest.agent("build", { mode: "primary", model: models(names) })

  const chain = (first: Scripted.Script, second: Scripted.Script, names = ["one", "two"]) => {
    const [one, two] = [
      Scripted.make({ build: first }, { modelID: "one" }),
      Scripted.make({ build: second }, { modelID: "two" })
    ] as const
    const program = Effect.gen(function*() {
      const { id } = yield* root()
      const fiber = yield* Effect.fork(Effect.either(Session.prompt(id, "Go")))
      yield* TestClock.adjust("1 hour")
      const result = yield* Fiber.join(fiber)
      return { result, asked: [one.requests.length, two.requests.length], messages: yield* messagesOf(id), two }
    })
    const provider = { layer: Provider.layerModels([one.model, two.model]) }
    return Effect.provide(program, SkeinTest.layer(provider, { agents: [build(names)] }))
  }

  it.effect("uses the next one when one fails permanently", () =>
    Effect.gen(function*() {
      const { asked, messages, result, two } = yield* chain([Scripted.fault("auth", {}, { text: "half" })], [
        "from two"
      ])
      expect(asked).toEqual([1, 1])
      expect(result).toMatchObject(Either.right({ text: "from two", info: { modelID: "two" } }))
      expect(messages.map(({ info }) => info.role === "assistant" && [info.modelID, info.error?.tag])).toEqual([
        false,
        ["one", "auth"],
        ["two", undefined]
      ])
      const roles = two.requests[0]?.messages.map((message) => message.role) ?? []
      expect(roles.some((role, i) => role === "assistant" && roles[i - 1] === "assistant")).toBe(false)
    }))

  it.effect("retries the first one as often as usual before that", () =>
    Effect.gen(function*() {
      const { asked } = yield* chain([Scripted.fault("server")], ["from two"])
      expect(asked).toEqual([5, 1])
    }))

  it.effect("skips one that is not available", () =>
    Effect.gen(function*() {
      const { asked, result } = yield* chain(["never"], ["from two"], ["missing", "two"])
      expect(asked).toEqual([0, 1])
      expect(result).toMatchObject(Either.right({ text: "from two" }))
    }))

  it.effect("fails as the last one fails, and names each with its error", () =>
    Effect.gen(function*() {
      const { result } = yield* chain([Scripted.fault("auth", { message: "The key is wrong." })], [
        Scripted.fault("invalid_request", { message: "last" })
      ])
      expect(result).toMatchObject({
        left: {
          reason: "invalid_request",
          message: expect.stringMatching(
            /^None of the agent's 2 models has answered\.\n- \S+\/\S+: The key is wrong\.\n- \S+\/\S+: last$/
          )
        }
      })
    }))
})
