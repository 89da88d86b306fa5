/** One process with several projects: what each has, when it changes, and how long it stays. */
import { describe, expect, it } from "@effect/vitest"
import { Agent } from "@skein/core/Agent"
import { Answerer } from "@skein/core/Answerer"
import { Command } from "@skein/core/Command"
import { Hooks, on } from "@skein/core/Hooks"
import { Permission } from "@skein/core/Permission"
import { ProjectUnavailable, type ProjectVersion } from "@skein/core/Project"
import type { ModelRequest } from "@skein/core/Provider"
import { Session } from "@skein/core/Session"
import * as Skein from "@skein/core/Skein"
import type { AnyTool } from "@skein/core/Tool"
import type { AgentInfo } from "@skein/domain/AgentInfo"
import type { ConfigInfo } from "@skein/domain/ConfigInfo"
import { fromConfig, type PermissionConfig } from "@skein/domain/Rule"
import * as Scripted from "@skein/testing/ScriptedProvider"
import { agent, tool } from "@skein/testing/SkeinTest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Option from "effect/Option"
import * as TestClock from "effect/TestClock"
import { results } from "./support/asking.ts"

interface Given {
  readonly agents?: ReadonlyArray<AgentInfo>
  readonly rules?: PermissionConfig
  readonly tools?: ReadonlyArray<AnyTool>
  readonly config?: ConfigInfo
  readonly hooked?: string
}

/** A version of a project, of which the last word is said when it is closed. */
const version = (provider: Pick<Scripted.Scripted, "layer">, given: Given, closed: () => void = () => {}) =>
  Layer.merge(
    Skein.project({
      provider: provider.layer,
      agents: Agent.layerWith(given.agents ?? [], fromConfig(given.rules ?? {})),
      tools: Effect.succeed(given.tools ?? []),
      config: given.config ?? {},
      commands: (directory) =>
        Effect.succeed({
          commands: [{ name: "where", template: `This is ${directory}`, origin: "test", hides: [] }],
          broken: []
        }),
      hooks: given.hooked === undefined
        ? Hooks.layerNoop
        : Hooks.layer([on("PostToolUse", ({ output }) => Effect.succeed({ output: `${given.hooked}: ${output}` }))])
    }),
    Layer.scopedDiscard(Effect.addFinalizer(() => Effect.sync(closed)))
  )

/** A project that does not change. */
const still = (layer: ProjectVersion<Skein.ProcessServices>["layer"]): ProjectVersion<Skein.ProcessServices> => ({
  layer,
  next: Effect.never
})

/** A project whose next version comes when `change` says so. */
const changing = (
  first: ProjectVersion<Skein.ProcessServices>["layer"],
  ...others: ReadonlyArray<ProjectVersion<Skein.ProcessServices>["layer"]>
) =>
  Effect.map(Effect.forEach(others, () => Deferred.make<void>()), (gates) => {
    const from = (at: number): ProjectVersion<Skein.ProcessServices> => ({
      layer: at === 0 ? first : others[at - 1]!,
      next: gates[at] === undefined ? Effect.never : Effect.as(Deferred.await(gates[at]), from(at + 1))
    })
    let at = 0
    return {
      version: from(0),
      change: Effect.zipRight(Effect.suspend(() => Deferred.succeed(gates[at++]!, undefined)), TestClock.adjust(1))
    }
  })

const unavailable = (directory: string, message: string) => new ProjectUnavailable({ directory, message })

const offered = (request: ModelRequest | undefined) => request?.tools.map(({ name }) => name) ?? []

const main = (permission: PermissionConfig = { ping: "allow" }) => agent("main", { mode: "primary", permission })

const answered = (name: string) => tool("ping", () => Effect.succeed(`pong of ${name}`))

/** A tool that waits in the middle of its call until it is let go. */
const held = (name: string) =>
  Effect.gen(function*() {
    const begun = yield* Deferred.make<void>()
    const go = yield* Deferred.make<void>()
    const ping = tool("ping", () =>
      Effect.as(Effect.zipRight(Deferred.succeed(begun, undefined), Deferred.await(go)), `pong of ${name}`))
    return { begun: Deferred.await(begun), go: Deferred.succeed(go, undefined), ping }
  })

