/** Proves that an answer to a question is told once, whatever happens to the tree and whichever servers can be reached. */
import { describe, expect, it } from "@effect/vitest"
import { Leases } from "@skein/core/Leases"
import { Owner } from "@skein/core/Owner"
import { Permission } from "@skein/core/Permission"
import { Session } from "@skein/core/Session"
import { SessionStorage, type Write } from "@skein/core/SessionStorage"
import { PermissionID, type SessionID } from "@skein/domain/Id"
import * as Scripted from "@skein/testing/ScriptedProvider"
import { seeds } from "@skein/testing/Seeds"
import { simulate } from "@skein/testing/Simulation"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"
import { PCGRandom } from "effect/Utils"
import { askState, giveAnswer } from "../../src/internal/asks.ts"

type Storage = Context.Tag.Service<SessionStorage>

/** What happens to the first server: at one of its commits, or some time after it has the question. */
type Blow = "freezes" | "dies" | "leaves"

/** How long a call takes, and each commit (ms). */
interface Durations {
  readonly call: number
  readonly commit: number
}

/** A server: it works while its gate is open. */
const startServer = (
  inner: Storage,
  name: string,
  effects: Array<string>,
  lasts: Durations,
  onCommit: (count: number) => void
) =>
  Effect.gen(function*() {
    const gate = yield* Effect.makeLatch(true)
    let commits = 0
    const gated = Object.fromEntries(
      Object.entries(inner).map(([key, member]) => [
        key,
        typeof member === "function"
          ? (...given: ReadonlyArray<never>) =>
            gate.whenOpen((member as unknown as (...all: ReadonlyArray<never>) => Effect.Effect<unknown>)(...given))
          : member
      ])
    ) as unknown as Storage
    const effect = Effect.zipRight(
      Effect.sleep(lasts.call),
      Effect.sync(() => `done by ${effects[effects.push(name) - 1]}`)
    )
    const act = SkeinTest.tool("act", () => effect, {
      effect: "never",
      authorise: () => Effect.succeed([{ permission: "edit", patterns: ["a"], always: [], metadata: {} }])
    })
    const script = Scripted.make({
      build: ({ messages }) => messages.some(({ role }) => role === "tool") ? "All is done." : Scripted.call("act", {})
    })
    const context = yield* Layer.build(Layer.fresh(SkeinTest.layer(script, {
      asks: "person",
      tools: [act],
      owner: Layer.succeed(Owner, {
        id: name,
        isGone: () => Effect.succeed(false),
        evict: () => Effect.succeed(true)
      }),
      storage: Layer.succeed(SessionStorage, {
        ...gated,
        mail: Effect.succeed(undefined),
        commit: (writes: ReadonlyArray<Write>) =>
          gate.whenOpen(Effect.suspend(() => {
            onCommit(++commits)
            return gate.whenOpen(Effect.delay(inner.commit(writes), lasts.commit))
          }))
      })
    })))
    const session = Context.get(context, Session)
    const leases = Context.get(context, Leases)
    const permission = Context.get(context, Permission)
    const look = Effect.gen(function*() {
      for (const id of yield* leases.due(yield* inner.unfinished)) {
        yield* Effect.forkScoped(Effect.ignore(session.resume(id)))
      }
    })
    return {
      gate,
      session,
      script,
      /** Takes up what nobody holds, for ever. */
      sweep: Effect.forever(Effect.zipRight(gate.whenOpen(Effect.ignore(look)), Effect.sleep("500 millis"))),
      /** What it says to an answer, as its API does. */
      reply: (id: PermissionID, reply: "once" | "reject") =>
        gate.whenOpen(permission.reply(id, reply, { message: "Said so" })).pipe(
          Effect.as({ status: 204 }),
          Effect.catchAll((error) =>
            Effect.succeed({ status: error._tag === "PermissionNotFound" ? 404 : error.reason === "held" ? 409 : 503 })
          ),
          // Who asks gives up waiting; what it asked for may still happen.
          Effect.disconnect,
          Effect.timeoutOption("3 seconds"),
          Effect.map((said) => said._tag === "Some" ? said.value : undefined)
        )
    }
  })

