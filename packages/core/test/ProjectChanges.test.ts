/** New versions of an open project: when they apply, and what happens if one cannot be used. */
import { describe, expect, it } from "@effect/vitest"
import { Session } from "@skein/core/Session"
import * as Skein from "@skein/core/Skein"
import { type PermissionConfig } from "@skein/domain/Rule"
import * as Scripted from "@skein/testing/ScriptedProvider"
import { agent, tool } from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as TestClock from "effect/TestClock"
import { results } from "./support/asking.ts"
import { answered, changing, held, main, unavailable, version } from "./support/projects.ts"

describe("a project that changes", () => {
  it.effect("does not affect a running call, and applies from the next turn on", () =>
    Effect.gen(function*() {
      const script = Scripted.make({
        main: (request) => request.messages.at(-1)?.role === "tool" ? "done" : Scripted.call("ping", {})
      })
      const old = yield* held("the old tool")
      let closed = 0
      const project = yield* changing(
        version(script, { agents: [main()], tools: [old.ping], hooked: "old" }, () => void closed++),
        version(script, { agents: [main()], tools: [answered("the new tool")], hooked: "new" })
      )
      yield* Effect.gen(function*() {
        const { id } = yield* Session.create({ directory: "/a", agent: "main" })
        const turn = yield* Effect.fork(Session.prompt(id, "go"))
        yield* old.begun
        yield* project.change
        expect(closed).toBe(0)
        yield* old.go
        yield* Fiber.join(turn)
        expect(closed).toBe(1)
        yield* Session.prompt(id, "again")
        expect(yield* results(id)).toEqual(["old: pong of the old tool", "new: pong of the new tool"])
      }).pipe(Effect.provide(Skein.layerMany({ projects: () => Effect.succeed(project.version) })))
    }))

  it.effect("narrows the permissions of a turn immediately, and widens nothing for a running task", () =>
    Effect.gen(function*() {
      const free: PermissionConfig = { task: "allow", edit: "allow" }
      const docs: PermissionConfig = { task: "allow", edit: { "*": "deny", docs: "allow" } }
      const rules = (permission: PermissionConfig) => ({
        agents: [main(permission), agent("worker", { permission: { edit: "allow" } })]
      })
      const edits = tool("touch", () => Effect.succeed("touched"), {
        permission: "edit",
        authorise: () => Effect.succeed([{ permission: "edit", patterns: ["x"], always: [], metadata: {} }])
      })
      const touching = { ...Scripted.call("touch", {}), delay: { first: 1_000 } }
      const run = (before: PermissionConfig, after: PermissionConfig) =>
        Effect.gen(function*() {
          const script = Scripted.make({
            main: [Scripted.tasks({ worker: "Touch" }), "done"],
            worker: [touching, touching, "done"]
          })
          const project = yield* changing(
            version(script, { ...rules(before), tools: [edits] }),
            version(script, { ...rules(after), tools: [edits] })
          )
          return yield* Effect.gen(function*() {
            const { id } = yield* Session.create({ directory: "/a", agent: "main" })
            const turn = yield* Effect.fork(Session.prompt(id, "go"))
            yield* TestClock.adjust(1_500)
            yield* project.change
            yield* TestClock.adjust("1 minute")
            yield* Fiber.join(turn)
            const session = yield* Session
            const [child] = yield* session.children(id)
            return yield* results(child!.id)
          }).pipe(Effect.provide(Skein.layerMany({ projects: () => Effect.succeed(project.version) })))
        })
      const forbidden = expect.stringContaining("Permission denied")
      expect(yield* run(free, docs)).toEqual(["touched", forbidden])
      expect(yield* run(docs, free)).toEqual([forbidden, forbidden])
    }))

  it.effect("stays unchanged if its next version cannot be built, and logs that", () =>
    Effect.gen(function*() {
      const logged: Array<string> = []
      const logger = Logger.replace(
        Logger.defaultLogger,
        Logger.make(({ message }) => void logged.push(String(message)))
      )
      const script = Scripted.make({
        main: (request) => request.messages.at(-1)?.role === "tool" ? "done" : Scripted.call("ping", {})
      })
      const project = yield* changing(
        version(script, { agents: [main()], tools: [answered("one")] }),
        Layer.fail(unavailable("/a", "skein.json:1 is not JSON")),
        Layer.die(new Error("A plugin threw")),
        version(script, { agents: [main()], tools: [answered("three")] }, () => {
          throw new Error("A connection would not close")
        }),
        version(script, { agents: [main()], tools: [answered("four")] })
      )
      yield* Effect.gen(function*() {
        const { id } = yield* Session.create({ directory: "/a", agent: "main" })
        yield* project.change
        yield* Session.prompt(id, "go")
        expect(logged.join()).toContain("skein.json:1 is not JSON")
        yield* project.change
        yield* Session.prompt(id, "go")
        expect(logged.join()).toContain("A plugin threw")
        yield* project.change
        yield* Session.prompt(id, "go")
        yield* project.change
        yield* Session.prompt(id, "go")
        expect(logged.join()).toContain("A connection would not close")
        expect(yield* results(id)).toEqual(["pong of one", "pong of one", "pong of three", "pong of four"])
      }).pipe(
        Effect.provide(Skein.layerMany({ projects: () => Effect.succeed(project.version) })),
        Effect.provide(logger)
      )
    }))

  it.effect("whose watcher fails stays unchanged, and logs that", () =>
    Effect.gen(function*() {
      const logged: Array<string> = []
      const logger = Logger.replace(
        Logger.defaultLogger,
        Logger.make(({ message }) => void logged.push(String(message)))
      )
      const layer = version(Scripted.make({ main: ["done"] }), { agents: [main()] })
      yield* Effect.gen(function*() {
        const { id } = yield* Session.create({ directory: "/a", agent: "main" })
        yield* TestClock.adjust(1)
        expect(logged.join()).toContain("The watcher threw")
        expect((yield* Session.prompt(id, "go")).text).toBe("done")
      }).pipe(
        Effect.provide(Skein.layerMany({
          projects: () => Effect.succeed({ layer, next: Effect.die(new Error("The watcher threw")) })
        })),
        Effect.provide(logger)
      )
    }))
})