describe("sessions of two projects in one process", () => {
  it.effect("work at the same time, each with the agents, tools, hooks, rules and commands of its own", () =>
    Effect.gen(function*() {
      const scripts = {
        a: Scripted.make({
          main: [Scripted.call("ping", {}), Scripted.tasks({ helper: "Help" }), "a is done"],
          helper: ["helped"]
        }),
        b: Scripted.make({ main: [Scripted.call("ping", {}), "b is done"] })
      }
      const a = yield* held("a")
      const b = yield* held("b")
      const projects = (directory: string) =>
        Effect.succeed(still(
          directory === "/a"
            ? version(scripts.a, {
              agents: [main({ ping: "allow", task: "allow" }), agent("helper")],
              tools: [a.ping, tool("only_a", () => Effect.succeed(""))],
              hooked: "hook of a"
            })
            : version(scripts.b, {
              agents: [main(), agent("other")],
              tools: [b.ping],
              rules: { task: "deny" },
              hooked: "hook of b"
            })
        ))
      yield* Effect.gen(function*() {
        const first = yield* Session.create({ directory: "/a", agent: "main" })
        const second = yield* Session.create({ directory: "/b", agent: "main" })
        const both = yield* Effect.fork(Effect.all(
          [Session.prompt(first.id, "go"), Session.prompt(second.id, "go")],
          { concurrency: "unbounded" }
        ))
        yield* Effect.all([a.begun, b.begun])
        yield* Effect.all([a.go, b.go])
        const turns = yield* Fiber.join(both)
        expect(turns.map(({ text }) => text)).toEqual(["a is done", "b is done"])
        expect((yield* results(first.id))[0]).toBe("hook of a: pong of a")
        expect(yield* results(second.id)).toEqual(["hook of b: pong of b"])
        const wrong = yield* Effect.flip(Session.create({ directory: "/b", agent: "helper" }))
        expect(wrong.message).toContain("There is no agent \"helper\"")
        const commands = yield* Command
        expect((yield* commands.get("/b", "where")).template).toBe("This is /b")
      }).pipe(Effect.provide(Skein.layerMany({ projects })))
      const turnsOf = ({ requests }: Scripted.Scripted) => requests.filter(({ origin }) => origin.purpose === "turn")
      const [ofA] = turnsOf(scripts.a)
      const [ofB] = turnsOf(scripts.b)
      expect(offered(ofA)).toEqual(expect.arrayContaining(["ping", "only_a", "task"]))
      expect(offered(ofB)).toContain("ping")
      expect(offered(ofB)).not.toContain("only_a")
      expect(offered(ofB)).not.toContain("task")
      expect(ofA?.tools.find(({ name }) => name === "task")?.description).toContain("- helper:")
      expect(turnsOf(scripts.a).some(({ origin }) => origin.path.join() === "main,helper")).toBe(true)
      expect(turnsOf(scripts.b).every(({ origin }) => origin.directory === "/b")).toBe(true)
    }))

  it.effect("may have different people to answer them, also in one project", () =>
    Effect.gen(function*() {
      const asking = tool("ping", () => Effect.succeed("pong"), {
        authorise: () => Effect.succeed([{ permission: "ping", patterns: ["*"], always: [], metadata: {} }])
      })
      const script = Scripted.make({
        main: (request) => request.messages.at(-1)?.role === "tool" ? "done" : Scripted.call("ping", {})
      })
      const given = { agents: [main({ ping: "ask" })], tools: [asking] }
      const end = yield* Effect.gen(function*() {
        const ids = yield* Effect.forEach(["person", "nobody", "auto"] as const, (asks) =>
          Effect.gen(function*() {
            const { id } = yield* Session.create({ directory: "/a", agent: "main" })
            yield* Answerer.set(id, asks)
            return id
          }))
        const all = yield* Effect.fork(
          Effect.forEach(ids, (id) => Session.prompt(id, "go"), { concurrency: "unbounded" })
        )
        const permission = yield* Permission
        yield* TestClock.adjust("1 second")
        const waiting = yield* permission.pending()
        expect(waiting.map(({ rootID }) => rootID)).toEqual([ids[0]])
        yield* permission.reply(waiting[0]!.id, "once")
        yield* Fiber.join(all)
        return yield* Effect.forEach(ids, results)
      }).pipe(
        Effect.scoped,
        Effect.provide(Skein.layerMany({ projects: () => Effect.succeed(still(version(script, given))) }))
      )
      expect(end).toEqual([["pong"], [expect.stringContaining("nobody can be asked here")], ["pong"]])
    }))
})