/** Three servers, a question, a blow to its server, and one or two clients who answer it at any of the servers. */
const world = (seed: number) =>
  Effect.gen(function*() {
    const random = new PCGRandom(seed)
    const upTo = (most: number) => Math.floor(random.number() * most)
    const blow = (["freezes", "dies", "leaves"] as const satisfies ReadonlyArray<Blow>)[seed % 3] ?? "dies"
    const inner = Context.get(yield* Layer.build(SessionStorage.layerMemory), SessionStorage)
    const effects: Array<string> = []
    /** At which commit of the first server it happens; beyond all of them, it happens after a time. */
    const at = 4 + upTo(10)
    const after = upTo(3_000)
    const lasts = { call: upTo(2) * upTo(600), commit: upTo(2) * upTo(20) }
    const leaves = Effect.unsafeMakeLatch()
    const servers = yield* Effect.forEach(["first", "second", "third"], (name) =>
      startServer(inner, name, effects, lasts, (count) => {
        if (name !== "first" || count !== at) {
          return
        }
        if (blow === "leaves") {
          leaves.unsafeOpen()
        } else strike()
      }))
    // A dead server must not keep the test from ending.
    yield* Effect.addFinalizer(() =>
      Effect.forEach(servers, ({ gate }) =>
        gate.open)
    )
    const [first] = servers
    if (first === undefined) {
      return yield* Effect.dieMessage("No server")
    }
    let isOver = false
    const strike = () => isOver || first.gate.unsafeClose()
    const { id } = yield* first.session.create({ directory: "/work", agent: "build", title: "Test" })
    yield* Effect.forkScoped(Effect.exit(first.session.prompt(id, "Go")))
    for (const { sweep } of servers) {
      yield* Effect.forkScoped(sweep)
    }
    const logged = Effect.map(
      inner.events({ after: 0, rootID: id, types: ["permission.asked", "permission.replied"] }),
      (all) => all.map(({ event }) => event)
    )
    const question = Effect.map(
      logged,
      ([event]) => event?.type === "permission.asked" ? event.properties.id : undefined
    )
    /** Knows each server, or does not reach it just then. */
    const giveTo = (asked: PermissionID, reply: "once" | "reject") => (target: string) =>
      Effect.suspend(() =>
        random.number() < 0.3 ? Effect.succeed(undefined) : servers[Number(target)]!.reply(asked, reply)
      )
    const client = (reply: "once" | "reject", delay: number) =>
      Effect.gen(function*() {
        let asked = yield* question
        for (; asked === undefined; asked = yield* question) yield* Effect.sleep("100 millis")
        yield* Effect.sleep(delay)
        const given = yield* giveAnswer({
          everywhere: Effect.succeed(["0", "1", "2"] as const),
          giveTo: giveTo(asked, reply),
          state: Effect.provideService(askState(asked, JSON.stringify({ answer: reply })), SessionStorage, inner)
        })
        return { reply, given: typeof given === "string" ? given : given.said.status }
      })
    const clients = [yield* Effect.fork(client("once", upTo(4_000)))]
    if (upTo(2) === 0) clients.push(yield* Effect.fork(client("reject", upTo(4_000))))
    yield* Effect.forkScoped(Effect.gen(function*() {
      yield* Effect.raceFirst(Effect.sleep(after), leaves.await)
      if (blow === "leaves") return yield* Effect.ignore(first.session.leave(id))
      strike()
      if (blow === "dies") return
      yield* Effect.sleep(4_000 + upTo(8_000))
      yield* first.gate.open
    }))
    // The first to run: a dead server must not keep the test from ending.
    yield* Effect.addFinalizer(() =>
      Effect.suspend(() => {
        isOver = true
        return first.gate.open
      })
    )
    return { blow, clients, effects, id, inner, logged, servers }
  })

