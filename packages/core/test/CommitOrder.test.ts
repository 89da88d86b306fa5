import { describe, expect, it } from "@effect/vitest"
import { Bus } from "@skein/core/Bus"
import { type LanguageModel, Provider } from "@skein/core/Provider"
import { Session } from "@skein/core/Session"
import type { Write } from "@skein/core/SessionStorage"
import type { SessionID } from "@skein/domain/Id"
import * as Scripted from "@skein/testing/ScriptedProvider"
import { simulate } from "@skein/testing/Simulation"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import { type Entry, makeRecordedStorage } from "./support/storage.ts"
import { root } from "./support/tree.ts"

/** A turn with several steps, calls and a task, on slow storage. */
const recorded = (seed: number) => {
  const storage = makeRecordedStorage({ latency: 7 })
  const { log } = storage
  const act = SkeinTest.tool("act", ({ ms }, { partID }) => {
    log.push({ type: "effect", partID })
    return Effect.as(Effect.sleep(Number(ms)), "acted")
  }, { effect: "never" })
  const script = Scripted.make({
    build: [
      {
        text: "First",
        calls: [3, 1, 2].map((ms) => ({ tool: "act", input: { ms } })),
        delay: { between: 300 },
        pieces: 2
      },
      Scripted.tasks({ worker: "p" }),
      { text: "the end", delay: { between: 450 }, pieces: 3 }
    ],
    worker: [Scripted.call("act", { ms: 5 }), "done"]
  })
  const program = Effect.gen(function*() {
    const bus = yield* Bus
    const { id } = yield* root()
    log.length = 0
    yield* bus.listen({ all: true }, (event) => log.push({ type: "published", event }))
    yield* Session.prompt(id, "Go")
    return id
  })
  const layer = SkeinTest.layer(script, { agents: [SkeinTest.agent("worker")], tools: [act], storage: storage.layer })
  const id = simulate(program.pipe(Effect.scoped, Effect.provide(layer)), { seed })
  return { id, log, script }
}

const storedBefore = (log: ReadonlyArray<Entry>, at: number): ReadonlyArray<Write> =>
  log.slice(0, at).flatMap((entry) => entry.type === "stored" ? entry.writes : [])

const same = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b)

