/** Calls a tool of a server: shows its progress, lets the server ask, and gives it up once nothing comes from it. */
import type { CallToolResult } from "@modelcontextprotocol/client"
import type { Question } from "@skein/core/Question"
import { type ToolContext, ToolError } from "@skein/core/Tool"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"
import { cleanLine } from "../cleanText.ts"
import type { Asker } from "../elicit/Askers.ts"
import { elicit } from "../elicit/elicit.ts"
import { wordsOf } from "../failure.ts"
import type { Connection } from "../server/Connection.ts"
import type { Server } from "../server/Server.ts"
import { makeSilence } from "./silence.ts"

/** How long a server may be silent, in milliseconds. */
const silence = 300_000

/** How long the client waits by itself, in milliseconds: longer than anybody has for an answer. */
const forever = 7 * 86_400_000

/** What a running call says of itself. */
const shownOf = (title: string, { message, progress, total }: {
  readonly progress: number
  readonly total?: number | undefined
  readonly message?: string | undefined
}): string => {
  const share = total === undefined ? "" : ` ${progress}/${total}`
  return cleanLine(`${title}${share}${message === undefined ? "" : `: ${message}`}`, 200)
}

/** A call of a tool. */
export interface Call {
  readonly server: Server
  /** What the server calls the tool. */
  readonly name: string
  /** What people are shown. */
  readonly title: string
  readonly input: Readonly<Record<string, unknown>>
  readonly context: ToolContext
  readonly questions: Context.Tag.Service<Question>
}

const refused = (kind: string, message: string) => new ToolError({ kind, message })

const onConnection = ({ context, input, name, questions, server, title }: Call, connection: Connection) =>
  Effect.gen(function*() {
    const { config, host, name: serverName } = server.target
    const { heard, paused, watch } = yield* makeSilence(config.timeout ?? silence)
    // What is asked is withdrawn when the call ends.
    const run = yield* FiberSet.makeRuntimePromise<never>()
    const one = yield* Effect.makeSemaphore(1)
    const asker: Asker = {
      rootID: context.rootID,
      ask: (params) =>
        run(one.withPermits(1)(paused(elicit(serverName, params, (asked) => questions.ask(context, asked)))))
    }
    yield* Effect.acquireRelease(Effect.sync(() => server.askers.add(asker)), (remove) => Effect.sync(remove))
    // Not a race: that took half a millisecond of each call.
    const silent = new AbortController()
    const called = Effect.tryPromise({
      try: (signal) =>
        server.askers.within(asker, () =>
          connection.client.callTool({ name, arguments: input }, {
            signal: AbortSignal.any([signal, silent.signal]),
            timeout: forever,
            onprogress: (progress) => {
              heard()
              Effect.runSync(context.report({ title: shownOf(title, progress) }))
            }
          })),
      // What ended a connection says more than that it has ended.
      catch: (cause) => {
        if (silent.signal.aborted) return refused("mcp_failed", `The call timed out: ${silent.signal.reason}.`)
        const why = connection.whyEnded() ?? host.redact(wordsOf(cause))
        return refused("mcp_failed", `The call failed. The MCP server ${serverName}: ${why}`)
      }
    })
    yield* Effect.forkScoped(Effect.catchAll(watch, (why) => Effect.sync(() => silent.abort(why))))
    return yield* called
  }).pipe(Effect.scoped)

/** Calls it. */
export const callTool = (call: Call): Effect.Effect<CallToolResult, ToolError> =>
  Effect.suspend(() => {
    const { server } = call
    const state = server.state()
    if (state._tag === "Ready") return onConnection(call, state.connection)
    const why = state._tag === "Failed" ? state.message : "it is being started"
    return refused("mcp_unavailable", `The MCP server ${server.target.name} cannot be used now: ${why}.`)
  })
