/** The uses of `examples/uses.ts`, each run against scripted models. */
import { describe, expect, it } from "@effect/vitest"
import { Session } from "@skein/core/Session"
import * as Skein from "@skein/core/Skein"
import * as Task from "@skein/core/Task"
import type { SessionID } from "@skein/domain/Id"
import * as Sqlite from "@skein/storage/Sqlite"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { vi } from "vitest"
import * as uses from "./examples/uses.ts"
import { atEnd } from "./support/atEnd.ts"

const scripted = (scripts: Parameters<typeof Scripted.make>[0]) => Skein.layer({ provider: Scripted.layer(scripts) })
const made = Session.create({ directory: "/work" })

const orders = Layer.succeed(uses.Orders, {
  get: (id) => id === "7" ? Effect.succeed({ id, items: 3 }) : new uses.OrderMissing({ message: `No order ${id}.` })
})
const withOrders = (scripts: Parameters<typeof Scripted.make>[0], tools = uses.tools) =>
  Skein.layer({ provider: Scripted.layer(scripts), tools }).pipe(Layer.provide(orders))
const resultsOf = (turn: { readonly sessionID: Parameters<typeof uses.since>[0] }) =>
  Effect.flatMap(
    Session,
    (session) =>
      Effect.map(session.messages(turn.sessionID), (messages) =>
        messages.flatMap(({ parts }) => parts.flatMap((part) => part.type === "tool" ? [part.state] : [])))
  )