it.effect("agents of two projects work at once as many as the config of each says", () =>
  Effect.gen(function*() {
    const most = { "/a": 0, "/b": 0 }
    const project = (directory: "/a" | "/b", concurrency: number) => {
      let now = 0
      const ping = tool("ping", () =>
        Effect.acquireUseRelease(
          Effect.sync(() => {
            most[directory] = Math.max(most[directory], ++now)
          }),
          () => Effect.as(Effect.sleep("1 second"), "pong"),
          () => Effect.sync(() => now--)
        ))
      const script = Scripted.make({
        main: [Scripted.tasks(...Array.from({ length: 4 }, () => ({ worker: "Work" }))), "done"],
        worker: (request) => request.messages.at(-1)?.role === "tool" ? "done" : Scripted.call("ping", {})
      })
      return version(script, {
        agents: [main({ task: "allow" }), agent("worker", { permission: { ping: "allow" } })],
        tools: [ping],
        config: { limits: { concurrency } }
      })
    }
    yield* Effect.gen(function*() {
      const ids = yield* Effect.forEach(["/a", "/b"], (directory) => Session.create({ directory, agent: "main" }))
      const both = yield* Effect.fork(
        Effect.forEach(ids, ({ id }) => Session.prompt(id, "go"), { concurrency: "unbounded" })
      )
      yield* TestClock.adjust("1 minute")
      yield* Fiber.join(both)
    }).pipe(Effect.provide(Skein.layerMany({
      projects: (directory) => Effect.succeed(still(directory === "/a" ? project("/a", 1) : project("/b", 3)))
    })))
    expect(most).toEqual({ "/a": 1, "/b": 3 })
  }))

it.effect("a project sends no more requests at once than its own config says", () =>
  Effect.gen(function*() {
    let open = 0
    let most = 0
    const script = Scripted.make({
      main: [Scripted.tasks(...Array.from({ length: 4 }, () => ({ worker: "Work" }))), "done"],
      worker: () =>
        Effect.acquireUseRelease(
          Effect.sync(() => {
            most = Math.max(most, ++open)
          }),
          () => Effect.as(Effect.sleep("1 second"), "done"),
          () => Effect.sync(() => open--)
        )
    })
    const project = version(script, {
      agents: [main({ task: "allow" }), agent("worker")],
      config: { limits: { requests: 2 } }
    })
    yield* Effect.gen(function*() {
      const { id } = yield* Session.create({ directory: "/a", agent: "main" })
      const turn = yield* Effect.fork(Session.prompt(id, "go"))
      yield* TestClock.adjust("1 minute")
      yield* Fiber.join(turn)
    }).pipe(Effect.provide(Skein.layerMany({ projects: () => Effect.succeed(still(project)) })))
    expect(most).toBe(2)
  }))

