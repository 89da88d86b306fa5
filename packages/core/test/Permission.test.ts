import { describe, expect, it } from "@effect/vitest"
import { Permission } from "@skein/core/Permission"
import { Session } from "@skein/core/Session"
import { SessionStorage } from "@skein/core/SessionStorage"
import { define } from "@skein/core/Tool"
import type { SessionID } from "@skein/domain/Id"
import type { PermissionConfig } from "@skein/domain/Rule"
import { record } from "@skein/testing/RecordedEvents"
import { call, make, type Script, tasks } from "@skein/testing/ScriptedProvider"
import { agent, layer } from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/TestClock"
import { lastingStorage, lonely } from "./support/mortal.ts"
import { callsMade, childrenOf, root, said, taskTools } from "./support/tree.ts"

/** A tool that goes by the permission `edit`, and asks for it for the path that it is given. */
const touch = define({
  name: "touch",
  permission: "edit",
  describe: "Touches a file.",
  parameters: Schema.Struct({ path: Schema.String, guarded: Schema.optional(Schema.Boolean) }),
  effect: "safe",
  title: ({ path }) => path,
  authorise: ({ guarded, path }) =>
    Effect.succeed([{
      permission: "edit",
      patterns: [path],
      always: [`${path.split("/")[0]}/*`],
      metadata: { path },
      protected: guarded === true
    }]),
  execute: ({ path }) => Effect.succeed({ title: path, output: `touched ${path}`, metadata: {} })
})

const touching = (...paths: ReadonlyArray<string>) => call("touch", ...paths.map((path) => ({ path })))

const subagents = [agent("lead", { permission: { task: "allow" } }), agent("worker")]

const with_ = (
  script: Readonly<Record<string, Script>>,
  options: { readonly asks?: "person" | "nobody" | "auto"; readonly rules?: PermissionConfig } = {}
) => Effect.provide(layer(make(script), { tools: [touch], agents: subagents, asks: "person", ...options }))

/** What the model is told of its calls. */
const results = (id: SessionID) => Effect.map(callsMade(id), (found) => found.map(said))

type Life = Effect.Effect.Context<ReturnType<typeof begin>> | Effect.Effect.Context<ReturnType<typeof root>>

const waiting = Effect.flatMap(Permission, (permission) => permission.pending())

/** Begins a turn and waits until so many questions wait. */
const begin = Effect.fnUntraced(function*(id: SessionID, questions: number) {
  const heard = yield* record()
  const turn = yield* Effect.fork(Session.prompt(id, "Begin"))
  while ((yield* waiting).length < questions) {
    const known = heard.of("permission.asked").length
    yield* heard.first("permission.asked", (event) => heard.of("permission.asked").indexOf(event) >= known)
  }
  return { turn, heard, requests: yield* waiting }
})

describe("a question", () => {
  it.scoped("comes from any depth with the agents that lead to it, and is answered once", () =>
    Effect.gen(function*() {
      const { id } = yield* root()
      const { heard, requests, turn } = yield* begin(id, 1)
      const [lead] = yield* childrenOf(id)
      const [worker] = yield* childrenOf(lead!.id)
      expect(requests).toEqual([{
        id: requests[0]!.id,
        sessionID: worker!.id,
        rootID: id,
        partID: expect.stringMatching(/^prt_/),
        path: ["build", "lead", "worker"],
        permission: "edit",
        patterns: ["src/a"],
        always: ["src/*"],
        metadata: { path: "src/a" }
      }])
      const permission = yield* Permission
      yield* permission.reply(requests[0]!.id, "once")
      expect(yield* Effect.flip(permission.reply(requests[0]!.id, "once"))).toMatchObject({
        _tag: "PermissionNotFound"
      })
      expect((yield* Fiber.join(turn)).text).toBe("Done.")
      expect(yield* results(worker!.id)).toEqual(["touched src/a"])
      expect(heard.of("permission.replied").map(({ properties }) => properties)).toEqual([
        { id: requests[0]!.id, reply: "once" }
      ])
    }).pipe(with_({
      build: [tasks({ lead: "l" }), "Done."],
      lead: [tasks({ worker: "w" }), "ok"],
      worker: [touching("src/a"), "ok"]
    })))

  it.scoped("that is rejected without a word ends the turn, and the task as denied", () =>
    Effect.gen(function*() {
      const { id } = yield* root()
      const { requests, turn } = yield* begin(id, 1)
      yield* Effect.flatMap(Permission, (permission) => permission.reply(requests[0]!.id, "reject"))
      yield* Fiber.join(turn)
      const [child] = yield* childrenOf(id)
      expect(yield* results(child!.id)).toEqual(["Permission denied."])
      expect((yield* results(id))[0]).toContain("state: denied")
    }).pipe(with_({ build: [tasks({ worker: "w" }), "Done."], worker: [touching("a"), "never said"] })))

  it.scoped("that is rejected with a message is read by the model, which goes on", () =>
    Effect.gen(function*() {
      const { id } = yield* root()
      const { requests, turn } = yield* begin(id, 1)
      yield* Effect.flatMap(
        Permission,
        (permission) => permission.reply(requests[0]!.id, "reject", { message: "Not a" })
      )
      expect((yield* Fiber.join(turn)).text).toBe("Another way.")
      expect(yield* results(id)).toEqual(["Permission denied. The user says: Not a"])
      expect((yield* Effect.flatMap(Session, (session) => session.get(id))).usage.own.blockedToolCalls).toBe(1)
    }).pipe(with_({ build: [touching("a"), "Another way."] })))

  it.scoped("that nobody answers counts as rejected after 24 hours, not before", () =>
    Effect.gen(function*() {
      const { id } = yield* root()
      const { heard, requests, turn } = yield* begin(id, 1)
      yield* TestClock.adjust("23 hours")
      expect(yield* waiting).toHaveLength(1)
      yield* TestClock.adjust("1 hour")
      expect((yield* Fiber.join(turn)).text).toBe("On.")
      expect(yield* waiting).toEqual([])
      expect(heard.of("permission.replied")[0]?.properties).toMatchObject({ id: requests[0]!.id, reply: "reject" })
      expect((yield* results(id))[0]).toContain("24 hours")
    }).pipe(with_({ build: [touching("a"), "On."] })))
})

