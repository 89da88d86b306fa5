import { describe, expect, it } from "@effect/vitest"
import { Permission, type Subject } from "@skein/core/Permission"
import { Session } from "@skein/core/Session"
import { SessionStorage } from "@skein/core/SessionStorage"
import { authorised, type PermissionAsk } from "@skein/core/Tool"
import { Whereabouts } from "@skein/core/Whereabouts"
import type { SessionID } from "@skein/domain/Id"
import { fromConfig, type PermissionConfig } from "@skein/domain/Rule"
import { record } from "@skein/testing/RecordedEvents"
import { make, tasks } from "@skein/testing/ScriptedProvider"
import { layer } from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"
import { begin, results, touch, touching, waiting, with_ } from "./support/asking.ts"
import { lastingStorage, lonely } from "./support/mortal.ts"
import { callsMade, childrenOf, root } from "./support/tree.ts"

/** The same tool, of which one question names another permission as well. */
const both = {
  ...touch,
  authorise: (...given: Parameters<typeof touch.authorise>) =>
    Effect.map(
      touch.authorise(...given),
      (found) => authorised(found).asks.map((ask) => ({ ...ask, together: ["edit_more"] }))
    )
}

type Life = Effect.Effect.Context<ReturnType<typeof begin>> | Effect.Effect.Context<ReturnType<typeof root>>