describe("a project that changes", () => {
  it.effect("leaves a call that runs alone, and counts from the next turn on", () =>
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

  it.effect("narrows at once what a turn may do, and widens nothing of a task that runs", () =>
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

  it.effect("stays as it was where its next version cannot be built, and says so", () =>
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
        Layer.fail(unavailable("/a", "skein.json:1 is no JSON")),
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
        expect(logged.join()).toContain("skein.json:1 is no JSON")
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
})

describe("a project", () => {
  it.effect("that never opens keeps nobody from giving up, and leaves no session behind", () =>
    Effect.gen(function*() {
      const script = Scripted.make({ main: ["done"] })
      let opens = 0
      const layer = version(script, { agents: [main()] })
      const projects = () => Effect.suspend(() => opens++ === 0 ? Effect.never : Effect.succeed(still(layer)))
      yield* Effect.gen(function*() {
        const session = yield* Session
        const creating = () => Session.create({ directory: "/a", agent: "main" })
        const first = yield* Effect.fork(creating())
        const second = yield* Effect.fork(creating())
        yield* TestClock.adjust(1)
        const ending = yield* Effect.fork(Fiber.interrupt(first))
        yield* TestClock.adjust(1)
        expect(Option.map(yield* Fiber.poll(ending), Exit.isSuccess)).toEqual(Option.some(true))
        const { id } = yield* Fiber.join(second)
        expect((yield* session.list()).rows.map((row) => row.id)).toEqual([id])
      }).pipe(Effect.provide(Skein.layerMany({ projects })))
    }))

  it.effect("that cannot say when it changes stays as it was, and says so", () =>
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

  it.effect("is closed when no session has used it for a while, and opened again", () =>
    Effect.gen(function*() {
      const script = Scripted.make({ main: ["done"] })
      const told: Array<string> = []
      const projects = (directory: string) =>
        Effect.sync(() => {
          told.push(`open ${directory}`)
          return still(version(script, { agents: [main()] }, () => void told.push(`close ${directory}`)))
        })
      yield* Effect.gen(function*() {
        const a = yield* Session.create({ directory: "/a", agent: "main" })
        const b = yield* Session.create({ directory: "/b", agent: "main" })
        yield* Session.prompt(a.id, "go")
        yield* TestClock.adjust("50 seconds")
        yield* Session.prompt(b.id, "go")
        expect(told).toEqual(["open /a", "open /b"])
        yield* TestClock.adjust("30 seconds")
        expect(told).toEqual(["open /a", "open /b", "close /a"])
        yield* Session.prompt(a.id, "again")
        expect(told).toEqual(["open /a", "open /b", "close /a", "open /a"])
      }).pipe(Effect.provide(Skein.layerMany({ projects, idleTimeToLive: "1 minute" })))
      expect(told.filter((line) => line.startsWith("close"))).toHaveLength(3)
    }))

  it.effect("stays open as long as a turn works in it", () =>
    Effect.gen(function*() {
      const script = Scripted.make({ main: [{ ...Scripted.call("ping", {}), delay: { first: 600_000 } }, "done"] })
      let closed = 0
      const given = { agents: [main()], tools: [answered("a")], config: { deadlines: { first_event: 3_600_000 } } }
      yield* Effect.gen(function*() {
        const { id } = yield* Session.create({ directory: "/a", agent: "main" })
        const turn = yield* Effect.fork(Session.prompt(id, "go"))
        yield* TestClock.adjust("9 minutes")
        expect(closed).toBe(0)
        yield* TestClock.adjust("2 minutes")
        yield* Fiber.join(turn)
        expect(yield* results(id)).toEqual(["pong of a"])
      }).pipe(Effect.provide(Skein.layerMany({
        projects: () => Effect.succeed(still(version(script, given, () => void closed++))),
        idleTimeToLive: "1 minute"
      })))
    }))

  it.effect("that cannot be opened refuses prompts, is looked at again, and keeps nobody from what needs none", () =>
    Effect.gen(function*() {
      const script = Scripted.make({ main: ["done"] })
      let broken = false
      const projects = (directory: string) =>
        Effect.suspend(() =>
          broken
            ? unavailable(directory, "skein.json:1 is no JSON")
            : Effect.succeed(still(version(script, { agents: [main()] })))
        )
      yield* Effect.gen(function*() {
        const { id } = yield* Session.create({ directory: "/a", agent: "main" })
        const session = yield* Session
        yield* TestClock.adjust("10 minutes")
        broken = true
        const refused = yield* Effect.flip(Session.prompt(id, "go"))
        expect(refused).toMatchObject({
          _tag: "ProjectUnavailable",
          directory: "/a",
          message: "skein.json:1 is no JSON"
        })
        yield* session.rename(id, "Renamed")
        expect((yield* session.get(id)).title).toBe("Renamed")
        broken = false
        expect((yield* Session.prompt(id, "go")).text).toBe("done")
      }).pipe(Effect.provide(Skein.layerMany({ projects })))
    }))
})
