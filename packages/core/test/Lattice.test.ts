/**
 * No sequence of prompts, answers, resumes, agent switches, commands, subtasks, custom agents, background tasks, hooks,
 * config changes and crashes lifts a ceiling. `SKEIN_LATTICE` sets the number of scenarios.
 */
import { expect, it } from "@effect/vitest"
import { Bus } from "@skein/core/Bus"
import { Command } from "@skein/core/Command"
import { Hooks, on } from "@skein/core/Hooks"
import { Permission } from "@skein/core/Permission"
import type { ModelRequest } from "@skein/core/Provider"
import { Session } from "@skein/core/Session"
import { SessionStorage } from "@skein/core/SessionStorage"
import * as Skein from "@skein/core/Skein"
import type { SessionID } from "@skein/domain/Id"
import { type Action, fromConfig } from "@skein/domain/Rule"
import * as Scripted from "@skein/testing/ScriptedProvider"
import { stride } from "@skein/testing/Seeds"
import { simulate } from "@skein/testing/Simulation"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import * as fc from "effect/FastCheck"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Queue from "effect/Queue"
import { changing } from "./support/changing.ts"
import { lastingStorage, lonely, process as mortal } from "./support/mortal.ts"
import { root } from "./support/tree.ts"

const things = ["x", "y", "z"] as const
const names = ["chief", "other", "lead", "mid", "worker"] as const

type Rules = Readonly<Record<string, Action>>

const rules: fc.Arbitrary<Rules> = fc.dictionary(
  fc.constantFrom(...things, "*"),
  fc.constantFrom("allow" as const, "ask" as const, "deny" as const),
  { maxKeys: 3, noNullPrototype: true }
)

/** What an agent may change, and its declared ceiling, if any. */
const definition = fc.record({ edit: rules, ceiling: fc.option(rules, { nil: undefined, freq: 3 }) })

const step = fc.record({
  agent: fc.constantFrom("chief", "other"),
  /** The agents, from the root down. */
  chain: fc.array(fc.constantFrom("lead", "mid", "worker"), { minLength: 1, maxLength: 3 }),
  /** How the first of them is called: by the model in one of these ways, as a part of the prompt, or by a command. */
  how: fc.constantFrom("task", "again", "wrong", "inline", "background", "background", "subtask", "command")
})

/** The agents in the config. */
const config = fc.record({
  agents: fc.record({
    chief: definition,
    other: definition,
    lead: definition,
    mid: definition,
    worker: definition
  }),
  all: rules
})

const life = fc.record({
  /** The config at the start of this life, and its later version. */
  first: config,
  later: config,
  /** When it changes, in steps of the model. */
  changes: fc.option(fc.integer({ min: 0, max: 20 }), { nil: undefined }),
  /** What the root session itself may not do; set by the first life. */
  ceiling: rules,
  asks: fc.constantFrom("auto" as const, "person" as const),
  answers: fc.array(
    fc.constantFrom(["once", undefined] as const, ["always", "tree"] as const, ["always", "project"] as const),
    { minLength: 1, maxLength: 4 }
  ),
  hooks: fc.subarray(["consents", "changes"] as const),
  steps: fc.array(step, { minLength: 1, maxLength: 4 }),
  /** The commit at which it dies, if any. */
  dies: fc.option(fc.record({ at: fc.integer({ min: 3, max: 40 }), made: fc.boolean() }), { nil: undefined })
})

type Config = typeof config extends fc.Arbitrary<infer A> ? A : never
type Life = typeof life extends fc.Arbitrary<infer A> ? A : never

/** The action of rules for a thing; the last match wins. */
const says = (all: Rules, thing: string): Action | undefined =>
  Object.entries(all).findLast(([pattern]) => pattern === "*" || pattern === thing)?.[1]

/** Whether an agent forbids itself and everything below it to change a thing. */
const forbids = ({ agents }: Config, name: string, thing: string, itself: boolean): boolean => {
  const { ceiling, edit } = agents[name as keyof Config["agents"]]
  // An undeclared ceiling is what the rules deny, with their exceptions.
  const above = says(ceiling ?? edit, thing) === "deny"
  return above || (itself && says(edit, thing) === "deny")
}

/** A moment of a tree: which agents worked, down to a session, and with which config. */
interface Moment {
  readonly life: number
  readonly version: number
  readonly sessionID: SessionID
  readonly path: ReadonlyArray<string>
}

interface Touched extends Moment {
  readonly thing: string
  /** When the run of the session began, and those of all sessions above that are tasks. */
  readonly begun: ReadonlyArray<Moment>
}

/** What is remembered over all lives of a tree. */
interface Memory {
  readonly touched: Array<Touched>
  readonly known: Array<Known>
  readonly begun: Map<SessionID, Moment>
  readonly parents: Map<SessionID, SessionID>
}