describe("an answer of always", () => {
  it.scoped("also answers other open questions of the tree that it covers, and later ones", () =>
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
      expect(yield* permission.approvals("/work")).toMatchObject([{ rootID: id, permission: "edit", pattern: "src/*" }])
    }).pipe(with_({ build: [touching("src/a", "docs/a", "src/b"), touching("src/c"), "Done."] })))

  it.scoped("is stored for all permissions that the question names", () =>
    Effect.gen(function*() {
      const { id } = yield* root()
      const { requests, turn } = yield* begin(id, 1)
      const permission = yield* Permission
      yield* permission.reply(requests[0]!.id, "always")
      yield* Fiber.join(turn)
      const stored = (yield* permission.approvals("/work")).map((each) => [each.permission, each.pattern])
      expect(stored).toEqual([["edit", "src/*"], ["edit_more", "src/*"]])
    }).pipe(with_({ build: [touching("src/a"), "Done."] }, { tools: [both] })))

  it.scoped("for the project applies to other trees until it is revoked", () =>
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

  it.scoped("applies to its tree after a restart, and one for the project only until it is revoked", () =>
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
          const ofProject = (yield* permission.approvals("/work")).find(({ rootID }) => rootID === undefined)
          yield* permission.revoke("/work", ofProject!.id)
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

  it.scoped("lifts no denial, and allows nothing protected", () =>
    Effect.gen(function*() {
      const { id } = yield* root()
      const { events, requests, turn } = yield* begin(id, 1)
      const permission = yield* Permission
      yield* permission.reply(requests[0]!.id, "always")
      yield* events.first("permission.asked", ({ properties }) => properties.patterns[0] === "src/guarded")
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

  it.scoped("for the project also answers open questions in other trees of the project", () =>
    Effect.gen(function*() {
      const first = yield* begin((yield* root()).id, 1)
      const second = yield* begin((yield* root()).id, 2)
      yield* Permission.reply(first.requests[0]!.id, "always", { scope: "project" })
      yield* Fiber.join(first.turn)
      expect((yield* Fiber.join(second.turn)).text).toBe("Done.")
    }).pipe(with_({ build: [touching("src/a"), "Done."] })))

  it.scoped("to a child applies to its siblings, but lifts no ceiling of theirs", () =>
    Effect.gen(function*() {
      const { id } = yield* root()
      const { requests, turn } = yield* begin(id, 1)
      yield* Permission.reply(requests[0]!.id, "always")
      yield* Fiber.join(turn)
      const [, strict, worker] = yield* childrenOf(id)
      expect([yield* results(worker!.id), yield* results(strict!.id)]).toEqual([
        ["touched src/a"],
        [expect.stringContaining("There is no tool \"touch\"")]
      ])
    }).pipe(with_({
      build: [tasks({ worker: "w" }), tasks({ strict: "s" }, { worker: "w" }), "Done."],
      worker: [touching("src/a"), "ok"],
      strict: [touching("src/a"), "ok"]
    })))

  it.scoped("counts once if the question offered nothing to store", () =>
    Effect.gen(function*() {
      const { id } = yield* root()
      const { events, requests, turn } = yield* begin(id, 1)
      yield* Permission.reply(requests[0]!.id, "always", { scope: "project" })
      yield* Fiber.join(turn)
      expect(events.of("permission.replied").map(({ properties }) => properties)).toEqual([
        { id: requests[0]!.id, reply: "once" }
      ])
      expect(yield* Permission.approvals("/work")).toEqual([])
    }).pipe(with_({ build: [{ calls: [{ tool: "touch", input: { path: "a", guarded: true } }] }, "Done."] })))

  it.effect("is not offered for what no approval could allow, and covers only one permission", () =>
    Effect.gen(function*() {
      const { id } = yield* root()
      const subject = (rules: PermissionConfig): Subject => ({
        session: { id, rootID: id, depth: 0, projectID: "/work", directory: "/work" },
        path: ["build"],
        mode: "ask",
        rules: fromConfig(rules),
        ceilings: []
      })
      const bash = { name: "bash", permission: "bash" }
      const asked = (ask: Partial<PermissionAsk>, rules: PermissionConfig = "ask") =>
        Effect.gen(function*() {
          const permission = yield* Permission
          const whole = { permission: "bash", patterns: ["x"], exact: [], always: ["x"], metadata: {}, ...ask }
          const fiber = yield* Effect.fork(permission.authorise(subject(rules), bash, whole))
          const events = yield* record()
          if ((yield* permission.pending()).length === 0) yield* events.first("permission.asked")
          const [request] = yield* permission.pending()
          yield* permission.reply(request!.id, "always")
          yield* Fiber.join(fiber)
          return request!.always
        }).pipe(Effect.scoped)
      expect(yield* asked({ unclear: true })).toEqual([])
      expect(yield* asked({ insists: true })).toEqual([])
      expect(yield* asked({ also: ["sh x"] }, { bash: { "*": "ask", x: "allow", "sh *": "ask" } })).toEqual([])
      expect(yield* asked({ permission: "*", patterns: ["*"], always: ["*"] })).toEqual(["*"])
      const permission = yield* Permission
      const decided = permission.decide(subject("ask"), bash, {
        permission: "bash",
        patterns: ["x"],
        exact: [],
        always: [],
        metadata: {}
      })
      expect(yield* decided).toBe("ask")
      expect(yield* asked({})).toEqual(["x"])
      expect(yield* decided).toBe("allow")
    }).pipe(with_({})))
})

describe("an approval", () => {
  const twice = { build: [touching("src/a"), "Done.", touching("src/b"), "Done."] }

  it.scoped("of a tree stops counting once it is revoked, by any process", () =>
    Effect.gen(function*() {
      const { id } = yield* root()
      const { requests, turn } = yield* begin(id, 1)
      const [first, second] = requests
      expect(second).toBeUndefined()
      yield* Permission.reply(first!.id, "always")
      yield* Fiber.join(turn)
      const [approval] = yield* Permission.approvals("/work", id)
      // Another process leaves nothing in this one's memory.
      yield* Effect.flatMap(SessionStorage, (storage) => storage.commit([{ _tag: "RemoveApproval", id: approval!.id }]))
      const again = yield* begin(id, 1)
      expect(again.requests.map(({ patterns }) => patterns)).toEqual([["src/b"]])
      yield* Fiber.interrupt(again.turn)
    }).pipe(with_(twice)))

  it.scoped("is revoked together with identical ones", () =>
    Effect.gen(function*() {
      const { id } = yield* root()
      const other = yield* root()
      const approval = (name: string, rootID?: SessionID) => ({
        _tag: "Approval" as const,
        approval: {
          id: name,
          projectID: "/work",
          permission: "edit",
          pattern: "src/*",
          created: 1,
          ...(rootID === undefined ? {} : { rootID })
        }
      })
      yield* Effect.flatMap(
        SessionStorage,
        (storage) => storage.commit([approval("a", id), approval("b", id), approval("c", other.id), approval("d")])
      )
      expect((yield* Permission.approvals("/work", id)).map((each) => each.id)).toEqual(["a", "b", "d"])
      yield* Permission.revoke("/work", "b")
      expect((yield* Permission.approvals("/work")).map((each) => each.id)).toEqual(["c", "d"])
    }).pipe(with_({})))

  it.scoped("outlives the event log", () =>
    Effect.gen(function*() {
      const { id } = yield* root()
      const { requests, turn } = yield* begin(id, 1)
      yield* Permission.reply(requests[0]!.id, "always")
      yield* Fiber.join(turn)
      const gone = yield* Effect.flatMap(
        SessionStorage,
        (storage) => storage.prune({ before: 0, restingSince: 0, mostPerTree: 0 })
      )
      expect(gone).toBeGreaterThan(0)
      yield* Session.prompt(id, "Again")
      expect((yield* results(id)).at(-1)).toBe("touched src/b")
    }).pipe(with_(twice)))
})

describe("an approval for the project, in a database of several hosts", () => {
  const script = { build: [touching("src/a"), "Done."] }

  /** A process on a host, which knows that there are others. */
  const on = <A, E>(
    host: string,
    storage: Layer.Layer<SessionStorage>,
    life: Effect.Effect<A, E, Life | Whereabouts>,
    isDecided = true
  ) =>
    Effect.gen(function*() {
      if (isDecided) {
        ;(yield* Whereabouts).decideBy({
          isAway: () => Effect.succeed(false),
          explain: () => Effect.succeed(""),
          awaited: () => undefined
        })
      }
      return yield* life
    }).pipe(
      Effect.scoped,
      Effect.provide(
        layer(make(script), { tools: [touch], asks: "person", storage, owner: lonely(`${host}:1:boot:2:3`) })
      )
    )

  const approve = Effect.gen(function*() {
    const { id } = yield* root()
    const { requests, turn } = yield* begin(id, 1)
    yield* Permission.reply(requests[0]!.id, "always", { scope: "project" })
    yield* Fiber.join(turn)
    return id
  })

  /** Whether a new tree at the same path is asked. */
  const isAsked = Effect.gen(function*() {
    const { id } = yield* root()
    const turn = yield* Effect.fork(Session.prompt(id, "Begin"))
    const asked = yield* Effect.raceFirst(
      Effect.as(Effect.repeat(Effect.yieldNow(), { until: () => Effect.map(waiting, (all) => all.length > 0) }), true),
      Effect.as(Fiber.join(turn), false)
    )
    yield* Fiber.interrupt(turn)
    return asked
  })

  it.scoped("counts on the host on which it was given, and not for another project at the same path elsewhere", () =>
    Effect.gen(function*() {
      const storage = Layer.succeed(SessionStorage, yield* lastingStorage)
      const id = yield* on("one+1", storage, approve)
      expect(yield* on("one+1", storage, isAsked)).toBe(false)
      for (const host of ["two+2", "one+2", "one"]) expect(yield* on(host, storage, isAsked), host).toBe(true)
      // The path is the project of the tree, wherever it goes.
      const held = Effect.map(Permission.approvals("/work", id), (all) => all.map(({ host }) => host))
      expect(yield* on("two+2", storage, held)).toEqual(["one+1"])
    }))

  it.scoped("of an older version counts where all trees of its project were when it was given", () =>
    Effect.gen(function*() {
      const storage = Layer.succeed(SessionStorage, yield* lastingStorage)
      yield* on("one+1", storage, approve, false)
      yield* TestClock.adjust("1 second")
      expect(yield* on("two+2", storage, isAsked)).toBe(true)
      expect(yield* on("one+1", storage, isAsked)).toBe(false)
    }))

  it.scoped("of an older version counts nowhere if that is not known", () =>
    Effect.gen(function*() {
      const storage = Layer.succeed(SessionStorage, yield* lastingStorage)
      yield* on("two+2", storage, root())
      yield* on("one+1", storage, approve, false)
      expect(yield* on("one+1", storage, isAsked)).toBe(true)
      expect(yield* on("two+2", storage, isAsked)).toBe(true)
    }))

  it.scoped("counts wherever the database is opened, if that belongs to one host", () =>
    Effect.gen(function*() {
      const storage = Layer.succeed(SessionStorage, yield* lastingStorage)
      yield* on("one+1", storage, approve, false)
      expect(yield* on("renamed+1", storage, isAsked, false)).toBe(false)
    }))
})
