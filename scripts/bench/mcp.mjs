// @ts-check
// `npm run bench:mcp`: what a call of an MCP tool costs over the SDK's own, and what a server that hangs costs the turns that
// do not call it. Both sides of each figure are measured in turns, in this one run.
import { Client } from "@modelcontextprotocol/client"
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio"
import { Question } from "@skein/core/Question"
import { Session } from "@skein/core/Session"
import { McpServers } from "@skein/mcp/McpServers"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import { spawn } from "node:child_process"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { root } from "../layout.mjs"
import { median } from "./median.mjs"

const script = join(root, "packages", "mcp", "test", "support", "server.mjs")
const targets = { call: 1 }
const counts = { batches: 20, calls: 50, turns: 20 }

/** A machine on which programs are started plainly. @type {import("@skein/mcp/McpHost").McpHost} */
const host = {
  version: "0.0.0",
  variables: {},
  readText: (path) => Effect.fail({ message: path }),
  hide: () => undefined,
  redact: (text) => text,
  fetch: globalThis.fetch,
  fetchPublic: globalThis.fetch,
  credentials: { read: () => Effect.succeed(undefined), write: () => Effect.void, remove: () => Effect.void },
  remember: () => () => undefined,
  launch: ({ command: [program, ...words], directory }) =>
    Effect.map(
      Effect.acquireRelease(
        Effect.sync(() => spawn(program, words, { cwd: directory, stdio: ["pipe", "pipe", "pipe"] })),
        (child) => Effect.sync(() => child.kill("SIGKILL"))
      ),
      ({ stderr, stdin, stdout }) => ({ stdin, stdout, stderr, ended: Effect.never })
    )
}

/** The tools of servers that behave like this. @param {Readonly<Record<string, string>>} servers */
const open = (servers) =>
  Effect.gen(function*() {
    const context = yield* Layer.build(McpServers.layer(host))
    const config = Object.fromEntries(
      Object.entries(servers).map(([name, how]) => [
        name,
        {
          command: /** @type {const} */ ([process.execPath, script, how]),
          startup_timeout: how === "hangs" ? 500 : 60_000
        }
      ])
    )
    return yield* Context.get(context, McpServers).open({ directory: tmpdir(), servers: config })
  }).pipe(Effect.provide(Question.layerNobody))

/** @param {() => Promise<unknown>} call */
const timed = async (call) => {
  const start = performance.now()
  for (let n = 0; n < counts.calls; n++) await call()
  return (performance.now() - start) / counts.calls
}

const calls = Effect.gen(function*() {
  const source = yield* open({ fake: "fine" })
  yield* source.ready
  const tool = source.current()[0]
  if (tool === undefined) return yield* Effect.dieMessage("The server has no tools.")
  /** @type {any} */
  const context = { rootID: "ses_bench", readsOnly: false, report: () => Effect.void }
  const client = new Client({ name: "bench", version: "1" })
  yield* Effect.acquireRelease(
    Effect.promise(() =>
      client.connect(new StdioClientTransport({ command: process.execPath, args: [script, "fine"] }))
    ),
    () => Effect.promise(() => client.close())
  )
  const own = () => client.callTool({ name: "echo", arguments: { words: "hello" } })
  const ours = () => Effect.runPromise(tool.execute({ words: "hello" }, context))
  yield* Effect.promise(() => timed(own))
  yield* Effect.promise(() => timed(ours))
  /** @type {{ readonly sdk: Array<number>, readonly skein: Array<number> }} */
  const times = { sdk: [], skein: [] }
  for (let n = 0; n < counts.batches; n++) {
    times.sdk.push(yield* Effect.promise(() => timed(own)))
    times.skein.push(yield* Effect.promise(() => timed(ours)))
  }
  return { sdk: median(times.sdk), skein: median(times.skein) }
})

/** A session of an agent with these servers; gives what makes one turn. @param {Readonly<Record<string, string>>} servers */
const turns = (servers) =>
  Effect.gen(function*() {
    const source = yield* open(servers)
    const stack = yield* Layer.build(SkeinTest.layer({ build: () => "done" }, { toolSource: source }))
    const session = Context.get(stack, Session)
    const { id } = yield* session.create({ directory: tmpdir(), title: "Bench", agent: "build" })
    const turn = session.prompt(id, "Go")
    // The first one waits for servers.
    yield* turn
    return Effect.map(Effect.timed(turn), ([time]) => Duration.toMillis(time))
  })

const hanging = Effect.gen(function*() {
  const without = yield* turns({ fine: "fine" })
  const beside = yield* turns({ fine: "fine", hangs: "hangs" })
  /** @type {{ readonly without: Array<number>, readonly beside: Array<number> }} */
  const times = { without: [], beside: [] }
  for (let n = 0; n < counts.turns; n++) {
    times.without.push(yield* without)
    times.beside.push(yield* beside)
  }
  return { without: median(times.without), beside: median(times.beside) }
})

const { call, turn } = await Effect.runPromise(
  Effect.all({ call: calls, turn: hanging }).pipe(Effect.scoped, Logger.withMinimumLogLevel(LogLevel.None))
)
const over = call.skein - call.sdk
console.log(`a call, ms (medians of ${counts.batches} batches of ${counts.calls})
  the SDK's own   ${call.sdk.toFixed(3)}
  Skein           ${call.skein.toFixed(3)}
  over it         ${over.toFixed(3)}   at most ${targets.call}: ${over <= targets.call ? "yes" : "no"}
a turn that calls no tool, ms (medians of ${counts.turns})
  without         ${turn.without.toFixed(2)}
  a server hangs  ${turn.beside.toFixed(2)}   ${((turn.beside / turn.without - 1) * 100).toFixed(1)} %`)
process.exitCode = over <= targets.call ? 0 : 1