describe("the log of a turn", () => {
  const { id, log } = recorded(1)
  const effects = log.flatMap((entry, at) => entry.type === "effect" ? [{ partID: entry.partID, at }] : [])

  it("has enough entries to check", () => {
    expect(effects).toHaveLength(4)
    expect(log.length).toBeGreaterThan(80)
  })

  it("begins with the prompt in the inbox, before any event about it is published", () => {
    const first = log.findIndex((entry) => entry.type === "published")
    const [row] = storedBefore(log, first).filter(({ _tag }) => _tag !== "Fence")
    expect(row).toMatchObject({ _tag: "Inbox", row: { sessionID: id, kind: "prompt" } })
  })

  it("stores an answer with all its calls in one commit, before the first of them begins", () => {
    for (const { at, partID } of effects) {
      const commit = log.slice(0, at).find((entry) =>
        entry.type === "stored"
        && entry.writes.some((write) =>
          write._tag === "Part" && write.part.id === partID && write.part.type === "tool"
          && write.part.state.status === "pending"
        )
      )
      const writes = commit?.type === "stored" ? commit.writes : []
      const message = writes.flatMap((write) => write._tag === "Message" ? [write.info] : []).at(-1)
      expect(message).toMatchObject({
        role: "assistant",
        finish: "tool-calls",
        time: { completed: expect.any(Number) }
      })
      const parts = writes.flatMap((write) => write._tag === "Part" && write.part.type === "tool" ? [write.part] : [])
      expect(parts.every((part) => part.messageID === message?.id)).toBe(true)
      if (message?.sessionID === id) expect(new Set(parts.map((part) => part.id)).size).toBe(3)
    }
  })

  it("stores that a call runs, and what recovery may do, before it runs", () => {
    for (const { at, partID } of effects) {
      const rows = storedBefore(log, at).flatMap((write) =>
        write._tag === "Part" && write.part.id === partID && write.part.type === "tool" ? [write.part] : []
      )
      expect(rows.at(-1)).toMatchObject({
        state: { status: "running", input: { ms: expect.any(Number) } },
        intent: { effect: "never", hash: expect.stringMatching(/^act:/), attempt: 1, epoch: 1 }
      })
    }
  })

  it("stores a step with a call in two commits: the request with the last result, and the answer with the calls that start", () => {
    const storage = makeRecordedStorage()
    const act = SkeinTest.tool("act", () => Effect.succeed("acted"))
    const script = Scripted.make({ build: [Scripted.call("act", {}), "done"] })
    const program = Effect.gen(function*() {
      const { id: quick } = yield* root()
      storage.log.length = 0
      yield* Session.prompt(quick, "Go")
      return storage.log.flatMap((entry) => entry.type === "stored" ? [entry.writes] : []).map((writes) =>
        writes.flatMap((write) =>
          write._tag === "Part" ? [write.part.type === "tool" ? write.part.state.status : write.part.type] : []
        )
      ).filter((parts) => parts.length > 0)
    })
    const layer = SkeinTest.layer(script, { storage: storage.layer, tools: [act] })
    expect(simulate(Effect.provide(program, layer), { seed: 1, maxSlice: 100_000 })).toEqual([
      ["text"],
      ["step-start"],
      ["pending", "step-finish", "running"],
      ["completed", "step-start"],
      ["text", "step-finish"]
    ])
  })

  it("stores when a task was requested, when it got its slot, and when it ended", () => {
    const runs = log.flatMap((entry) => entry.type === "stored" ? entry.writes : []).flatMap((write) =>
      write._tag === "Run" ? [write.run] : []
    )
    expect(runs.map(({ state }) => state)).toEqual(["queued", "running", "settled"])
    expect(runs.map(({ time }) => Object.keys(time))).toEqual([
      ["created"],
      ["created", "started"],
      ["created", "started", "settled"]
    ])
  })

  it("publishes nothing that is not stored", () => {
    let looked = 0
    for (const [at, entry] of log.entries()) {
      if (entry.type !== "published") continue
      const { event } = entry
      const isRow = (write: Write): boolean => {
        switch (event.type) {
          case "session.created":
          case "session.updated":
            return write._tag === "Session" && same(write.info, event.properties.info)
          case "message.updated":
            return write._tag === "Message" && same(write.info, event.properties.info)
          case "message.part.updated":
            return write._tag === "Part" && same(write.part, event.properties.part)
          case "message.part.delta":
            return write._tag === "Message" && write.info.id === event.properties.messageID
          case "subagent.created":
            return write._tag === "Run" && write.run.id === event.properties.run_id
          case "subagent.completed":
            return write._tag === "Run" && same(write.run.outcome, event.properties.outcome)
          default:
            return true
        }
      }
      // Progress of a running call is only for watchers.
      const { type } = event
      const report = type === "message.part.updated" && event.properties.part.type === "tool"
        && event.properties.part.state.status === "running" && "metadata" in event.properties.part.state
      if (report) continue
      if (!storedBefore(log, at).some(isRow)) expect(event).toBe("stored before it was published")
      looked++
    }
    expect(looked).toBeGreaterThan(40)
  })

  it("logs each durable event with the state that it reports", () => {
    const published = log.flatMap((entry) => entry.type === "published" ? [entry.event] : [])
    const logged = log.flatMap((entry) => entry.type === "stored" ? entry.writes : []).flatMap((write) =>
      write._tag === "Event" ? [write.event.id] : []
    )
    const lasting = published.filter((event) => logged.includes(event.id)).map((event) => event.type)
    expect(new Set(published.filter((event) => !logged.includes(event.id)).map((event) => event.type))).toEqual(
      new Set(["session.status", "message.part.delta", "message.part.updated"])
    )
    expect(lasting).toContain("subagent.completed")
    expect(new Set(logged).size).toBe(logged.length)
  })

  it("stores an ended part within 200 ms, even if the step then stays silent for long", () => {
    const storage = makeRecordedStorage()
    const model: LanguageModel = {
      info: { providerID: "slow", modelID: "model" },
      limitKey: "slow",
      stream: (_, emit) =>
        Effect.gen(function*() {
          emit({ type: "connected" })
          emit({ type: "text-start", id: "a" })
          emit({ type: "text-delta", id: "a", delta: "so" })
          yield* Effect.sleep(250)
          emit({ type: "text-end", id: "a" })
          yield* Effect.sleep(50_000)
          emit({ type: "finish", finish: "stop", tokens: undefined })
        })
    }
    const program = Effect.gen(function*() {
      const { id: slow } = yield* root()
      yield* Effect.fork(Session.prompt(slow, "Go"))
      yield* Effect.sleep(460)
      return storage.log.flatMap((entry) => entry.type === "stored" ? entry.writes : []).flatMap((write) =>
        write._tag === "Part" && write.part.type === "text" && write.part.text === "so" ? [write.part.time] : []
      )
    })
    const layer = SkeinTest.layer({ layer: Provider.layerModels([model]) }, { storage: storage.layer })
    expect(simulate(Effect.provide(program, layer), { seed: 1 })).toEqual([{ start: 0 }, { start: 0, end: 250 }])
  })

  it("stores growing text periodically", () => {
    const texts = log.flatMap((entry) => entry.type === "stored" ? entry.writes : []).flatMap((write) =>
      write._tag === "Part" && write.part.type === "text" && write.part.sessionID === id ? [write.part.text] : []
    )
    expect(texts).toContain("Fir")
    expect(texts).toContain("the")
    expect(texts).toContain("the en")
    expect(texts).toContain("the end")
  })

  it("never moves a tool part back to an earlier state", () => {
    const rank = { pending: 0, running: 1, completed: 2, error: 2 } as const
    const last = new Map<SessionID | string, number>()
    for (const write of log.flatMap((entry) => entry.type === "stored" ? entry.writes : [])) {
      if (write._tag !== "Part" || write.part.type !== "tool") continue
      const now = rank[write.part.state.status]
      expect(now).toBeGreaterThanOrEqual(last.get(write.part.id) ?? 0)
      last.set(write.part.id, now)
    }
    expect([...last.values()]).toEqual([2, 2, 2, 2, 2])
  })
})
