/** Proves that a client cannot break its agent: whatever it sends, the agent answers, and goes on. */
import type { PromptResponse } from "@agentclientprotocol/sdk/unstable"
import { expect, it } from "@effect/vitest"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import * as HashMap from "effect/HashMap"
import * as Logger from "effect/Logger"
import { backend, connect, latch } from "./support/connected.ts"

const cwd = process.cwd()

const say = (words: string) => [{ type: "text" as const, text: words }]

/** A model that wants what a person has to allow. */
const asking = backend({ build: [Scripted.call("change", {}), "Done"] }, {
  tools: [
    SkeinTest.tool("change", () => Effect.succeed("It was changed"), {
      authorise: () => Effect.succeed([{ permission: "change", patterns: ["it"], always: [], metadata: {} }])
    })
  ]
})

const errors = (frames: ReadonlyArray<{ readonly frame: { readonly error?: { readonly code: number } } }>) =>
  frames.flatMap(({ frame }) => frame.error === undefined ? [] : [frame.error.code])

const bad: ReadonlyArray<readonly [name: string, line: string, code: number]> = [
  ["no JSON", "{\"jsonrpc\":\"2.0\",\"id\":90,", -32700],
  ["a batch", "[{\"jsonrpc\":\"2.0\",\"id\":90,\"method\":\"session/list\"}]", -32600],
  ["a number", "12", -32600],
  ["an unknown method", "{\"jsonrpc\":\"2.0\",\"id\":90,\"method\":\"session/explode\",\"params\":{}}", -32601],
  ["no parameters", "{\"jsonrpc\":\"2.0\",\"id\":90,\"method\":\"session/new\"}", -32602],
  [
    "a relative directory",
    "{\"jsonrpc\":\"2.0\",\"id\":90,\"method\":\"session/new\",\"params\":{\"cwd\":\"here\",\"mcpServers\":[]}}",
    -32602
  ],
  [
    "a session that is not there",
    "{\"jsonrpc\":\"2.0\",\"id\":90,\"method\":\"session/load\",\"params\":{\"sessionId\":\"ses_none\",\"cwd\":\"/\",\"mcpServers\":[]}}",
    -32002
  ],
  [
    "an id that is none",
    "{\"jsonrpc\":\"2.0\",\"id\":90,\"method\":\"session/load\",\"params\":{\"sessionId\":\"../../etc\",\"cwd\":\"/\",\"mcpServers\":[]}}",
    -32002
  ],
  [
    "a prompt to a session that was not opened",
    "{\"jsonrpc\":\"2.0\",\"id\":90,\"method\":\"session/prompt\",\"params\":{\"sessionId\":\"ses_none\",\"prompt\":[]}}",
    -32002
  ],
  [
    "an option that is not there",
    "{\"jsonrpc\":\"2.0\",\"id\":90,\"method\":\"session/set_config_option\",\"params\":{\"sessionId\":\"ses_none\",\"configId\":\"x\",\"value\":\"y\"}}",
    -32002
  ]
]

const answersOn = (
  given: { readonly agent: { request: (method: "session/list", params: object) => Promise<unknown> } }
) => Effect.promise(() => given.agent.request("session/list", {}))

it.live.each(bad)("%s is refused, and the connection goes on", ([, line, code]) =>
  Effect.gen(function*() {
    const connected = yield* connect()
    yield* Effect.promise(() => connected.raw(`${line}\n`))
    yield* Effect.promise(() => connected.untilFrames((frames) => errors(frames).length > 0))
    yield* answersOn(connected)
    expect(errors(connected.frames)).toEqual([code])
  }).pipe(Effect.scoped, Effect.provide(backend({ build: ["Hi"] }))))

it.live("answers to nothing, and notifications that nobody knows, are left alone", () =>
  Effect.gen(function*() {
    const connected = yield* connect()
    yield* Effect.promise(async () => {
      await connected.raw("{\"jsonrpc\":\"2.0\",\"id\":4711,\"result\":{}}\n")
      await connected.raw(
        "{\"jsonrpc\":\"2.0\",\"method\":\"session/cancel\",\"params\":{\"sessionId\":\"ses_none\"}}\n"
      )
      await connected.raw("{\"jsonrpc\":\"2.0\",\"method\":\"_vendor/thing\",\"params\":{}}\n\n\n")
    })
    yield* answersOn(connected)
    expect(errors(connected.frames)).toEqual([])
  }).pipe(Effect.scoped, Effect.provide(backend({ build: ["Hi"] }))))

