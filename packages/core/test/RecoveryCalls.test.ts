import { describe, expect, it } from "@effect/vitest"
import { Permission } from "@skein/core/Permission"
import { Session } from "@skein/core/Session"
import { define } from "@skein/core/Tool"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import { asked, generations, go, hourFirst, resumed } from "./support/generations.ts"
import type { Life } from "./support/mortal.ts"
import { setBy } from "./support/setBy.ts"
import { callsMade, expectStill, resultOf } from "./support/tree.ts"

const options = {}

const calling = (name: string) => ({ build: [Scripted.call(name, { n: 1 }), "All right"] })

/** A process that dies while its tool runs. */
const cutOff = (name: string, tools: ReturnType<typeof hourFirst>) => ({
  options,
  scripts: calling(name),
  tools,
  program: go,
  dies: 1_000
})

/** A safe tool that needs permission for a place, and looks only there. */
const seeing = (places: Array<unknown>) => (life: Life) => [
  define<{ readonly n: number }, string>({
    name: "see",
    describe: "Looks at a place.",
    parameters: Schema.Struct({ n: Schema.Number }),
    effect: "safe",
    title: () => "see",
    authorise: ({ n }) =>
      Effect.succeed({
        asks: [{ permission: "see", patterns: [`place ${n}`], always: [], metadata: {} }],
        plan: `place ${n}`
      }),
    execute: (_, __, plan) =>
      life.alive(Effect.suspend(() => {
        places.push(plan)
        return places.length === 1 ? Effect.never : Effect.succeed({ title: "see", output: plan, metadata: {} })
      }))
  })
]

describe("a call that a crash interrupted", () => {
  for (const action of ["allow", "deny"] as const) {
    it(`is authorised again, and ${action === "allow" ? "gets its plan" : "not made if it is denied by now"}`, () => {
      const places: Array<unknown> = []
      const tools = seeing(places)
      generations(
        { ...cutOff("see", tools), options: { rules: { see: "allow" } } },
        {
          options: { rules: { see: action } },
          scripts: { build: ["All right"] },
          tools,
          program: (id) =>
            Effect.gen(function*() {
              expect((yield* resumed(id))?.text).toBe("All right")
              const [made] = yield* callsMade(id)
              expect(made?.state).toMatchObject(
                action === "allow" ? { output: "place 1" } : { error: { tag: "permission" } }
              )
            })
        }
      )
      expect(places).toEqual(action === "allow" ? ["place 1", "place 1"] : ["place 1"])
    })
  }

  it("is repeated if it is safe, with one result", () => {
    const runs: Array<string> = []
    const tools = hourFirst("look", { effect: "safe" }, runs)
    generations(
      cutOff("look", tools),
      {
        options,
        scripts: { build: ["All right"] },
        tools,
        program: (id, script) =>
          Effect.gen(function*() {
            expect((yield* resumed(id))?.text).toBe("All right")
            yield* expectStill(id, script)
            expect(yield* callsMade(id)).toMatchObject([{
              state: { status: "completed", output: "look is done" },
              intent: { attempt: 2, epoch: 2 }
            }])
          })
      }
    )
    expect(runs).toEqual(["look", "look"])
  })

  it("is not repeated if it may have had an effect, and the model learns that", () => {
    const runs: Array<string> = []
    const tools = hourFirst("act", { effect: "never" }, runs)
    generations(
      cutOff("act", tools),
      {
        options,
        scripts: { build: ["I see"] },
        tools,
        program: (id, script) =>
          Effect.gen(function*() {
            yield* resumed(id)
            const [call] = yield* callsMade(id)
            expect(call?.state.status).toBe("error")
            expect(resultOf(call!)).toMatch(/interrupted.*outcome unknown/)
            expect(JSON.stringify(script.requests[0]?.messages)).toContain("outcome unknown")
          })
      }
    )
    expect(runs).toEqual(["act"])
  })

  it("is checked by its tool if that can find out what it did", () => {
    for (const found of ["again", "done"] as const) {
      const runs: Array<string> = []
      const recover = () =>
        Effect.succeed(found === "again" ? found : { title: "t", output: "was done before", metadata: {} })
      const tools = hourFirst("change", { effect: "verify", recover }, runs)
      generations(
        cutOff("change", tools),
        {
          options,
          scripts: { build: ["All right"] },
          tools,
          program: (id) =>
            Effect.gen(function*() {
              yield* resumed(id)
              const output = found === "again" ? "change is done" : "was done before"
              expect((yield* callsMade(id)).map(resultOf)).toEqual([output])
            })
        }
      )
    }
  })
})

