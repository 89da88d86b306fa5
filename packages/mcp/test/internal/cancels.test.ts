/** Calls that are cancelled at random moments, by the client and by the server: nothing hangs, leaks, or is mixed up. */
import { describe, expect, it } from "@effect/vitest"
import { Question } from "@skein/core/Question"
import { SessionStorage } from "@skein/core/SessionStorage"
import type { ToolContext } from "@skein/core/Tool"
import * as Scripted from "@skein/testing/ScriptedProvider"
import { share } from "@skein/testing/Seeds"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Random from "effect/Random"
import { PassThrough } from "node:stream"
import { callTool } from "../../src/internal/callTool.ts"
import { makeNotices, makeServer } from "../../src/internal/Server.ts"
import type { Launched } from "../../src/McpHost.ts"
import { makeEndpoint } from "../support/clients.ts"
import { testHost } from "../support/host.ts"

const count = share(500)

/** The number of rounds that stands for an answer that never comes. */
const never = 6

/** Lets everything else go on for as many rounds of the event loop. */
const rounds = (many: number) => Effect.repeatN(Effect.promise(() => new Promise<void>(setImmediate)), many)

/** A server in this process, whose answers take as many rounds as their calls say; it hears of no cancellation. */
const inProcess = (revision: string) => {
  const [stdin, stdout] = [new PassThrough(), new PassThrough()]
  const isModern = revision === "2026-07-28"
  const cached = { resultType: "complete", ttlMs: 0, cacheScope: "private" }
  const serverInfo = { name: "fake", version: "1" }
  const capabilities = { tools: {} }
  const resultOf = (method: string) => {
    switch (method) {
      case "server/discover":
        return isModern ? { ...cached, supportedVersions: [revision], capabilities, serverInfo } : undefined
      case "initialize":
        return { protocolVersion: revision, capabilities, serverInfo }
      case "tools/list":
        return { ...cached, tools: [{ name: "echo", inputSchema: { type: "object" } }] }
      default:
        return undefined
    }
  }
  const answer = async (line: string) => {
    const { id, method, params } = JSON.parse(line)
    if (id === undefined) return
    const send = (more: object) => void stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, ...more })}\n`)
    if (method !== "tools/call") {
      const result = resultOf(method)
      return send(result === undefined ? { error: { code: -32_601, message: "Method not found" } } : { result })
    }
    if (params.arguments.rounds === never) return
    await Effect.runPromise(rounds(params.arguments.rounds))
    send({ result: { resultType: "complete", content: [{ type: "text", text: params.arguments.words }] } })
  }
  stdin.setEncoding("utf8").on(
    "data",
    (text: string) => text.split("\n").filter(Boolean).forEach((line) => answer(line))
  )
  const launched: Launched = { stdin, stdout, stderr: new PassThrough(), ended: Effect.never }
  return { launched, listeners: () => stdin.listenerCount("drain") + stdout.listenerCount("readable") }
}

/** How much the SDK's client still keeps of its calls. */
const keptBy = (client: object): ReadonlyArray<number> =>
  ["_responseHandlers", "_progressHandlers", "_timeoutInfo"].map((name) => Reflect.get(client, name).size)

describe.each(["2025-11-25", "2026-07-28"])("by %s", (revision) => {
  it.scoped(`${count} calls that are cancelled here`, () =>
    Effect.gen(function*() {
      const { launched, listeners } = inProcess(revision)
      const { host } = testHost({ launch: () => Effect.succeed(launched) })
      const server = yield* makeServer(
        { name: "fake", directory: "/", config: { command: ["fake"] }, host },
        makeNotices()
      )
      yield* server.ready
      const state = server.state()
      const client = state._tag === "Ready" ? state.connection.client : {}
      const questions = yield* Question
      const context = { rootID: "ses_1", readsOnly: false, report: () => Effect.void } as unknown as ToolContext
      const call = (words: string, delay: number) =>
        callTool({
          server,
          name: "echo",
          title: "echo",
          input: { words, rounds: delay },
          asTask: false,
          onlyReads: false,
          context,
          questions
        })
      yield* call("first", 0)
      const before = listeners()
      let answered = 0
      for (let at = 0; at < count; at++) {
        const running = yield* Effect.fork(call(`words ${at}`, yield* Random.nextIntBetween(0, never + 1)))
        yield* rounds(yield* Random.nextIntBetween(0, 6))
        yield* Fiber.interrupt(running)
        const exit = yield* Fiber.await(running)
        if (exit._tag === "Failure") continue
        answered++
        expect(exit.value.content).toEqual([{ type: "text", text: `words ${at}` }])
      }
      // Some were answered first, and some were not.
      expect(answered).toBeGreaterThan(0)
      expect(answered).toBeLessThan(count)
      yield* rounds(10)
      expect(keptBy(client)).toEqual([0, 0, 0])
      expect(listeners()).toBe(before)
      expect(yield* call("last", 0)).toMatchObject({ content: [{ text: "last" }] })
    }).pipe(Effect.withRandom(Random.make(revision)), Effect.provide(Question.layerNobody)))

  it.scopedLive(`${count} calls that clients cancel`, () =>
    Effect.gen(function*() {
      const { connect } = yield* makeEndpoint
      const storage = yield* SessionStorage
      const way = { over: "streams", revision: revision === "2025-11-25" ? revision : "2026-07-28" } as const
      let answered = 0
      // A connection delegates at most 256 tasks.
      for (let done = 0; done < count; done += 100) {
        yield* Effect.scoped(Effect.gen(function*() {
          const { client } = yield* connect(way)
          for (let at = done; at < Math.min(count, done + 100); at++) {
            const abort = new AbortController()
            const prompt = `Task ${at}`
            const call = client.callTool({ name: "task", arguments: { agent: "worker", prompt } }, {
              signal: abort.signal
            }).then(({ content }) => content, () => undefined)
            yield* rounds(yield* Random.nextIntBetween(0, 60))
            abort.abort()
            const content = yield* Effect.promise(() => call)
            if (content === undefined) continue
            answered++
            expect(JSON.stringify(content)).toContain(`${prompt} is done.`)
          }
          yield* Effect.repeat(Effect.zipRight(rounds(1), storage.runs({})), {
            until: ({ rows }) => rows.every(({ state }) => state === "settled")
          })
          expect(keptBy(client)).toEqual([0, 0, 0])
        }))
      }
      expect(answered).toBeGreaterThan(0)
      expect(answered).toBeLessThan(count)
      const { rows } = yield* storage.runs({})
      const completed = rows.filter(({ outcome }) => outcome?.status === "completed")
      expect(completed.length).toBeGreaterThanOrEqual(answered)
    }).pipe(
      Effect.withRandom(Random.make(revision)),
      Effect.provide(SkeinTest.layer({
        // Some never end by themselves.
        worker: (request) => {
          const prompt = Scripted.lastText(request)
          return { text: `${prompt} is done.`, hangs: /[05]$/.test(prompt) }
        }
      }, { agents: [SkeinTest.agent("worker")] }))
    ), 60_000)
})