it.live("an id that is used twice at once gets two answers", () =>
  Effect.gen(function*() {
    const connected = yield* connect()
    const line = JSON.stringify({ jsonrpc: "2.0", id: "same", method: "session/new", params: { cwd, mcpServers: [] } })
    yield* Effect.promise(() => connected.raw(`${line}\n${line}\n`))
    yield* answersOn(connected)
    const made = () => connected.frames.filter(({ frame, from }) => from === "agent" && frame.id === "same")
    yield* Effect.promise(() => connected.untilFrames(() => made().length === 2))
    expect(new Set(made().map(({ frame }) => frame.result?.["sessionId"])).size).toBe(2)
  }).pipe(Effect.scoped, Effect.provide(backend({ build: ["Hi"] }))))

/** Sends a line in pieces, as a pipe does, and never all of it as one string. */
const sendLong = async (raw: (line: string) => Promise<void>, before: string, after: string) => {
  await raw(before)
  const piece = "x".repeat(1024 * 1024)
  for (let sent = 0; sent < 33; sent++) await raw(piece)
  await raw(after)
}

const long: ReadonlyArray<readonly [name: string, before: string, after: string, id: unknown]> = [
  [
    "a request",
    "{\"jsonrpc\":\"2.0\",\"id\":\"big\",\"method\":\"session/prompt\",\"params\":{\"sessionId\":\"",
    "\"}}\n",
    "big"
  ],
  ["a request in another order", "{ \"method\": \"session/list\", \"id\": 77, \"params\": {\"a\":\"", "\"}}\n", 77],
  [
    "a notification",
    "{\"jsonrpc\":\"2.0\",\"method\":\"session/cancel\",\"params\":{\"id\":7,\"a\":\"",
    "\"}}\n",
    null
  ],
  ["no JSON at all", "", "\n", null]
]

it.live.each(long)(
  "a frame of 33 MB that is %s is answered, and the connection goes on",
  ([, before, after, id]) =>
    Effect.gen(function*() {
      const connected = yield* connect()
      yield* Effect.promise(() => sendLong(connected.raw, before, after))
      yield* Effect.promise(() => connected.untilFrames((frames) => errors(frames).length > 0))
      yield* answersOn(connected)
      const refused = connected.frames.filter(({ frame }) => frame.error !== undefined)
      expect(refused).toMatchObject([{
        frame: { id, error: { code: -32600, message: expect.stringContaining("32 MB") } }
      }])
    }).pipe(Effect.scoped, Effect.provide(backend({ build: ["Hi"] })))
)

/** A client that answers no question by itself, and what opens once it is asked one. */
const unanswered = Effect.gen(function*() {
  const asked = latch()
  const connected = yield* connect({
    permit: () => {
      asked.open()
      return new Promise<never>(() => undefined)
    }
  })
  return { asked, connected }
})

it.live("an answer of 33 MB to a question is a refusal, and the turn ends", () =>
  Effect.gen(function*() {
    const { asked, connected } = yield* unanswered
    yield* Effect.promise(async () => {
      const { sessionId } = await connected.agent.request("session/new", { cwd, mcpServers: [] })
      const answer = connected.agent.request<PromptResponse>("session/prompt", { sessionId, prompt: say("Go") })
      await asked.opened
      const question = connected.frames.find(({ frame }) => frame.method === "session/request_permission")
      const id = JSON.stringify(question?.frame.id)
      await sendLong(connected.raw, `{"jsonrpc":"2.0","id":${id},"result":{"outcome":{"outcome":"`, "\"}}}\n")
      expect(await answer).toMatchObject({ stopReason: "end_turn" })
      expect(JSON.stringify(connected.heard)).toContain("Permission denied")
    })
  }).pipe(Effect.scoped, Effect.provide(asking)))

