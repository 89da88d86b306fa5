import { describe, expect, it } from "@effect/vitest"
import { Session } from "@skein/core/Session"
import { SessionStorage } from "@skein/core/SessionStorage"
import { hasOpenTurn } from "@skein/domain/InboxRow"
import * as Scripted from "@skein/testing/ScriptedProvider"
import { simulate } from "@skein/testing/Simulation"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { makeRecordedStorage } from "./support/storage.ts"
import { expectStill, messagesOf, root } from "./support/tree.ts"

/** Prompts a session whose storage fails at some commits, and again once it works. */
const run = (fails: (n: number) => boolean, seed: number, withTask: boolean, once = true) => {
  const storage = makeRecordedStorage({ latency: 3 })
  const acted: Array<string> = []
  const act = SkeinTest.tool("act", ({ name }, { partID }) => {
    storage.log.push({ type: "effect", partID })
    acted.push(String(name))
    return Effect.as(Effect.sleep(20), "acted")
  }, { effect: "never" })
  const two = (first: string, second: string) => ({
    text: "I act",
    calls: [{ tool: "act", input: { name: first } }, { tool: "act", input: { name: second } }],
    delay: { between: 250 },
    pieces: 2
  })
  const script = Scripted.make({
    build: (request) => {
      if (Scripted.lastText(request).includes("Again")) return "better"
      const results = request.messages.filter((message) => message.role === "tool").length
      if (results === 0) return two("a", "b")
      return results === 1 && withTask ? Scripted.tasks({ worker: "p" }) : "the end"
    },
    worker: (request) => request.messages.some((message) => message.role === "tool") ? "done" : two("c", "d")
  })
  const program = Effect.gen(function*() {
    const { id } = yield* root()
    storage.failWhere(fails)
    const before = storage.commits()
    const result = yield* Effect.either(Session.prompt(id, "Go"))
    const used = storage.commits() - before
    yield* Effect.sleep("1 hour")
    const soFar = [...acted]
    storage.failWhere(() => false)
    const again = yield* Effect.either(Session.prompt(id, "Again"))
    expect(again).toMatchObject(Either.right({ text: "better" }))
    expect(acted, "nothing is done twice or late").toEqual(soFar)
    if (once) yield* expectStill(id, script)
    const asked = (yield* messagesOf(id)).flatMap(({ info, parts }) =>
      info.role === "user" ? parts.flatMap((part) => part.type === "text" ? [part.text] : []) : []
    )
    // A prompt that could not be stored was refused; everything else is kept and read once.
    expect(asked.join()).toMatch(seed === 1 ? /^(Go,)?Again$/ : /^Go,Again$/)
    for (const [at, entry] of storage.log.entries()) {
      if (entry.type !== "effect") continue
      const intent = storage.log.slice(0, at).some((each) =>
        each.type === "stored"
        && each.writes.some((write) =>
          write._tag === "Part" && write.part.id === entry.partID && write.part.type === "tool"
          && write.part.state.status === "running"
        )
      )
      expect(intent, "an effect without a stored intent").toBe(true)
    }
    return { result, used, acted: soFar }
  })
  const layer = SkeinTest.layer(script, { agents: [SkeinTest.agent("worker")], tools: [act], storage: storage.layer })
  return simulate(Effect.provide(program, layer), { seed })
}

describe("a storage that fails", () => {
  const healthy = run(() => false, 1, false)

  it("works until it is set to fail", () => {
    expect(healthy.result).toMatchObject(Either.right({ text: "the end" }))
    expect(healthy.acted).toEqual(["a", "b"])
    expect(healthy.used).toBeGreaterThan(8)
  })

  it("once, at any commit, fails the turn with its error, and the session continues afterwards", () => {
    for (let n = 1; n <= healthy.used; n++) {
      const { result } = run((each) => each === n, n, false)
      // The last commit only stores that the turn is over. Growing text is stored again at its end.
      if (Either.isRight(result)) expect(result.right.text, `commit ${n}`).toBe("the end")
      else expect(result.left, `commit ${n}`).toMatchObject({ _tag: "StorageError", reason: "full" })
    }
  })

  it("permanently, from any commit on, fails the turn with its error and starts nothing more", () => {
    for (let n = 1; n < healthy.used; n++) {
      const { acted, result } = run((each) => each >= n, n, false)
      expect(result, `commit ${n}`).toMatchObject(Either.left({ _tag: "StorageError", reason: "full" }))
      expect(acted.length).toBeLessThanOrEqual(2)
    }
  })

  it("for a prompt causes no request, and for an answer no further one", () => {
    const requests = (n: number) => {
      const storage = makeRecordedStorage()
      const script = Scripted.make({ build: ["never requested"] })
      const program = Effect.gen(function*() {
        const { id } = yield* root()
        storage.failWhere((each) => each >= n)
        return yield* Effect.flip(Session.prompt(id, "Go"))
      })
      simulate(Effect.provide(program, SkeinTest.layer(script, { storage: storage.layer })), { seed: n })
      return script.requests.length
    }
    expect([1, 2, 3, 4].map(requests)).toEqual([0, 0, 0, 1])
  })

  it("below a task never hangs the tree, and no effect happens without a stored intent", () => {
    const { used } = run(() => false, 1, true)
    for (let n = 1; n <= used; n++) {
      const once = run((each) => each === n, n, true)
      if (Either.isLeft(once.result)) expect(once.result.left._tag).toBe("StorageError")
      const forGood = run((each) => each >= n, n, true, false)
      if (n < used) expect(forGood.result).toMatchObject(Either.left({ _tag: "StorageError" }))
    }
  }, 30_000)

  it("is made good by a resume, whatever was not stored: no turn and no call stays open", () => {
    const { used } = run(() => false, 1, true)
    for (let n = 1; n <= used; n++) {
      const storage = makeRecordedStorage({ latency: 3 })
      const act = SkeinTest.tool("act", () => Effect.as(Effect.sleep(20), "acted"), { effect: "safe" })
      const script = Scripted.make({
        build: ({ messages }) =>
          messages.some(({ role }) => role === "tool") ? "the end" : Scripted.tasks({ worker: "p" }),
        worker: ({ messages }) => messages.some(({ role }) => role === "tool") ? "done" : Scripted.call("act", {})
      })
      const program = Effect.gen(function*() {
        const { id } = yield* root()
        storage.failWhere((each) => each === n)
        yield* Effect.either(Session.prompt(id, "Go"))
        yield* Effect.sleep("1 hour")
        const session = yield* Session
        storage.failWhere(() => false)
        yield* session.resume(id)
        yield* Effect.sleep("1 minute")
        const { rows } = yield* (yield* SessionStorage).sessions({ rootID: id })
        expect(rows.filter(hasOpenTurn), `commit ${n}`).toEqual([])
        yield* expectStill(id, script)
      })
      const layer = SkeinTest.layer(script, {
        agents: [SkeinTest.agent("worker")],
        tools: [act],
        storage: storage.layer
      })
      simulate(Effect.provide(program, layer), { seed: n })
    }
  })
})
