import { describe, expect, it } from "@effect/vitest"
import { Permission } from "@skein/core/Permission"
import { Session } from "@skein/core/Session"
import { call, make, tasks } from "@skein/testing/ScriptedProvider"
import { layer } from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/TestClock"
import { begin, results, touch, touching, waiting, with_ } from "./support/asking.ts"
import { callsMade, childrenOf, root, taskTools } from "./support/tree.ts"

describe("a question", () => {
  it.scoped("arrives from any depth with the path of its agents, and is answered once", () =>
    Effect.gen(function*() {
      const { id } = yield* root()
      const { events, requests, turn } = yield* begin(id, 1)
      const [lead] = yield* childrenOf(id)
      const [worker] = yield* childrenOf(lead!.id)
      expect(requests).toEqual([{
        id: requests[0]!.id,
        sessionID: worker!.id,
        rootID: id,
        partID: expect.stringMatching(/^prt_/),
        path: ["build", "lead", "worker"],
        title: "Test",
        description: "worker task",
        directory: "/work",
        since: expect.any(Number),
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
      expect(events.of("permission.replied").map(({ properties }) => properties)).toEqual([
        { id: requests[0]!.id, reply: "once" }
      ])
    }).pipe(with_({
      build: [tasks({ lead: "l" }), "Done."],
      lead: [tasks({ worker: "w" }), "ok"],
      worker: [touching("src/a"), "ok"]
    })))

  it.scoped("names the rule that asks", () =>
    Effect.gen(function*() {
      const { id } = yield* root()
      const { requests, turn } = yield* begin(id, 1)
      expect(requests[0]?.metadata).toMatchObject({
        reasons: ["A rule asks: \"edit\": {\"src/*\": \"ask\"}."]
      })
      yield* Effect.flatMap(Permission, (permission) => permission.reply(requests[0]!.id, "once"))
      yield* Fiber.join(turn)
    }).pipe(with_({ build: [touching("src/a"), "Done."] }, {
      asks: "person",
      rules: { edit: { "*": "allow", "src/*": "ask" } }
    })))

  it.scoped("that is rejected without a message ends the turn, and the task as denied", () =>
    Effect.gen(function*() {
      const { id } = yield* root()
      const { requests, turn } = yield* begin(id, 1)
      yield* Effect.flatMap(Permission, (permission) => permission.reply(requests[0]!.id, "reject"))
      yield* Fiber.join(turn)
      const [child] = yield* childrenOf(id)
      expect(yield* results(child!.id)).toEqual(["Permission denied."])
      expect((yield* results(id))[0]).toContain("state: denied")
    }).pipe(with_({ build: [tasks({ worker: "w" }), "Done."], worker: [touching("a"), "never said"] })))

  it.scoped("that is rejected with a message is read by the model, which continues", () =>
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

  it.scoped("that is not answered counts as rejected after 24 hours, not before", () =>
    Effect.gen(function*() {
      const { id } = yield* root()
      const { events, requests, turn } = yield* begin(id, 1)
      yield* TestClock.adjust("23 hours")
      expect(yield* waiting).toHaveLength(1)
      yield* TestClock.adjust("1 hour")
      expect((yield* Fiber.join(turn)).text).toBe("On.")
      expect(yield* waiting).toEqual([])
      expect(events.of("permission.replied")[0]?.properties).toMatchObject({ id: requests[0]!.id, reply: "reject" })
      expect((yield* results(id))[0]).toContain("24 hours")
    }).pipe(with_({ build: [touching("a"), "On."] })))
})

describe("without a person to ask", () => {
  it.effect("a question is denied immediately, and the turn continues", () =>
    Effect.gen(function*() {
      const { id } = yield* root()
      expect((yield* Session.prompt(id, "Begin")).text).toBe("On.")
      expect((yield* results(id))[0]).toContain("Skein cannot ask anyone here")
    }).pipe(with_({ build: [touching("a"), "On."] }, { asks: "nobody" })))

  it.effect("--auto allows it, but nothing denied or protected", () =>
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
  it.effect("needs its own permission", () =>
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
  it.effect("follows rules for its name too, and the stricter wins", () =>
    Effect.gen(function*() {
      const { id } = yield* root()
      yield* Session.prompt(id, "Begin")
      expect((yield* callsMade(id)).map(({ state }) => state.status)).toEqual(["completed", "error"])
    }).pipe(with_({ build: [touching("a", "b"), "On."] }, {
      asks: "nobody",
      rules: { edit: "allow", touch: { "*": "allow", b: "deny" } }
    })))

  it.effect("is not offered if everything of it is denied", () => {
    const script = make({ build: ["Done."] })
    return Effect.gen(function*() {
      const { id } = yield* root()
      yield* Session.prompt(id, "Begin")
      expect(script.requests[0]?.tools.map(({ name }) => name)).toEqual(taskTools)
    }).pipe(Effect.provide(layer(script, { tools: [touch], rules: { edit: "deny" } })))
  })
})
