import { describe, expect, it } from "@effect/vitest"
import { Agent } from "@skein/core/Agent"
import { isFree } from "@skein/core/Anywhere"
import { on } from "@skein/core/Hooks"
import { Instructions } from "@skein/core/Instructions"
import { Leases } from "@skein/core/Leases"
import { Session } from "@skein/core/Session"
import { SessionStorage } from "@skein/core/SessionStorage"
import { Whereabouts } from "@skein/core/Whereabouts"
import type { SessionID } from "@skein/domain/Id"
import { fromConfig, type PermissionConfig } from "@skein/domain/Rule"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { lonely } from "./support/mortal.ts"
import { childrenOf, root, taskTools } from "./support/tree.ts"

const closed: PermissionConfig = { "*": "deny", task: "allow" }
const reads: PermissionConfig = { ...closed, read: "allow" }

const bare = (isBare: boolean) =>
  Layer.succeed(Instructions, { of: () => Effect.succeed(undefined), isBare: () => Effect.succeed(isBare) })

/** Skein on the host `alpha`, with agents that have these rules. */
const onAlpha = (
  thinker: SkeinTest.TestAgent,
  { script = Scripted.make({ thinker: ["done"] }), ...options }:
    & { readonly script?: Scripted.Scripted }
    & SkeinTest.SkeinTestOptions = {}
) =>
  Effect.provide(SkeinTest.layer(script, {
    agents: [
      SkeinTest.agent("thinker", { mode: "primary", permission: closed, ...thinker }),
      SkeinTest.agent("other", { mode: "primary" }),
      SkeinTest.agent("worker", { isolation: "worktree" })
    ],
    tools: [
      SkeinTest.tool("read", () => Effect.succeed("text")),
      SkeinTest.tool("webfetch", () => Effect.succeed("text"))
    ],
    instructions: bare(true),
    owner: lonely("alpha:7:1:boot.4:x"),
    ...options
  }))

const away = Effect.map(
  Whereabouts,
  ({ decideBy }) =>
    decideBy({
      isAway: () => Effect.succeed(true),
      explain: () => Effect.succeed("It is on alpha"),
      awaited: () => undefined
    })
)

const stored = (id: SessionID) =>
  Effect.map(Effect.flatMap(SessionStorage, (storage) => storage.session(id)), (info) => Option.getOrThrow(info))

describe("an agent needs no directory", () => {
  const free = (permission: PermissionConfig, more: SkeinTest.TestAgent = {}, own: PermissionConfig = {}) =>
    Effect.gen(function*() {
      const agents = yield* Agent
      return isFree(agents, SkeinTest.agent("a", { permission, ...more }), fromConfig(own))
    }).pipe(Effect.provide(Agent.layerWith([SkeinTest.agent("a", { permission, ...more })])))

  it.effect("if it may only talk: to subagents, to people and to servers of the web", () =>
    Effect.gen(function*() {
      expect(yield* free(closed)).toBe(true)
      expect(yield* free("deny")).toBe(true)
      expect(yield* free({ "*": "deny", todowrite: "allow", question: "allow", webfetch: "ask" })).toBe(true)
      expect(yield* free({}, {}, closed)).toBe(true)
    }))

  it.effect("not if it may use any other tool, even after asking, or one that no rule names", () =>
    Effect.gen(function*() {
      expect(yield* free(reads)).toBe(false)
      expect(yield* free({ "*": "deny", bash: { "git *": "ask" } })).toBe(false)
      expect(yield* free({ "*": "deny", "mcp_*": "allow" })).toBe(false)
      expect(yield* free({ "*": "ask", read: "deny", edit: "deny", bash: "deny" })).toBe(false)
      expect(yield* free({ task: "allow", "*": { "*": "deny", "src/*": "allow" } })).toBe(false)
      expect(yield* free({})).toBe(false)
    }))

  it.effect("not if it may start agents that its ceiling lets do more", () =>
    Effect.gen(function*() {
      expect(yield* free(closed, { ceiling: {} })).toBe(false)
      expect(yield* free({ "*": "deny", question: "allow" }, { ceiling: {} })).toBe(true)
    }))
})

