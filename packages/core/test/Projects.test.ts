/** One process with several projects: what each has, and how long it stays open. */
import { describe, expect, it } from "@effect/vitest"
import { Answerer } from "@skein/core/Answerer"
import { Command } from "@skein/core/Command"
import { Permission } from "@skein/core/Permission"
import type { ModelRequest } from "@skein/core/Provider"
import { Session } from "@skein/core/Session"
import { SessionStorage } from "@skein/core/SessionStorage"
import * as Skein from "@skein/core/Skein"
import * as Scripted from "@skein/testing/ScriptedProvider"
import { agent, tool } from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as TestClock from "effect/TestClock"
import { results } from "./support/asking.ts"
import { answered, held, main, still, unavailable, version } from "./support/projects.ts"

const offered = (request: ModelRequest | undefined) => request?.tools.map(({ name }) => name) ?? []

describe("sessions of two projects in one process", () => {
  it.effect("run in parallel, each with the agents, tools, hooks, rules and commands of its project", () =>
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

  it.effect("may have different people to answer them, even in one project", () =>
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
      expect(end).toEqual([["pong"], [expect.stringContaining("Skein cannot ask anyone here")], ["pong"]])
    }))
})

it.effect("the agents of each project run in parallel up to the limit of its config", () =>
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

it.effect("a project sends parallel requests up to the limit of its config", () =>
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

describe("a project", () => {
  it.effect("that never opens does not block an interruption, and leaves no session behind", () =>
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

  it.effect("is closed once no session has used it for a while, and opened again on use", () =>
    Effect.gen(function*() {
      const script = Scripted.make({ main: ["done"] })
      const log: Array<string> = []
      const projects = (directory: string) =>
        Effect.sync(() => {
          log.push(`open ${directory}`)
          return still(version(script, { agents: [main()] }, () => void log.push(`close ${directory}`)))
        })
      yield* Effect.gen(function*() {
        const a = yield* Session.create({ directory: "/a", agent: "main" })
        const b = yield* Session.create({ directory: "/b", agent: "main" })
        yield* Session.prompt(a.id, "go")
        yield* TestClock.adjust("50 seconds")
        yield* Session.prompt(b.id, "go")
        expect(log).toEqual(["open /a", "open /b"])
        yield* TestClock.adjust("30 seconds")
        expect(log).toEqual(["open /a", "open /b", "close /a"])
        yield* Session.prompt(a.id, "again")
        expect(log).toEqual(["open /a", "open /b", "close /a", "open /a"])
      }).pipe(Effect.provide(Skein.layerMany({ projects, idleTimeToLive: "1 minute" })))
      expect(log.filter((line) => line.startsWith("close"))).toHaveLength(3)
    }))

  it.effect("stays open while a turn works in it", () =>
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

  it.effect("that cannot be opened refuses prompts, is tried again later, and does not affect operations without a project", () =>
    Effect.gen(function*() {
      const script = Scripted.make({ main: ["done"] })
      let broken = false
      const projects = (directory: string) =>
        Effect.suspend(() =>
          broken
            ? unavailable(directory, "skein.json:1 is not JSON")
            : Effect.succeed(still(version(script, { agents: [main()] })))
        )
      yield* Effect.gen(function*() {
        const { id } = yield* Session.create({ directory: "/a", agent: "main" })
        const session = yield* Session
        yield* TestClock.adjust("10 minutes")
        broken = true
        const refused = yield* Effect.flip(Session.prompt(id, "go"))
        expect(refused).toMatchObject({
          directory: "/a",
          message: "skein.json:1 is not JSON"
        })
        yield* session.rename(id, "Renamed")
        expect((yield* session.get(id)).title).toBe("Renamed")
        broken = false
        expect((yield* Session.prompt(id, "go")).text).toBe("done")
      }).pipe(Effect.provide(Skein.layerMany({ projects })))
    }))

  it.effect("that cannot be opened keeps nothing from being stopped, with what it said", () =>
    Effect.gen(function*() {
      const storage = Layer.succeedContext(yield* Layer.build(SessionStorage.layerMemory))
      const script = Scripted.make({
        main: [Scripted.tasks({ helper: "a" })],
        helper: [{ text: "so far", hangs: true }]
      })
      const agents = [main({ task: "allow" }), agent("helper")]
      const projects = (isBroken: boolean) => (directory: string) =>
        Effect.suspend(() =>
          isBroken
            ? unavailable(directory, "skein.json:1 is not JSON")
            : Effect.succeed(still(version(script, { agents })))
        )
      const id = yield* Effect.gen(function*() {
        const session = yield* Session
        const made = yield* session.create({ directory: "/a", agent: "main" })
        yield* Effect.fork(session.prompt(made.id, "go"))
        yield* TestClock.adjust("1 second")
        yield* session.leave(made.id)
        return made.id
      }).pipe(
        Effect.provide(Skein.layerMany({ projects: projects(false), storage }))
      )
      yield* Effect.gen(function*() {
        yield* Effect.flatMap(Session, (session) => session.stop(id, "the user"))
        const { rows } = yield* (yield* SessionStorage).runs({ rootID: id })
        expect(rows.map(({ outcome }) => outcome)).toMatchObject([{
          status: "stopped",
          by: "the user",
          text: "so far"
        }])
        expect(yield* (yield* SessionStorage).unfinished).toEqual([])
      }).pipe(Effect.provide(Skein.layerMany({ projects: projects(true), storage })))
    }).pipe(Effect.scoped))
})
