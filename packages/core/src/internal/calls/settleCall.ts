/** The end of a call: stores its result, or what went wrong, for the model to read. */
import type { ErrorInfo } from "@skein/domain/Message"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import type { PermissionDenied } from "../../Answerer.ts"
import { failpoint } from "../../Failpoints.ts"
import type { HookRefused } from "../../Hooks.ts"
import { cut } from "../../Spill.ts"
import { logUnstored, type StorageError } from "../../StorageError.ts"
import { type AnyTool, changesFiles, type ToolError, type ToolResult } from "../../Tool.ts"
import { afterCall, withContexts } from "../sessionHooks.ts"
import { type Called, type CallRecord, executionFailed } from "./CallRecord.ts"

const isTurnEnd = (error: PermissionDenied): boolean =>
  error.endsTurn || (error.permission === "doom_loop" && error.by !== "rejected")

/** A call that was made. */
interface Made {
  readonly tool: AnyTool
  readonly result: ToolResult
}

/** Stores the result of a call that was made. */
const settleResult = (call: CallRecord, { result, tool }: Made) =>
  Effect.gen(function*() {
    const { contexts, hookedTool, input, options: { live, part }, services: { hooks } } = call
    call.reach("The call was made. It was stopped while a hook processed the result, which is unknown.")
    const read = yield* afterCall(hooks, live, hookedTool, input, result.output, part)
    const output = yield* cut(live.info.id, `${part.id}.txt`, withContexts(read.output, contexts))
    yield* failpoint(tool.name === "task" ? "child_done_before_parent_result" : "exit_before_result_commit")
    yield* call.close({
      status: "completed",
      input,
      output,
      title: result.title,
      metadata: read.endsTurn === undefined ? result.metadata : { ...result.metadata, endsTurn: true },
      ...(result.attachments === undefined ? {} : { attachments: result.attachments }),
      time: call.time()
    })
    if (changesFiles(tool)) live.root.summary.isStale = true
    return { endsTurn: read.endsTurn === true } satisfies Called
  })

/** Stores a failure, with the words of the hooks after the call. */
const settleFailure = (
  call: CallRecord,
  { message, tag }: ErrorInfo,
  metadata?: Readonly<Record<string, unknown>>
) =>
  Effect.suspend(() => {
    const { contexts, hookedTool, input, options: { live, part: { callID } }, services: { hooks } } = call
    call.reach(message)
    return afterCall(hooks, live, hookedTool, input, message, { callID, failed: true }).pipe(
      Effect.catchAll(({ endsTurn, message: output }) =>
        Effect.succeed({ output, ...(endsTurn === undefined ? {} : { endsTurn }) })
      ),
      Effect.flatMap(({ endsTurn = false, output }) =>
        Effect.as(
          call.fail(
            { tag, message: withContexts(output, contexts) },
            endsTurn ? { ...metadata, endsTurn } : metadata
          ),
          { endsTurn } satisfies Called
        )
      )
    )
  })

/** The tool failed. */
const settleError = (call: CallRecord, { kind, message, metadata }: ToolError) =>
  settleFailure(call, { tag: kind, message: kind === "task" ? message : call.said(message) }, metadata)

/** The tool broke. */
const settleDefect = (call: CallRecord, defect: unknown) =>
  settleFailure(call, {
    tag: "defect",
    message: executionFailed(defect instanceof Error ? defect.message : String(defect))
  })

/** The call was not permitted. It was not made, so hooks after it do not see it. */
const settleDenial = (call: CallRecord, error: PermissionDenied) => {
  const endsTurn = isTurnEnd(error)
  const metadata = { permission: error.permission, by: error.by, ...(endsTurn ? { endsTurn } : {}) }
  return Effect.as(call.fail({ tag: "permission", message: call.said(error.message) }, metadata, true), { endsTurn })
}

/** A hook refused the call, or withheld its result. */
const settleRefusal = (call: CallRecord, { endsTurn, event, hook, message }: HookRefused) =>
  Effect.as(
    call.fail(
      { tag: "hook", message: call.said(message) },
      { hook, ...(endsTurn === undefined ? {} : { endsTurn: true }) },
      event === "PreToolUse"
    ),
    { endsTurn: endsTurn === true }
  )

/** The call was stopped before it ended. */
const settleStop = (call: CallRecord) => {
  const { current: { state }, cutOff } = call
  // A notification reports what the call would have reported.
  if (cutOff === undefined) call.tellNothing()
  if (state.status === "completed" || state.status === "error") return Effect.void
  const message = cutOff?.message ?? call.said(call.known)
  return call.fail({ tag: "interrupted", message }, cutOff?.metadata).pipe(
    Effect.catchAll(logUnstored("The end of a call could not be stored"))
  )
}

type Ended = Exit.Exit<Made, ToolError | PermissionDenied | HookRefused | StorageError>

/** Stores how a call ended: what went wrong becomes its result. */
const settle = (call: CallRecord, exit: Ended) =>
  Effect.flatMap(exit, (made) => settleResult(call, made)).pipe(
    Effect.catchTags({
      ToolError: (error) => settleError(call, error),
      PermissionDenied: (error) => settleDenial(call, error),
      HookRefused: (error) => settleRefusal(call, error)
    }),
    Effect.catchAllDefect((defect) => settleDefect(call, defect))
  )

/** Ends a call that waited without a fiber. */
export const settleLeft = (call: CallRecord, exit: Ended) =>
  Effect.onInterrupt(Effect.interruptible(settle(call, exit)), () => settleStop(call))

/** Nobody reads it. */
const unread: Called = { endsTurn: false }

/**
 * Makes a call and ends it in any case. Only storage may fail. A thousand calls may wait to be made, so what follows is
 * put together only then.
 */
export const settleCall = <R>(
  call: CallRecord,
  made: Effect.Effect<Made, ToolError | PermissionDenied | HookRefused | StorageError, R>
) =>
  Effect.uninterruptibleMask((restore) =>
    Effect.flatMap(
      Effect.exit(restore(made)),
      (exit) =>
        call.hasLeft
          ? Effect.succeed(unread)
          : Effect.onInterrupt(restore(settle(call, exit)), () => settleStop(call))
    )
  )
