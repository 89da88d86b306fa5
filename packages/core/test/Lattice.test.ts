/** No sequence of prompts, answers, resumes, agent switches, subtasks, hooks, config changes and crashes lifts a ceiling. */
import { expect, it } from "@effect/vitest"
import { Bus } from "@skein/core/Bus"
import { on } from "@skein/core/Hooks"
import { Permission } from "@skein/core/Permission"
import type { ModelRequest } from "@skein/core/Provider"
import { Session } from "@skein/core/Session"
import { SessionStorage } from "@skein/core/SessionStorage"
import type { SessionID } from "@skein/domain/Id"
import type { Action } from "@skein/domain/Rule"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import * as fc from "effect/FastCheck"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Queue from "effect/Queue"
import { lastingStorage, lonely, process } from "./support/mortal.ts"
import { simulate } from "./support/simulate.ts"
import { root } from "./support/tree.ts"

const things = ["x", "y", "z"] as const
const names = ["chief", "other", "lead", "mid", "worker"] as const

type Rules = Readonly<Record<string, Action>>

const rules: fc.Arbitrary<Rules> = fc.dictionary(
  fc.constantFrom(...things, "*"),
  fc.constantFrom("allow" as const, "ask" as const, "deny" as const),
  { maxKeys: 3, noNullPrototype: true }
)

/** What an agent may change, and the ceiling that it declares, if it does. */
const definition = fc.record({ edit: rules, ceiling: fc.option(rules, { nil: undefined, freq: 3 }) })

const step = fc.record({
  agent: fc.constantFrom("chief", "other"),
  /** Who works, from the root down. */
  chain: fc.array(fc.constantFrom("lead", "mid", "worker"), { minLength: 1, maxLength: 3 }),
  /** How the first of them is called: anew, as a task of before, or without asking the model. */
  how: fc.constantFrom("task", "again", "subtask")
})

const life = fc.record({
  /** Config as it is in this life. */
  agents: fc.record({
    chief: definition,
    other: definition,
    lead: definition,
    mid: definition,
    worker: definition
  }),
  all: rules,
  asks: fc.constantFrom("auto" as const, "person" as const),
  answers: fc.array(
    fc.constantFrom(["once", undefined] as const, ["always", "tree"] as const, ["always", "project"] as const),
    { minLength: 1, maxLength: 4 }
  ),
  hooks: fc.subarray(["consents", "changes"] as const),
  steps: fc.array(step, { minLength: 1, maxLength: 3 }),
  /** The commit at which it dies, if it does. */
  dies: fc.option(fc.record({ at: fc.integer({ min: 3, max: 40 }), made: fc.boolean() }), { nil: undefined })
})

type Life = typeof life extends fc.Arbitrary<infer A> ? A : never

/** What rules say of a thing; the last that fits counts. */
const says = (all: Rules, thing: string): Action | undefined =>
  Object.entries(all).findLast(([pattern]) => pattern === "*" || pattern === thing)?.[1]

/** Whether an agent lets nobody below it, nor itself, change a thing. */
const forbids = ({ agents }: Life, name: string, thing: string, itself: boolean): boolean => {
  const { ceiling, edit } = agents[name as keyof Life["agents"]]
  // A ceiling that is not declared is what the rules deny, with their exceptions.
  const above = says(ceiling ?? edit, thing) === "deny"
  return above || (itself && says(edit, thing) === "deny")
}

interface Touched {
  readonly life: number
  readonly path: ReadonlyArray<string>
  readonly thing: string
}

interface Known {
  readonly id: SessionID
  readonly agent: string
  readonly depth: number
}

/** An agent tries everything, and calls the next one that its prompt names. */
const scripted = (known: ReadonlyArray<Known>) => (request: ModelRequest): Scripted.ScriptedStep | string => {
  if (request.messages.at(-1)?.role === "tool") return "Done"
  const [how = "", next, ...rest] = Scripted.lastText(request).split(" ")
  const again = how === "again" ? known.findLast(({ agent, depth }) => agent === next && depth === 1)?.id : undefined
  const call = {
    tool: "task",
    input: {
      description: "d",
      prompt: ["task", ...rest].join(" "),
      subagent_type: next,
      ...(again === undefined ? {} : { task_id: again })
    }
  }
  return {
    calls: [
      ...things.map((thing) => ({ tool: "touch", input: { thing } })),
      ...(next === undefined ? [] : [call])
    ]
  }
}

const mayTask = (name: string) => name === "worker" ? {} : { task: "allow" as const }