describe("an answer of always", () => {
  it.scoped("also answers what else waits in the tree and is covered by it, and what comes later", () =>
    Effect.gen(function*() {
      const { id } = yield* root()
      const { requests, turn } = yield* begin(id, 3)
      const permission = yield* Permission
      const of = (pattern: string) => requests.find(({ patterns }) => patterns[0] === pattern)!.id
      yield* permission.reply(of("src/a"), "always")
      expect((yield* waiting).map(({ patterns }) => patterns)).toEqual([["docs/a"]])
      yield* permission.reply(of("docs/a"), "once")
      yield* Fiber.join(turn)
      expect(yield* results(id)).toEqual(["touched src/a", "touched docs/a", "touched src/b", "touched src/c"])
      expect(yield* permission.approvals("/work")).toEqual([])
    }).pipe(with_({ build: [touching("src/a", "docs/a", "src/b"), touching("src/c"), "Done."] })))

  it.scoped("for the project holds for other trees, until it is revoked", () =>
    Effect.gen(function*() {
      const first = yield* root()
      const { requests, turn } = yield* begin(first.id, 1)
      const permission = yield* Permission
      yield* permission.reply(requests[0]!.id, "always", { scope: "project" })
      yield* Fiber.join(turn)
      const [approval] = yield* permission.approvals("/work")
      expect(approval).toMatchObject({ permission: "edit", pattern: "src/*" })
      const second = yield* root()
      yield* Session.prompt(second.id, "Begin")
      expect(yield* results(second.id)).toEqual(["touched src/a"])
      yield* permission.revoke("/work", approval!.id)
      expect(yield* Effect.flip(permission.revoke("/work", approval!.id))).toMatchObject({ _tag: "PermissionNotFound" })
      const third = yield* root()
      const again = yield* begin(third.id, 1)
      yield* Fiber.interrupt(again.turn)
    }).pipe(with_({ build: [touching("src/a"), "Done."] })))

  it.scoped("holds for its tree after a restart as well, and one for the project only until it is revoked", () =>
    Effect.gen(function*() {
      const storage = Layer.succeed(SessionStorage, yield* lastingStorage)
      const script = { build: [touching("src/a", "docs/a"), "Done."] }
      const living = <A, E>(name: string, life: Effect.Effect<A, E, Life>) =>
        Effect.scoped(life).pipe(
          Effect.provide(layer(make(script), { tools: [touch], asks: "person", storage, owner: lonely(name) }))
        )
      const id = yield* living(
        "first",
        Effect.gen(function*() {
          const { id } = yield* root()
          const { requests, turn } = yield* begin(id, 2)
          const permission = yield* Permission
          const of = (pattern: string) => requests.find(({ patterns }) => patterns[0] === pattern)!.id
          yield* permission.reply(of("src/a"), "always")
          yield* permission.reply(of("docs/a"), "always", { scope: "project" })
          yield* Fiber.join(turn)
          const [approval] = yield* permission.approvals("/work")
          yield* permission.revoke("/work", approval!.id)
          return id
        })
      )
      yield* living(
        "second",
        Effect.gen(function*() {
          const { requests, turn } = yield* begin(id, 1)
          expect(requests.map(({ patterns }) => patterns)).toEqual([["docs/a"]])
          yield* Fiber.interrupt(turn)
          const other = yield* begin((yield* root()).id, 2)
          yield* Fiber.interrupt(other.turn)
        })
      )
    }))

  it.scoped("lifts no denial, and nothing that is protected", () =>
    Effect.gen(function*() {
      const { id } = yield* root()
      const { heard, requests, turn } = yield* begin(id, 1)
      const permission = yield* Permission
      yield* permission.reply(requests[0]!.id, "always")
      yield* heard.first("permission.asked", ({ properties }) => properties.patterns[0] === "src/guarded")
      const [guarded] = yield* waiting
      expect(guarded).toMatchObject({ patterns: ["src/guarded"], always: [] })
      yield* permission.reply(guarded!.id, "reject", { message: "no" })
      yield* Fiber.join(turn)
      const [, secret, kept] = yield* callsMade(id)
      expect(secret?.state).toMatchObject({ status: "error", metadata: { by: "rule" } })
      expect(kept?.state).toMatchObject({ status: "error", metadata: { by: "rejected" } })
    }).pipe(with_({
      build: [
        touching("src/a"),
        {
          calls: [{ tool: "touch", input: { path: "src/secret" } }, {
            tool: "touch",
            input: { path: "src/guarded", guarded: true }
          }]
        },
        "Done."
      ]
    }, { rules: { edit: { "*": "ask", "src/secret": "deny" } } })))
})

