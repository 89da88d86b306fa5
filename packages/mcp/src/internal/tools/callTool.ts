/** Calls a tool of a server: shows its progress, lets the server ask, and gives it up once nothing comes from it. */
import { type CallToolResult, type RequestOptions, specTypeSchemas } from "@modelcontextprotocol/client"
import type { Question } from "@skein/core/Question"
import { type ToolContext, ToolError } from "@skein/core/Tool"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as FiberSet from "effect/FiberSet"
import { cleanLine } from "../cleanText.ts"
import type { Asker } from "../elicit/Askers.ts"
import { elicit } from "../elicit/elicit.ts"
import { wordsOf } from "../failure.ts"
import type { Connection } from "../server/Connection.ts"
import type { Server } from "../server/Server.ts"
import { ServerFailed } from "../ServerFailed.ts"
import { abandonTask, followTask } from "../tasks/followTask.ts"
import type { Task } from "../tasks/Task.ts"
import { taskOf } from "../tasks/taskAnswers.ts"
import { callFailed, isSettled, timedOut } from "./callFailure.ts"
import { makeSilence } from "./silence.ts"

/** How long a server may be silent, in milliseconds. */
const silence = 300_000

/** How long a server's task may show nothing new, in milliseconds: tasks are meant for long work. */
const taskSilence = 3_600_000

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
  /** Whether the server runs the tool as a task only, by the revision of 2025-11-25. */
  readonly asTask: boolean
  /** Whether the tool changes nothing: then a call may be repeated, whatever became of it. */
  readonly onlyReads: boolean
  readonly context: ToolContext
  readonly questions: Context.Tag.Service<Question>
}

const refused = (kind: string, message: string) => new ToolError({ kind, message })

/** Sends the call. Servers of 2025-11-25 make a task where they are asked to, the others where they want to. */
const send = ({ asTask, input, name }: Call, { client }: Connection, options: RequestOptions) => {
  const params = { name, arguments: input }
  const isAsked = asTask && client.getProtocolEra() !== "modern" &&
    client.getServerCapabilities()?.tasks?.requests?.tools?.call !== undefined
  return isAsked
    ? client.request(
      { method: "tools/call", params: { ...params, task: {} } },
      specTypeSchemas.CallToolResult,
      options
    )
    : client.callTool(params, options)
}

/** Ends when a signal is aborted. */
const aborted = (signal: AbortSignal): Effect.Effect<never, ServerFailed> =>
  Effect.async((resume) => {
    const stop = () => resume(new ServerFailed({ message: String(signal.reason) }))
    if (signal.aborted) return stop()
    signal.addEventListener("abort", stop, { once: true })
    return Effect.sync(() => signal.removeEventListener("abort", stop))
  })

const onConnection = (call: Call, connection: Connection) =>
  Effect.gen(function*() {
    const { context, questions, server, title } = call
    const { client } = connection
    const { config, directory, host, name: serverName } = server.target
    const { allow, heard, paused, watch } = yield* makeSilence(config.timeout ?? silence)
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
    const show = (progress: Parameters<typeof shownOf>[1]) => {
      heard()
      Effect.runSync(context.report({ title: shownOf(title, progress) }))
    }
    const failed = (cause: unknown) => {
      if (silent.signal.aborted) {
        return refused("mcp_failed", timedOut(serverName, String(silent.signal.reason), call.onlyReads))
      }
      const said = host.redact(wordsOf(cause))
      // What ended a connection says more than that it has ended.
      const isOver = call.onlyReads || isSettled(cause, said)
      return refused("mcp_failed", callFailed(serverName, connection.whyEnded() ?? said, isOver))
    }
    let sent = Promise.resolve<CallToolResult>({ content: [] })
    const called = Effect.tryPromise({
      try: (signal) =>
        sent = server.askers.within(asker, () =>
          send(call, connection, {
            signal: AbortSignal.any([signal, silent.signal]),
            timeout: forever,
            onprogress: show
          })),
      catch: failed
    }).pipe(Effect.onInterrupt(() => abandonTask(client, sent)))
    yield* Effect.forkScoped(Effect.catchAll(watch, (why) => Effect.sync(() => silent.abort(why))))
    return yield* Effect.uninterruptibleMask((restore) =>
      Effect.flatMap(restore(called), (result) => {
        const task = taskOf(result)
        if (task === undefined) return Effect.succeed(result)
        if (Either.isLeft(task)) return failed(new Error(task.left))
        allow(config.timeout ?? taskSilence)
        const onChange = ({ statusMessage = "" }: Task) =>
          statusMessage === "" ? heard() : show({ progress: 0, message: statusMessage })
        const given = { client, task: task.right, directory, ask: asker.ask, onChange }
        return Effect.mapError(followTask({ ...given, givenUp: aborted(silent.signal) }), failed)
      })
    )
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