describe("the uses of the library", () => {
  it.effect("1: asks, and catches an outcome by its tag", () =>
    Effect.gen(function*() {
      expect(yield* uses.entry).toBe("bin.ts")
      const error = yield* Effect.flip(Task.ask("general", "Where?"))
      expect(error).toMatchObject({ _tag: "TaskFailed", cause: { tag: "auth" } })
    }).pipe(Effect.provide(scripted({ explore: ["bin.ts"], general: [Scripted.fault("auth")] }))))

  it.effect("2: asks for a value", () => {
    const answer = { file: "bin.ts", problems: [] }
    return Effect.gen(function*() {
      expect(yield* uses.review).toEqual(answer)
    }).pipe(Effect.provide(scripted({ explore: [Scripted.call("final_answer", { answer })] })))
  })

  it.effect("3: tells a turn while it happens, and the log from any place on, without a gap", () =>
    Effect.gen(function*() {
      const { id } = yield* made
      expect(yield* uses.told(id)).toBe("hello")
      const all = yield* Stream.runCollect(Stream.takeUntil(uses.since(id, 0), ({ type }) => type === "session.idle"))
      const numbers = Chunk.toReadonlyArray(all).flatMap(({ seq }) => seq === undefined ? [] : [seq])
      expect(numbers).toEqual(numbers.map((_, at) => at + 1))
      const later = yield* Effect.fork(Stream.runCollect(Stream.take(uses.since(id, numbers.length - 2), 6)))
      yield* Effect.yieldNow()
      yield* Session.prompt(id, "again")
      const seen = Chunk.toReadonlyArray(yield* Fiber.join(later)).flatMap(({ seq }) => seq === undefined ? [] : [seq])
      expect(seen).toEqual(seen.map((_, at) => numbers.length - 1 + at))
    }).pipe(Effect.provide(scripted({ build: ["hello", "hello again"] }))))

  it.effect("3: stops the turn of a reader who leaves", () => {
    const script = Scripted.make({ build: [{ text: "never", delay: { first: 60_000 } }] })
    return Effect.gen(function*() {
      const session = yield* Session
      const { id } = yield* made
      yield* Stream.runDrain(Stream.take(Session.stream(id, "hi"), 1))
      yield* session.untilIdle(id).pipe(Effect.either)
      expect(script.open.now).toBe(0)
    }).pipe(Effect.provide(Skein.layer({ provider: script.layer })))
  })

  it.effect("4: runs tools with services, and tells typed failures", () =>
    Effect.gen(function*() {
      const { id } = yield* made
      const results = yield* resultsOf(yield* Session.prompt(id, "hi"))
      expect(results).toMatchObject([
        { status: "completed", output: "{\"id\":\"7\",\"items\":3}" },
        { status: "error", error: { tag: "OrderMissing", message: "No order 8." } },
        { status: "error", error: { tag: "invalid_arguments" } }
      ])
    }).pipe(
      Effect.provide(withOrders({ build: [Scripted.call("order", { id: "7" }, { id: "8" }, { id: 9 }), "done"] }))
    ))

  it.effect("5: lets a policy answer what rules leave open", () => {
    return Effect.gen(function*() {
      const { id } = yield* made
      const results = yield* resultsOf(yield* Session.prompt(id, "hi"))
      expect(results).toMatchObject([
        { status: "completed", output: "open a" },
        { status: "error", error: { message: expect.stringContaining("The policy forbids it.") } }
      ])
    }).pipe(Effect.provide(
      Skein.layer({
        provider: Scripted.layer({ build: [Scripted.call("open", { what: "a" }, { what: "b" }), "done"] }),
        tools: uses.opening,
        permission: uses.permission
      }).pipe(Layer.provide(Layer.succeed(uses.Policy, { allows: (pattern) => pattern === "a" })))
    ))
  })

  it.effect("6: keeps tenants apart", () =>
    Effect.gen(function*() {
      const directory = mkdtempSync(join(tmpdir(), "skein-tenants-"))
      atEnd(() => rmSync(directory, { recursive: true, force: true }))
      const tenants = yield* uses.tenants(Scripted.layer({ build: ["hello"] }))
      const ask = Effect.gen(function*() {
        const session = yield* Session
        const { id } = yield* session.create({ directory: "/work" })
        yield* session.prompt(id, "hi")
        return (yield* session.list()).rows.length
      })
      for (const tenant of ["a", "b"]) {
        expect(yield* Effect.provide(ask, tenants.get(join(directory, tenant)))).toBe(1)
      }
    }).pipe(Effect.scoped))

  it.live("7: offers the tools of an MCP server", () => {
    const command = [process.execPath, join(import.meta.dirname, "..", "packages/mcp/test/support/server.mjs")] as const
    const script = Scripted.make({ build: ["hello"] })
    return Effect.gen(function*() {
      const { id } = yield* made
      yield* Session.prompt(id, "hi")
      expect(script.requests[0]?.tools.map(({ name }) => name)).toContain("mcp_calc_echo")
    }).pipe(Effect.provide(uses.calculating(script.layer, command)))
  })

  it("8: works without Effect, and is aborted", async () => {
    const skein = await Skein.promise({
      provider: Scripted.layer({ build: ["hello", { text: "late", delay: { first: 60_000 } }] })
    })
    const { id } = await skein.create({ directory: "/work" })
    const seen: Array<string> = []
    for await (const event of skein.stream(id, "hi")) {
      seen.push(event.type === "turn.ended" ? event.turn.text : event.type)
    }
    expect(seen.at(-1)).toBe("hello")
    const leaving = new AbortController()
    const late = skein.prompt(id, "hi", { signal: leaving.signal })
    leaving.abort()
    await expect(late).rejects.toThrow()
    await skein.close()
  })

  it("leaves what is at work when it closes, for the next program to continue", async () => {
    const directory = mkdtempSync(join(tmpdir(), "skein-left-"))
    atEnd(() => rmSync(directory, { recursive: true, force: true }))
    const storage = () => Sqlite.layer({ filename: join(directory, "sessions.db") })
    const first = Scripted.make({ build: [{ text: "never", delay: { first: 600_000 } }] })
    const begun = await Skein.promise({ provider: first.layer, storage: storage() })
    const { id } = await begun.create({ directory: "/work" })
    const left = expect(begun.prompt(id, "hi")).rejects.toThrow()
    await vi.waitUntil(() => first.open.now === 1)
    await begun.close()
    await left
    const next = await Skein.promise({ provider: Scripted.layer({ build: ["continued"] }), storage: storage() })
    expect(await next.run(Session.resumeAll)).toEqual([id])
    expect(await next.run(Effect.flatMap(Session, (session) => session.untilIdle(id)))).toMatchObject({
      text: "continued"
    })
    await next.close()
  })

  it("rejects with the error itself: at the start, in a loop, and after the end", async () => {
    class Away extends Schema.TaggedError<Away>()("Away", {}) {}
    await expect(Skein.promise({ provider: Scripted.layer({}), bus: Layer.fail(new Away()) })).rejects.toBeInstanceOf(
      Away
    )
    const skein = await Skein.promise({ provider: Scripted.layer({}) })
    const drain = async (events: AsyncIterable<unknown>) => {
      for await (const _ of events);
    }
    await expect(drain(skein.stream("ses_unknown" as SessionID, "hi"))).rejects.toMatchObject({
      _tag: "SessionNotFound"
    })
    const { id } = await skein.create({ directory: "/work" })
    await skein.close()
    await skein.close()
    await expect(skein.prompt(id, "hi")).rejects.toThrow("These sessions were closed.")
    await expect(drain(skein.events(id))).rejects.toThrow("These sessions were closed.")
  })

  it.effect("refuses an answer that breaks the contract of a tool", () => {
    const broken = Layer.succeed(uses.Orders, { get: (id) => Effect.succeed({ id, items: "three" } as never) })
    return Effect.gen(function*() {
      const { id } = yield* made
      const [result] = yield* resultsOf(yield* Session.prompt(id, "hi"))
      expect(result).toMatchObject({ status: "error", error: { tag: "invalid_result" } })
    }).pipe(Effect.provide(
      Skein.layer({
        provider: Scripted.layer({ build: [Scripted.call("order", { id: "7" }), "done"] }),
        tools: uses.tools
      }).pipe(Layer.provide(broken))
    ))
  })

  it.effect("replaces a service by one that adds to it, and fails as an option does", () => {
    const prompts: Array<unknown> = []
    const noted = Layer.effect(
      Session,
      Effect.map(Session, (session) => ({
        ...session,
        prompt: (...args: Parameters<typeof session.prompt>) => {
          prompts.push(args[1])
          return session.prompt(...args)
        }
      }))
    )
    return Effect.gen(function*() {
      const { id } = yield* made
      expect((yield* Session.prompt(id, "hi")).text).toBe("hello")
      expect(prompts).toEqual(["hi"])
      class Away extends Schema.TaggedError<Away>()("Away", {}) {}
      const failing = Skein.layer({ provider: Scripted.layer({}), bus: Layer.fail(new Away()) })
      expect(yield* Effect.flip(Effect.scoped(Layer.build(failing)))).toBeInstanceOf(Away)
    }).pipe(Effect.provide(Skein.layer({ provider: Scripted.layer({ build: ["hello"] }), session: noted })))
  })
})