describe("where nobody can be asked", () => {
  it.effect("what would be asked is denied at once, and the turn goes on", () =>
    Effect.gen(function*() {
      const { id } = yield* root()
      expect((yield* Session.prompt(id, "Begin")).text).toBe("On.")
      expect((yield* results(id))[0]).toContain("nobody can be asked here")
    }).pipe(with_({ build: [touching("a"), "On."] }, { asks: "nobody" })))

  it.effect("--auto allows it, but nothing that is denied or protected", () =>
    Effect.gen(function*() {
      const { id } = yield* root()
      yield* Session.prompt(id, "Begin")
      expect((yield* callsMade(id)).map(({ state }) => state.status)).toEqual(["completed", "error", "error"])
    }).pipe(with_({
      build: [{
        calls: [
          { tool: "touch", input: { path: "a" } },
          { tool: "touch", input: { path: "b" } },
          { tool: "touch", input: { path: "c", guarded: true } }
        ]
      }, "On."]
    }, { asks: "auto", rules: { edit: { "*": "ask", b: "deny" } } })))
})

describe("a model that a task names", () => {
  it.effect("is a question of its own", () =>
    Effect.gen(function*() {
      const { id } = yield* root()
      yield* Session.prompt(id, "Begin")
      const [first, second] = yield* callsMade(id)
      expect(first?.state).toMatchObject({ status: "error", metadata: { permission: "task_model", by: "nobody" } })
      expect(second?.state.status).toBe("completed")
      expect(yield* childrenOf(id)).toHaveLength(1)
    }).pipe(with_({
      build: [
        call(
          "task",
          { description: "d", prompt: "p", subagent_type: "worker", model: "scripted/model" },
          { description: "d", prompt: "p", subagent_type: "worker" }
        ),
        "On."
      ],
      worker: ["ok"]
    }, { asks: "nobody" })))
})

describe("a tool", () => {
  it.effect("goes by its own name too, and the stricter counts", () =>
    Effect.gen(function*() {
      const { id } = yield* root()
      yield* Session.prompt(id, "Begin")
      expect((yield* callsMade(id)).map(({ state }) => state.status)).toEqual(["completed", "error"])
    }).pipe(with_({ build: [touching("a", "b"), "On."] }, {
      asks: "nobody",
      rules: { edit: "allow", touch: { "*": "allow", b: "deny" } }
    })))

  it.effect("of which everything is denied is not offered", () => {
    const script = make({ build: ["Done."] })
    return Effect.gen(function*() {
      const { id } = yield* root()
      yield* Session.prompt(id, "Begin")
      expect(script.requests[0]?.tools.map(({ name }) => name)).toEqual(taskTools)
    }).pipe(Effect.provide(layer(script, { tools: [touch], rules: { edit: "deny" } })))
  })
})