const live = (given: Life, n: number, touched: Array<Touched>, known: Array<Known>, id: SessionID | undefined) =>
(
  alive: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>,
  storage: Parameters<
    Parameters<typeof process>[2]
  >[1]
) => {
  const touch = SkeinTest.tool("touch", ({ thing }, { depth, path, sessionID }) =>
    alive(Effect.sync(() => {
      touched.push({ life: n, path, thing: String(thing) })
      known.push({ id: sessionID, agent: path.at(-1) ?? "", depth })
      return "touched"
    })), {
    permission: "edit",
    effect: "never",
    authorise: ({ thing }) =>
      Effect.succeed([{ permission: "edit", patterns: [String(thing)], always: ["*"], metadata: {} }])
  })
  const layer = SkeinTest.layer({ "*": scripted(known) }, {
    agents: names.map((name) => {
      const { ceiling, edit } = given.agents[name]
      return SkeinTest.agent(name, {
        mode: name === "chief" || name === "other" ? "primary" : "subagent",
        permission: { edit, ...mayTask(name) },
        ...(ceiling === undefined ? {} : { ceiling: { edit: ceiling } })
      })
    }),
    rules: { edit: given.all },
    asks: given.asks,
    tools: [touch],
    hooks: given.hooks.map((hook) =>
      hook === "consents"
        ? on("PermissionRequest", () => Effect.succeed({ decision: "allow" as const }))
        : on("PreToolUse", () => Effect.succeed({ decision: "allow" as const, input: { thing: "z" } }), {
          matcher: "touch"
        })
    ),
    storage,
    owner: lonely(`life ${n}`)
  })
  const answered = Effect.gen(function*() {
    const bus = yield* Bus
    const permission = yield* Permission
    const asked = yield* Queue.bounded<Parameters<typeof permission.reply>[0]>(1_000)
    yield* bus.listen({ all: true }, (event) => {
      if (event.type === "permission.asked") Queue.unsafeOffer(asked, event.properties.id)
    })
    let count = 0
    return yield* Effect.fork(Effect.forever(Effect.gen(function*() {
      const question = yield* Queue.take(asked)
      const [reply, scope] = given.answers[count++ % given.answers.length] ?? ["once", undefined]
      yield* Effect.catchTag(
        permission.reply(question, reply, scope === undefined ? {} : { scope }),
        "PermissionNotFound",
        () => Effect.void
      )
    })))
  })
  const program = Effect.gen(function*() {
    const session = yield* Session
    const answering = yield* answered
    const sessionID = id ?? (yield* root({ agent: "chief" })).id
    if (id !== undefined) {
      yield* Effect.catchAll(Effect.zipRight(session.resume(id), session.untilIdle(id)), () => Effect.void)
    }
    for (const { agent, chain, how } of given.steps) {
      const [first = "worker", ...rest] = chain
      const parts = how === "subtask"
        ? [{ type: "subtask" as const, agent: first, description: "d", prompt: ["task", ...rest].join(" ") }]
        : [how, ...chain].join(" ")
      yield* Effect.catchAll(session.prompt(sessionID, parts, { agent }), () => Effect.void)
    }
    yield* Fiber.interrupt(answering)
    return sessionID
  })
  return Effect.flatMap(Layer.build(layer), (context) => Effect.provide(program, context))
}

/** The lives of one tree, one after the other, on the same storage. */
const lives = (given: ReadonlyArray<Life>, seed: number) => {
  const touched: Array<Touched> = []
  const known: Array<Known> = []
  simulate(
    Effect.scoped(Effect.gen(function*() {
      const inner = yield* lastingStorage
      for (const [n, each] of given.entries()) {
        const [first] = (yield* inner.sessions({ roots: true })).rows
        yield* process(
          inner,
          each.dies,
          ({ alive }, storage) => live(each, n, touched, known, first?.id)(alive, storage)
        )
      }
    })),
    { seed }
  )
  return touched
}

it("no child does what a ceiling above it denies", () => {
  const scenarios = fc.sample(fc.array(life, { minLength: 1, maxLength: 3 }), { numRuns: 150, seed: 20 })
  let deep = 0
  let later = 0
  for (const [seed, scenario] of scenarios.entries()) {
    for (const { life: n, path, thing } of lives(scenario, seed)) {
      const now = scenario[n] as Life
      const over = path.filter((name, depth) => forbids(now, name, thing, depth === path.length - 1))
      expect(over, `scenario ${seed}, life ${n}: ${path.join(" > ")} changed ${thing}`).toEqual([])
      if (path.length > 2) deep++
      if (n > 0) later++
    }
  }
  // Where nothing happens nothing is proved.
  expect({ deep: deep > 100, later: later > 100 }).toEqual({ deep: true, later: true })
}, 120_000)

it("a task that a crash has cut off keeps the ceilings above it, also where config is laxer by then", () => {
  const touched: Array<string> = []
  const touch = SkeinTest.tool("touch", ({ thing }) =>
    Effect.sync(() => {
      touched.push(String(thing))
      return "touched"
    }), {
    permission: "edit",
    authorise: ({ thing }) =>
      Effect.succeed([{ permission: "edit", patterns: [String(thing)], always: ["*"], metadata: {} }])
  })
  const options = (chief: Rules) => ({
    agents: [
      SkeinTest.agent("chief", { mode: "primary", permission: { edit: chief, task: "allow" } }),
      SkeinTest.agent("worker", { permission: { edit: "allow" } })
    ],
    tools: [touch]
  })
  simulate(
    Effect.scoped(Effect.gen(function*() {
      const inner = yield* lastingStorage
      yield* process(inner, "by hand", ({ die }, storage) =>
        Effect.gen(function*() {
          const { id } = yield* root({ agent: "chief" })
          yield* Session.prompt(id, "Begin")
        }).pipe(Effect.provide(SkeinTest.layer(
          { chief: [Scripted.tasks({ worker: "p" })], worker: () => die },
          { ...options({ x: "deny" }), storage, owner: lonely("first") }
        ))))
      const [first] = (yield* inner.sessions({ roots: true })).rows
      yield* Effect.flatMap(
        Session,
        (session) => Effect.zipRight(session.resume(first!.id), session.untilIdle(first!.id))
      ).pipe(
        Effect.provide(SkeinTest.layer(
          { chief: ["Done"], worker: [Scripted.call("touch", { thing: "x" }, { thing: "y" }), "Done"] },
          { ...options({}), storage: Layer.succeed(SessionStorage, inner), owner: lonely("second") }
        ))
      )
    })),
    { seed: 1 }
  )
  expect(touched).toEqual(["y"])
})