const versionOf = ({ first, later }: Life, version: number): Config => version === 0 ? first : later

interface Known {
  readonly id: SessionID
  readonly agent: string
  readonly depth: number
}

/** An agent tries everything, and calls the next one that its prompt names. */
const scripted = (known: ReadonlyArray<Known>) => (request: ModelRequest): Scripted.ScriptedStep | string => {
  if (request.messages.at(-1)?.role === "tool") return "Done"
  const [how = "", next, ...rest] = Scripted.lastText(request).split(" ")
  const again = how === "again"
    ? known.findLast(({ agent, depth }) => agent === next && depth === 1)?.id
    : how === "wrong"
    ? known.findLast(({ agent }) => agent !== next)?.id
    : undefined
  const call = {
    tool: "task",
    input: {
      description: "d",
      prompt: ["task", ...rest].join(" "),
      subagent_type: next,
      ...(again === undefined ? {} : { task_id: again }),
      ...(how === "inline" ? { agent: { prompt: "You touch.", tools: ["touch", "task"] } } : {}),
      ...(how === "background" ? { background: true } : {})
    }
  }
  return {
    // Lower agents take longer, so that they still work when the root gets another message.
    delay: { first: request.origin.path.length > 1 ? 4 * pace : pace },
    calls: [
      ...things.map((thing) => ({ tool: "touch", input: { thing } })),
      ...(next === undefined ? [] : [call])
    ]
  }
}

/** How long a model takes to answer, in milliseconds: everything else happens in between. */
const pace = 10

const mayTask = (name: string) => name === "worker" ? {} : { task: "allow" as const, task_agent: "allow" as const }

const agentsOf = ({ agents }: Config) =>
  names.map((name) => {
    const { ceiling, edit } = agents[name]
    return SkeinTest.agent(name, {
      mode: name === "chief" || name === "other" ? "primary" : "subagent",
      permission: { edit, ...mayTask(name) },
      ...(ceiling === undefined ? {} : { ceiling: { edit: ceiling } })
    })
  })

const commands = names.map((name) => ({ name, template: "$ARGUMENTS", agent: name, origin: "test", hides: [] }))