const answersOf = (
  servers: Effect.Effect.Success<ReturnType<typeof world>>["servers"],
  id: SessionID,
  inner: Storage
) =>
  Effect.map(inner.messages(id), ({ rows }) => ({
    calls: rows.flatMap(({ parts }) => parts.flatMap((part) => part.type === "tool" ? [part.state] : [])),
    said: rows.flatMap(({ parts }) => parts.flatMap((part) => part.type === "text" ? [part.text] : [])),
    /** How many results the model reads in any request. */
    read: Math.max(...servers.map(({ script }) =>
      Math.max(0, ...script.requests.map(({ messages }) => messages.filter(({ role }) => role === "tool").length))
    ))
  }))

describe("an answer to a question that nobody knows", () => {
  it.effect("is refused as unknown, whatever servers say of themselves that are about to stop", () =>
    Effect.gen(function*() {
      const statuses: Readonly<Record<string, number>> = { own: 404, stopping: 503, stranger: 401 }
      const given = yield* giveAnswer({
        everywhere: Effect.succeed(["own", "stopping", "stranger"] as const),
        giveTo: (target) => Effect.delay(Effect.succeed({ status: statuses[target] ?? 500 }), target.length),
        state: Effect.succeed(undefined)
      }).pipe(Effect.fork, Effect.tap(() => TestClock.adjust("1 second")), Effect.flatMap(Fiber.join))
      expect(given).toEqual({ said: { status: 404 } })
    }))
})

describe("an answer that is not taken by who says so", () => {
  it.effect("goes to the server that asks the question", () =>
    Effect.gen(function*() {
      let isOpen = true
      const asked: Array<string> = []
      const given = yield* giveAnswer({
        everywhere: Effect.succeed(["own", "stranger", "asking"] as const),
        giveTo: (target) => {
          asked.push(target)
          if (target === "stranger") return Effect.succeed({ status: 204, by: target })
          if (target === "own") return Effect.succeed({ status: 404, by: target })
          const take = Effect.sync(() => {
            isOpen = false
            return { status: 204, by: target }
          })
          return Effect.delay(take, "100 millis")
        },
        state: Effect.sync(() => isOpen ? "open" : "answered")
      }).pipe(Effect.fork, Effect.tap(() => TestClock.adjust("1 second")), Effect.flatMap(Fiber.join))
      expect(given).toEqual({ said: { status: 204, by: "asking" } })
      expect(asked.filter((target) => target === "stranger")).toHaveLength(1)
    }))
})

describe("an answer to a question whose tree moves", () => {
  it.each(seeds(1, 150))("is told once (seed %i)", (seed) => {
    simulate(
      Effect.scoped(Effect.gen(function*() {
        const { blow, clients, effects, id, inner, logged, servers } = yield* world(seed)
        const isDone = Effect.gen(function*() {
          const { said } = yield* answersOf(servers, id, inner)
          for (const client of clients) if ((yield* Fiber.poll(client))._tag === "None") return false
          return said.includes("All is done.")
        })
        for (let step = 0; step < 600 && !(yield* isDone); step++) yield* Effect.sleep("100 millis")
        const given = yield* Effect.forEach(clients, Fiber.join)
        const { calls, read, said } = yield* answersOf(servers, id, inner)
        expect(said.filter((text) => text === "All is done.")).toHaveLength(1)
        const [replied, ...others] = (yield* logged).filter(({ type }) => type === "permission.replied")
        expect(others).toEqual([])
        const stored = replied?.type === "permission.replied" ? replied.properties.reply : undefined
        // Each client learns that its answer is stored, or that another one came first.
        for (const each of given) if (each.given === 204 || each.given === "stored") expect(each.reply).toBe(stored)
        expect(given.some(({ given: how, reply }) => reply === stored && (how === 204 || how === "stored"))).toBe(true)
        // The model reads one result, and the call has run at most once, and never against the answer.
        expect([calls.length, read]).toEqual([1, 1])
        expect(effects.length).toBeLessThanOrEqual(stored === "once" ? 1 : 0)
        if (stored === "once" && calls[0]?.status === "completed") expect(effects).toHaveLength(1)
        // A server that leaves in good order makes the call, or leaves it to the next one.
        if (stored === "once" && blow === "leaves") expect([calls[0]?.status, effects.length]).toEqual(["completed", 1])
      })),
      { seed }
    )
  })
})