describe("a stored answer with more open calls than limits.answer.calls", () => {
  const three = (tool: string) => [1, 2, 3].map((n) => ({ tool, input: { n } }))
  const few = { config: { limits: { answer: { calls: 2 } } } }
  const why = "3 open calls, and at most 2 are allowed (limits.answer.calls)"

  it("ends without running any of them again, and tells the model why", () => {
    for (const started of [true, false]) {
      const runs: Array<string> = []
      const asks = {
        authorise: () => Effect.succeed([{ permission: "look", patterns: ["x"], always: [], metadata: {} }])
      }
      const tools = (life: Life) => [
        SkeinTest.tool(
          "look",
          () => life.alive(Effect.delay(Effect.sync(() => `done ${runs.push("look")}`), "1 hour")),
          { effect: "safe", ...(started ? {} : asks) }
        )
      ]
      const person = started ? {} : { asks: "person" } as const
      generations(
        { options: person, scripts: { build: [{ calls: three("look") }] }, tools, program: go, dies: 1_000 },
        {
          options: { ...few, ...person },
          scripts: { build: ["I see"] },
          tools,
          program: (id, script) =>
            Effect.gen(function*() {
              expect((yield* resumed(id))?.text).toBe("I see")
              yield* expectStill(id, script)
              expect(runs).toEqual([])
              const results = (yield* callsMade(id)).map(resultOf)
              expect(results).toHaveLength(3)
              for (const result of results) {
                expect(result).toContain(why)
                expect(result).toContain(started ? "Its outcome is unknown" : "The call was not run")
              }
              expect(JSON.stringify(script.requests[0]?.messages)).toContain(why)
            })
        }
      )
    }
  })

  it("still waits for the tasks that already run", () => {
    generations(
      {
        options: {},
        scripts: {
          build: [Scripted.tasks({ explore: "p1" }, { explore: "p2" }, { explore: "p3" })],
          explore: () => ({ delay: { first: 3_600_000 }, text: "late" })
        },
        program: go,
        dies: 1_000
      },
      {
        options: few,
        scripts: { build: ["All right"], explore: () => "found" },
        program: (id, script) =>
          Effect.gen(function*() {
            expect((yield* resumed(id))?.text).toBe("All right")
            yield* expectStill(id, script)
            for (const result of (yield* callsMade(id)).map(resultOf)) expect(result).toContain("found")
          })
      }
    )
  })
})

