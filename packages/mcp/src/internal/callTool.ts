/** Calls a tool of a server: gives up once nothing comes from it, and says whether a tool that failed may have done its work. */
import {
  type CallToolResult,
  ProtocolError,
  type RequestOptions,
  SdkHttpError,
  specTypeSchemas,
  UnauthorizedError
} from "@modelcontextprotocol/client"
import * as MonotonicClock from "@skein/core/MonotonicClock"
import type { Question } from "@skein/core/Question"
import { type ToolContext, ToolError } from "@skein/core/Tool"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as FiberSet from "effect/FiberSet"
import type { Connection } from "./connect.ts"
import { cleanLine } from "./content.ts"
import { type Asker, elicit } from "./elicit.ts"
import { ServerFailed, wordsOf } from "./failure.ts"
import { abandonTask, followTask } from "./followTask.ts"
import type { Server } from "./Server.ts"
import { type Task, taskOf } from "./serverTask.ts"
import { unintelligible } from "./stdioTransport.ts"

/** Makes the watch of a call; limits are in milliseconds. */
export const makeSilence = Effect.fnUntraced(function*(first: number) {
  const clock = yield* Effect.clock
  let limit = first
  let last = MonotonicClock.elapsed(clock)
  let asking = 0
  const watch: Effect.Effect<never, string> = Effect.suspend(() => {
    const left = asking > 0 ? limit : limit - (MonotonicClock.elapsed(clock) - last)
    return left > 0
      ? Effect.zipRight(Effect.sleep(left), watch)
      : Effect.fail(`nothing came for ${limit / 1000} s`)
  })
  const heard = () => {
    last = MonotonicClock.elapsed(clock)
  }
  return {
    watch,
    heard,
    /** From now on, another limit holds. */
    allow: (next: number) => {
      limit = next
      heard()
    },
    paused: <A>(effect: Effect.Effect<A>): Effect.Effect<A> =>
      Effect.acquireUseRelease(
        Effect.sync(() => void asking++),
        () => effect,
        () =>
          Effect.sync(() => {
            asking--
            heard()
          })
      )
  }
})

/** What to do about a call that may have done its work. */
const advice = "The tool may have done its work: check what it did before you repeat the call."

/** A connection that was never made: the server got nothing. */
const neverSent = /^connect E|ENOTFOUND|EAI_AGAIN/

/** How the server itself describes the end of its task. */
const ofTask = /^its task (?:failed|was cancelled|has ended)/

/** Whether the server has not run the tool, or has said itself how that ended. */
const isSettled = (cause: unknown, why: string): boolean => {
  if (cause instanceof ProtocolError) return !cause.message.includes(unintelligible)
  if (cause instanceof ServerFailed) return ofTask.test(cause.message)
  if (cause instanceof UnauthorizedError || neverSent.test(why)) return true
  return cause instanceof SdkHttpError && cause.status >= 400 && cause.status < 500
}

/** The words for a call that has timed out. */
const timedOut = (server: string, why: string, onlyReads: boolean): string =>
  onlyReads
    ? `The call timed out: ${why} (mcp.${server}.timeout sets how long).`
    : `The call timed out, outcome unknown: ${why} (mcp.${server}.timeout sets how long). ${advice}`

/** The words for any other call that failed. */
const callFailed = (server: string, why: string, isOver: boolean): string =>
  isOver
    ? `The call failed. The MCP server ${server}: ${why}`
    : `The call failed, outcome unknown. The MCP server ${server}: ${why}. ${advice}`

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
interface Call {
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