describe("a tree whose agents need no directory", () => {
  const isMarked = (thinker: SkeinTest.TestAgent, options: SkeinTest.SkeinTestOptions = {}) =>
    Effect.map(root({ agent: "thinker" }), ({ anywhere }) => anywhere === true).pipe(onAlpha(thinker, options))

  it.effect("says so, unless its project has files for agents or hooks", () =>
    Effect.gen(function*() {
      expect(yield* isMarked({})).toBe(true)
      expect(yield* isMarked({ permission: reads })).toBe(false)
      expect(yield* isMarked({}, { instructions: bare(false) })).toBe(false)
      expect(yield* isMarked({}, { hooks: [on("Stop", () => Effect.void)] })).toBe(false)
      expect(yield* isMarked({}, { owner: lonely("own_01abc") })).toBe(false)
    }))

  it.effect("offers no more tools in another process, whatever the config says there", () =>
    Effect.gen(function*() {
      const storage = Layer.succeedContext(yield* Layer.build(SessionStorage.layerMemory))
      const { id } = yield* Effect.gen(function*() {
        const info = yield* root({ agent: "thinker" })
        const session = yield* Session
        yield* Effect.fork(session.prompt(info.id, "Go"))
        yield* Effect.iterate(0, {
          while: (asked) => asked === 0,
          body: () => Effect.as(Effect.yieldNow(), begun.requests.length)
        })
        yield* session.leave(info.id)
        return info
      }).pipe(onAlpha({}, { storage, script: begun }))
      const next = Scripted.make({ thinker: [Scripted.call("read", {}), "done"] })
      yield* Effect.gen(function*() {
        const session = yield* Session
        yield* session.resume(id)
        expect((yield* session.untilIdle(id))?.text).toBe("done")
      }).pipe(onAlpha({ permission: reads }, { storage, script: next }))
      expect(next.requests.map(({ tools }) => tools.map(({ name }) => name))).toEqual([taskTools, taskTools])
    }).pipe(Effect.scoped))
  const begun = Scripted.make({ thinker: [{ text: "", delay: { first: 1_000_000 } }] })

  it.effect("is bound to its directory by an agent that needs it", () =>
    Effect.gen(function*() {
      const { id } = yield* root({ agent: "thinker" })
      yield* Session.prompt(id, "Go", { agent: "thinker" })
      expect((yield* stored(id)).anywhere).toBe(true)
      yield* Session.prompt(id, "Go", { agent: "other" })
      expect(yield* stored(id)).toMatchObject({ agent: "other", anywhere: false })
      yield* Session.prompt(id, "Go", { agent: "thinker" })
      expect((yield* stored(id)).anywhere).toBe(false)

      const planned = yield* root({ agent: "thinker" })
      const session = yield* Session
      yield* session.setMode(planned.id, "edits")
      expect((yield* stored(planned.id)).anywhere).toBe(true)
      yield* session.setMode(planned.id, "plan")
      expect((yield* stored(planned.id)).anywhere).toBe(false)
    }).pipe(onAlpha({}, { script: Scripted.make({ thinker: ["done", "done", "done"], other: ["done"] }) })))

  it.effect("refuses such an agent away from its directory", () =>
    Effect.gen(function*() {
      const { id } = yield* root({ agent: "thinker" })
      yield* away
      const session = yield* Session
      const message = "The agent other needs the directory of the session"
      expect(yield* Effect.flip(session.prompt(id, "Go", { agent: "other" }))).toMatchObject({
        _tag: "ProjectUnavailable",
        message: expect.stringContaining(message)
      })
      expect(yield* Effect.flip(session.setMode(id, "plan"))).toMatchObject({ _tag: "ProjectUnavailable" })
      expect(yield* stored(id)).toMatchObject({ agent: "thinker", anywhere: true })
      expect((yield* session.prompt(id, "Go")).text).toBe("done")
    }).pipe(onAlpha({})))

  it.effect("is not worked in away from its directory if it needs it, whatever is asked for", () =>
    Effect.gen(function*() {
      const { id } = yield* root({ agent: "other" })
      const session = yield* Session
      yield* session.prompt(id, "Go")
      yield* session.leave(id)
      yield* away
      const leases = yield* Leases
      for (
        const work of [
          session.prompt(id, "More"),
          session.resume(id),
          session.compact(id),
          session.summarize(id),
          session.setMode(id, "edits"),
          // A tree that is held, for example to rename it, is still not worked in.
          leases.hold(id, session.resume(id))
        ]
      ) {
        expect(yield* Effect.flip<unknown, { readonly message: string }, never>(work)).toMatchObject({
          _tag: "ProjectUnavailable",
          host: "alpha",
          message: "It is on alpha"
        })
      }
      yield* session.rename(id, "Renamed")
      yield* session.stop(id)
      expect((yield* stored(id)).title).toBe("Renamed")
    }).pipe(onAlpha({}, { script: Scripted.make({ other: ["done"] }) })))

  it.effect("gives no task a worktree", () =>
    Effect.gen(function*() {
      const { id } = yield* root({ agent: "thinker" })
      yield* Session.prompt(id, "Go")
      expect((yield* childrenOf(id)).map(({ agent, worktree }) => [agent, worktree])).toEqual([["worker", undefined]])
    }).pipe(onAlpha({}, {
      script: Scripted.make({
        thinker: [Scripted.call("task", { description: "d", prompt: "p", subagent_type: "worker" }), "done"],
        worker: ["thought"]
      })
    })))
})
