/** Proves that a client cannot break its agent: whatever it sends, the agent answers, and goes on. */
import { expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { backend, connect } from "./support/connected.ts"

const cwd = process.cwd()

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

it.live("a frame without an end closes the connection at 32 MB, and the agent ends", () =>
  Effect.gen(function*() {
    const connected = yield* connect()
    yield* Effect.promise(async () => {
      const piece = "x".repeat(1024 * 1024)
      for (let sent = 0; sent < 33; sent++) await connected.raw(piece).catch(() => undefined)
    })
    yield* connected.ended
  }).pipe(Effect.scoped, Effect.provide(backend({ build: ["Hi"] }))))