describe("a question that was open", () => {
  const asks = { ...options, asks: "person" } as const
  const ask = {
    effect: "never",
    authorise: () => Effect.succeed([{ permission: "act", patterns: ["x"], always: [], metadata: {} }])
  } as const
  const answered = (reply: "once" | "reject") =>
    Effect.gen(function*() {
      const permission = yield* Permission
      const [request] = yield* permission.pending()
      if (request !== undefined) yield* permission.reply(request.id, reply)
    })

  it("is the same after a restart, and its answer makes the call once", () => {
    const runs: Array<string> = ["before"]
    const tools = hourFirst("act", ask, runs)
    let questionID: string | undefined
    generations(
      {
        options: asks,
        tools,
        scripts: calling("act"),
        dies: 1_000,
        program: Effect.zip(
          go,
          Effect.delay(
            Effect.flatMap(Permission, (permission) =>
              Effect.map(permission.pending(), ([request]) => {
                questionID = request?.id
              })),
            500
          ),
          { concurrent: true }
        )
      },
      {
        options: asks,
        tools,
        scripts: { build: ["All right"] },
        program: (id) =>
          Effect.gen(function*() {
            const permission = yield* Permission
            const waiting = yield* Effect.fork(resumed(id))
            yield* Effect.sleep(100)
            const [request] = yield* permission.pending()
            expect(request?.id).toBe(questionID)
            yield* permission.reply(request!.id, "once")
            yield* Fiber.join(waiting)
            expect((yield* callsMade(id)).map(resultOf)).toEqual(["act is done"])
            expect(yield* Effect.flip(permission.reply(request!.id, "once"))).toMatchObject({
              _tag: "PermissionNotFound"
            })
          })
      }
    )
    expect(runs).toEqual(["before", "act"])
  })

  it("is not asked again if it was answered before the crash", () => {
    const runs: Array<string> = []
    // The answer is stored, and the process dies before it has any effect.
    const slow = (life: Life) => [
      SkeinTest.tool("act", () => life.alive(Effect.succeed("act is done")), {
        ...ask,
        authorise: () =>
          Effect.succeed([
            { permission: "act", patterns: ["x"], always: [], metadata: {} },
            { permission: "act", patterns: ["y"], always: [], metadata: {} }
          ])
      })
    ]
    generations(
      {
        options: asks,
        tools: slow,
        scripts: calling("act"),
        dies: 1_000,
        program: Effect.zip(go, Effect.delay(answered("once"), 500), { concurrent: true })
      },
      {
        options: asks,
        tools: slow,
        scripts: { build: ["All right"] },
        program: (id) =>
          Effect.gen(function*() {
            const permission = yield* Permission
            const waiting = yield* Effect.fork(resumed(id))
            yield* Effect.sleep(100)
            const pending = yield* permission.pending()
            expect(pending.map(({ patterns }) => patterns)).toEqual([["y"]])
            yield* permission.reply(pending[0]!.id, "once")
            yield* Fiber.join(waiting)
          })
      }
    )
    expect(runs).toEqual([])
  })

  it("has one day in total, however many processes ask it", () => {
    const tools = hourFirst("act", ask, ["before"])
    generations(
      { options: asks, tools, scripts: calling("act"), dies: Duration.toMillis("20 hours"), program: go },
      {
        options: asks,
        tools,
        scripts: { build: ["I see"] },
        program: (id) =>
          Effect.gen(function*() {
            const permission = yield* Permission
            const waiting = yield* Effect.fork(resumed(id))
            yield* Effect.sleep("239 minutes")
            expect(yield* permission.pending()).toHaveLength(1)
            yield* Effect.sleep("2 minutes")
            expect(yield* permission.pending()).toEqual([])
            yield* Fiber.join(waiting)
            expect((yield* callsMade(id)).map(resultOf)).toEqual([expect.stringContaining("within 24 hours")])
          })
      }
    )
  })

  const year = Duration.toMillis("365 days")

  it.each(
    [
      ["an hour more where the clock was set a year forward", 0, year, "1 hour"],
      ["a day where the clock was set a year back", year, 0, "24 hours"]
    ] as const
  )("has %s while no process asked it", (_, first, second, left) => {
    let ended = false
    generations(
      {
        options: asks,
        tools: hourFirst("act", ask, ["before"]),
        scripts: calling("act"),
        dies: Duration.toMillis("1 minute"),
        program: Effect.clockWith((clock) => Effect.withClock(go, setBy(clock, first)))
      },
      {
        options: asks,
        tools: hourFirst("act", ask, ["before"]),
        scripts: { build: ["I see"] },
        program: (id) =>
          Effect.gen(function*() {
            const permission = yield* Permission
            const clock = yield* Effect.clock
            const waiting = yield* Effect.fork(Effect.withClock(resumed(id), setBy(clock, second)))
            yield* Effect.sleep(Duration.subtract(left, "1 minute"))
            expect(yield* permission.pending()).toHaveLength(1)
            yield* Effect.sleep("2 minutes")
            expect(yield* permission.pending()).toEqual([])
            yield* Fiber.join(waiting)
            expect((yield* callsMade(id)).map(resultOf)).toEqual([expect.stringContaining("within 24 hours")])
            ended = true
          })
      }
    )
    expect(ended).toBe(true)
  })

  it("ends its turn if it was rejected, even if the process died before the turn ended", () => {
    let cutOff = 0
    const tools = hourFirst("act", ask, ["before"])
    for (let at = 1; at <= 12; at++) {
      generations(
        {
          options: asks,
          tools,
          scripts: calling("act"),
          dies: { at: at + 2, made: true },
          program: Effect.zip(go, Effect.delay(answered("reject"), 500), { concurrent: true })
        },
        {
          options: asks,
          tools,
          scripts: { build: ["never asked"] },
          program: (id, script) =>
            Effect.gen(function*() {
              const { turn } = yield* Effect.flatMap(Session, (session) => session.get(id))
              const isRejected = (yield* callsMade(id)).some(({ state }) => state.status === "error")
              if (!isRejected || turn?.ended !== undefined) return
              cutOff++
              yield* resumed(id)
              expect(asked(script)).toEqual([])
              yield* expectStill(id, script)
            })
        }
      )
    }
    expect(cutOff).toBeGreaterThan(0)
  })
})