it.live("answers to a question that come twice, late or from nowhere change nothing", () =>
  Effect.gen(function*() {
    const { asked, connected } = yield* unanswered
    const { agent, frames, raw } = connected
    yield* Effect.promise(async () => {
      const { sessionId } = await agent.request("session/new", { cwd, mcpServers: [] })
      const answer = agent.request<PromptResponse>("session/prompt", { sessionId, prompt: say("Go") })
      await asked.opened
      const id = frames.find(({ frame }) => frame.method === "session/request_permission")?.frame.id
      const chosen = (optionId: string) =>
        raw(`${JSON.stringify({ jsonrpc: "2.0", id, result: { outcome: { outcome: "selected", optionId } } })}\n`)
      await raw(`${JSON.stringify({ jsonrpc: "2.0", id: "nowhere", result: {} })}\n`)
      await chosen("reject")
      // The first answer counts. Nothing may be run by the second one.
      await chosen("once")
      expect(await answer).toMatchObject({ stopReason: "end_turn" })
      await chosen("once")
      expect(JSON.stringify(connected.heard)).toContain("Permission denied")
      expect(JSON.stringify(connected.heard)).not.toContain("It was changed")
    })
    yield* answersOn(connected)
    expect(errors(frames)).toEqual([])
  }).pipe(Effect.scoped, Effect.provide(asking)))

it.live("an answer to a question that comes after its prompt was cancelled changes nothing", () =>
  Effect.gen(function*() {
    const { asked, connected } = yield* unanswered
    const { agent, frames, raw } = connected
    yield* Effect.promise(async () => {
      const { sessionId } = await agent.request("session/new", { cwd, mcpServers: [] })
      const answer = agent.request<PromptResponse>("session/prompt", { sessionId, prompt: say("Go") })
      await asked.opened
      const id = frames.find(({ frame }) => frame.method === "session/request_permission")?.frame.id
      await agent.notify("session/cancel", { sessionId })
      expect(await answer).toEqual({ stopReason: "cancelled" })
      await raw(
        `${JSON.stringify({ jsonrpc: "2.0", id, result: { outcome: { outcome: "selected", optionId: "once" } } })}\n`
      )
    })
    yield* answersOn(connected)
    expect(JSON.stringify(connected.heard)).not.toContain("It was changed")
  }).pipe(Effect.scoped, Effect.provide(asking)))

const nonsense: ReadonlyArray<readonly [answer: string, said: string]> = [
  ["\"result\":{}", "{}"],
  ["\"result\":null", "null"],
  ["\"result\":\"once\"", "\"once\""],
  ["\"result\":{\"outcome\":null}", "{\"outcome\":null}"],
  ["\"result\":{\"outcome\":\"selected\"}", "{\"outcome\":\"selected\"}"],
  ["\"result\":{\"outcome\":{\"outcome\":\"selected\"}}", "{\"outcome\":{\"outcome\":\"selected\"}}"],
  ["\"result\":{\"outcome\":{\"outcome\":\"selected\",\"optionId\":\"tree\"}}", "\"optionId\":\"tree\""],
  ["\"error\":{\"code\":-32603,\"message\":\"The window is closed\"}", "The window is closed"],
  ["\"error\":\"broken\"", "Invalid request"]
]

it.live.each(nonsense)("the answer %s to a request for permission is a rejection, and is said", ([answer, said]) => {
  const lines: Array<string> = []
  const logger = Logger.make<unknown, void>(({ annotations, message }) => {
    if (HashMap.has(annotations, "notice")) lines.push(String(message))
  })
  return Effect.gen(function*() {
    const { agent, frames, heard, raw, untilFrames } = yield* connect({
      permit: () => new Promise<never>(() => undefined)
    })
    yield* Effect.promise(async () => {
      const { sessionId } = await agent.request("session/new", { cwd, mcpServers: [] })
      const ended = agent.request<PromptResponse>("session/prompt", { sessionId, prompt: say("Go") })
      const question = () => frames.find(({ frame }) => frame.method === "session/request_permission")
      await untilFrames(() => question() !== undefined)
      await raw(`{"jsonrpc":"2.0","id":${JSON.stringify(question()?.frame.id)},${answer}}\n`)
      expect(await ended).toMatchObject({ stopReason: "end_turn" })
    })
    expect(JSON.stringify(heard)).toContain("Permission denied")
    expect(lines.join("\n")).toContain(said)
    expect(lines.join("\n")).toContain("This counts as a rejection.")
  }).pipe(Effect.scoped, Effect.provide(asking), Effect.provide(Logger.replace(Logger.defaultLogger, logger)))
})