const live = (given: Life, n: number, memory: Memory, id: SessionID | undefined) =>
(
  alive: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>,
  storage: Parameters<
    Parameters<typeof mortal>[2]
  >[1]
) => {
  const { begun, known, parents, touched } = memory
  const agents = changing(
    ...[given.first, given.later].map((each) => ({ agents: agentsOf(each), rules: fromConfig({ edit: each.all }) }))
  )
  const line = (each: SessionID | undefined): ReadonlyArray<SessionID> =>
    each === undefined ? [] : [each, ...line(parents.get(each))]
  const touch = SkeinTest.tool("touch", ({ thing }, { depth, path, sessionID }) =>
    alive(Effect.sync(() => {
      touched.push({
        life: n,
        version: agents.version(),
        sessionID,
        path,
        thing: String(thing),
        begun: line(sessionID).flatMap((each) => begun.get(each) ?? [])
      })
      known.push({ id: sessionID, agent: path.at(-1) ?? "", depth })
      return "touched"
    })), {
    permission: "edit",
    effect: "never",
    authorise: ({ thing }) =>
      Effect.succeed([{ permission: "edit", patterns: [String(thing)], always: ["*"], metadata: {} }])
  })
  const layer = Skein.layer({
    provider: Scripted.layer({ "*": scripted(known) }),
    agents: agents.layer,
    tools: Effect.succeed([touch]),
    permission: { asks: given.asks },
    commands: () => Effect.succeed({ commands, broken: [] }),
    hooks: Hooks.layer(given.hooks.map((hook) =>
      hook === "consents"
        ? on("PermissionRequest", () => Effect.succeed({ decision: "allow" as const }))
        : on("PreToolUse", () => Effect.succeed({ decision: "allow" as const, input: { thing: "z" } }), {
          matcher: "touch"
        })
    )),
    storage,
    owner: lonely(`life ${n}`)
  })
  const answered = Effect.gen(function*() {
    const bus = yield* Bus
    const permission = yield* Permission
    const asked = yield* Queue.bounded<Parameters<typeof permission.reply>[0]>(1_000)
    yield* bus.listen({ all: true }, (event) => {
      if (event.type === "permission.asked") Queue.unsafeOffer(asked, event.properties.id)
      if (event.type !== "subagent.created") return
      const { path, task_id: sessionID, trigger_session_id: parentID } = event.properties
      begun.set(sessionID, { life: n, version: agents.version(), sessionID, path })
      parents.set(sessionID, parentID)
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
    if (given.changes !== undefined) {
      yield* Effect.forkScoped(Effect.delay(agents.change, given.changes * pace + pace / 2))
    }
    const sessionID = id ?? (yield* root({ agent: "chief", permission: fromConfig({ edit: given.ceiling }) })).id
    if (id !== undefined) {
      yield* Effect.catchAll(Effect.zipRight(session.resume(id), session.untilIdle(id)), () => Effect.void)
    }
    for (const { agent, chain, how } of given.steps) {
      const [first = "worker", ...rest] = chain
      const parts = how === "subtask"
        ? [{ type: "subtask" as const, agent: first, description: "d", prompt: ["task", ...rest].join(" ") }]
        : [how, ...chain].join(" ")
      const turn = how === "command"
        ? Command.run(sessionID, { name: first, arguments: ["task", ...rest].join(" ") })
        : session.prompt(sessionID, parts, { agent })
      yield* Effect.catchAll(turn, () => Effect.void)
    }
    yield* Effect.catchAll(session.untilIdle(sessionID), () => Effect.void)
    yield* Fiber.interrupt(answering)
    return sessionID
  })
  return Effect.flatMap(Layer.build(layer), (context) => Effect.provide(Effect.scoped(program), context))
}

/** The lives of one tree, one after the other, on the same storage. */
const lives = (given: ReadonlyArray<Life>, seed: number) => {
  const memory: Memory = { touched: [], known: [], begun: new Map(), parents: new Map() }
  simulate(
    Effect.scoped(Effect.gen(function*() {
      const inner = yield* lastingStorage
      for (const [n, each] of given.entries()) {
        const [first] = (yield* inner.sessions({ roots: true })).rows
        yield* mortal(
          inner,
          each.dies,
          ({ alive }, storage) => live(each, n, memory, first?.id)(alive, storage)
        )
      }
    })),
    { seed }
  )
  return memory.touched
}

/** Whether the rules of an agent deny a change: those for all agents, below those of its definition. */
const deniedBy = ({ agents, all }: Config, { path }: Moment, thing: string): boolean =>
  (says(agents[path.at(-1) as keyof Config["agents"]].edit, thing) ?? says(all, thing)) === "deny"

const hasChanged = (before: Config, after: Config): boolean => JSON.stringify(before.all) !== JSON.stringify(after.all)

/** Which agent above, or its own definition, forbade a change: now, or when a run that led to it began. */
const over = (scenario: ReadonlyArray<Life>, { begun, thing, ...done }: Touched): ReadonlyArray<string> => {
  const at = ({ life: n, version }: Moment) => versionOf(scenario[n] as Life, version)
  const held = done.path.filter((name, depth) => forbids(at(done), name, thing, depth === done.path.length - 1))
  const captured = begun.flatMap((moment) =>
    moment.path.filter((name) => forbids(at(moment), name, thing, false)).map((name) => `${name} at its beginning`)
  )
  const [own] = begun
  const itself = own !== undefined && own.sessionID === done.sessionID && deniedBy(at(own), own, thing)
    ? ["its own rules at its beginning"]
    : []
  // The rules for all agents at the beginning of a run bound what it starts after they have changed.
  const shared = begun.flatMap((moment, below) => {
    const later = begun[below - 1]
    return later !== undefined && hasChanged(at(moment), at(later)) && says(at(moment).all, thing) === "deny"
      ? [`the rules for all at the beginning of ${moment.path.at(-1)}`]
      : []
  })
  const ofRoot = says((scenario[0] as Life).ceiling, thing) === "deny" ? ["the root session"] : []
  return [...held, ...captured, ...itself, ...shared, ...ofRoot]
}

it("no child does what a ceiling above it denies", () => {
  const numRuns = Number(process.env["SKEIN_LATTICE"] ?? 150)
  const all = fc.sample(fc.array(life, { minLength: 1, maxLength: 3 }), { numRuns, seed: 21 })
  // The last of each five: a switch of agents is rare, and they have one.
  const tried = [...all.entries()].filter(([seed]) => (seed + 1) % stride === 0)
  const seen = { deep: 0, later: 0, changed: 0, switched: 0 }
  for (const [seed, scenario] of tried) {
    for (const done of lives(scenario, seed)) {
      const { begun: [run], life: n, path, thing, version } = done
      expect(over(scenario, done), `scenario ${seed}, life ${n}: ${path.join(" > ")} changed ${thing}`).toEqual([])
      if (path.length > 2) seen.deep++
      if (n > 0) seen.later++
      if (run?.life === n && run.version < version) seen.changed++
      if (run !== undefined && run.path[0] !== path[0]) seen.switched++
    }
  }
  // Without any changes the test would prove nothing.
  expect(Object.entries(seen).filter(([, count]) => count < tried.length / 40)).toEqual([])
}, 1_200_000)

it("a task that a crash interrupted keeps the ceilings above it, even if the config is now more permissive", () => {
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
      yield* mortal(inner, "by hand", ({ die }, storage) =>
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
