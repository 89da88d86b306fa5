/** One tool call from the model's request to its result: authorise, execute, settle. */
import type { ErrorInfo } from "@skein/domain/Message"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Schema from "effect/Schema"
import type { PermissionDenied } from "../../Answerer.ts"
import { failpoint } from "../../Failpoints.ts"
import type { Restore } from "../../Fibers.ts"
import type { HookRefused, Hooks } from "../../Hooks.ts"
import type { Journal } from "../../Journal.ts"
import type { Leases } from "../../Leases.ts"
import type { SessionStorage } from "../../SessionStorage.ts"
import { cut, type Spill } from "../../Spill.ts"
import { logUnstored, type StorageError } from "../../StorageError.ts"
import {
  type AnyTool,
  authorised,
  changesFiles,
  Parked,
  type PermissionAsk,
  type ToolContext,
  type ToolError,
  type ToolResult
} from "../../Tool.ts"
import { missingResult } from "../conversation/makePrompt.ts"
import { Rest } from "../governor/SessionCalls.ts"
import type { SessionTable } from "../live/SessionTable.ts"
import { openAsks } from "../permission/askedBefore.ts"
import { deniesSome, editingOf, readsOnly } from "../permission/verdict.ts"
import { afterCall, type Before, beforeCall, deniedFirst, insisting, withContexts, withInput } from "../sessionHooks.ts"
import { begunAs, type Called, type CallRecord, currentCall, executionFailed } from "./CallRecord.ts"
import { refused } from "./checkCall.ts"
import { isDoomLoop } from "./doomLoop.ts"

/** What a call that was made has come to. */
interface Made {
  readonly tool: AnyTool
  readonly result: ToolResult | Parked
}

/** A call that was made, and has a result. */
interface Done extends Made {
  readonly result: ToolResult
}

/** What a call comes to. */
type Begun = Effect.Effect<ToolResult | Parked, ToolError | PermissionDenied | StorageError, Hooks | SessionStorage>

/** Asks whether an agent that repeats itself may continue. */
const doomLoopAsk = (tool: string, input: unknown): PermissionAsk => ({
  permission: "doom_loop",
  patterns: [tool],
  always: [],
  metadata: {
    tool,
    input,
    reason: "The agent repeats itself: the same call, or the same cycle of calls, for the third time in a row."
  }
})

/** Decides one ask; waits for a person if the rules say so, while the clocks of the session pause. */
const ask = (call: CallRecord, each: PermissionAsk, changed?: (input: unknown) => void) => {
  const { options: { call: state, part, subject }, services: { permission } } = call
  return Effect.flatMap(permission.decide(subject, call.caller, each, (rules) => call.decide(rules)), (action) => {
    if (action === "allow") return Effect.void
    const asking = { partID: part.id, resumes: state.isResumed, about: { input: call.input, callID: part.callID } }
    const authorise = permission.authorise(
      subject,
      call.caller,
      each,
      changed === undefined ? asking : { ...asking, changed }
    )
    return action === "ask" ? state.waiting("people", authorise) : authorise
  })
}

/** Applies what the hooks before the call changed and said. */
const prepare = (call: CallRecord, before: Before | undefined): void => {
  if (before === undefined) return
  call.hear(before.contexts)
  if (before.part !== call.options.part) call.readAgain(before.part)
}

/** Calls that cannot be parsed may loop as well. The session loop itself counts calls and answers that were cut off. */
const repeatsItself = (call: CallRecord): boolean => {
  const { live, part, step } = call.options
  return step.finish !== "length" && !call.isAnswer && isDoomLoop(live, live.messages ?? [], part, call.input)
}

/** A hook consented to the call with other arguments: what rules deny stays denied. */
const authoriseChanged = (call: CallRecord, tool: AnyTool, changed: { readonly input: unknown }) =>
  Effect.gen(function*() {
    call.readAgain(withInput(call.options.part, changed.input))
    if (call.invalid !== undefined) return yield* call.invalid
    const { asks, plan } = authorised(yield* tool.authorise(call.input, call.context))
    call.options.call.plan = plan
    for (const each of asks) yield* ask(call, { ...each, consented: true })
  })

/**
 * Ends the questions that a process which has ended asked about a call, and that were not asked again: of permission once that is
 * decided, and all of them at the end of the call. Until then they are listed.
 */
const endAsks = (call: CallRecord, isOver: boolean) => {
  const { options: { call: { isResumed }, live: { info }, part }, services: { journal } } = call
  if (!isResumed) return Effect.void
  return Effect.flatMap(openAsks(info.rootID), (asks) => {
    const writes = asks.flatMap(({ ask: asked }) => {
      if ((asked.type === "permission" ? asked.partID : asked.id) !== part.id) return []
      if (asked.type === "permission") {
        const end = { id: asked.id, reply: "reject", message: "Nobody needs to answer it.", withdrawn: true } as const
        return [journal.fact(info, "permission.replied", end)]
      }
      return isOver ? [journal.fact(info, "question.replied", { id: asked.id, reply: "withdrawn", answers: [] })] : []
    })
    return writes.length === 0 ? Effect.void : journal.commit(writes)
  })
}

/** Returns the tool when the call is permitted and its intent is stored; fails with the reason otherwise. */
const authoriseCall = (call: CallRecord) =>
  Effect.gen(function*() {
    const { caller, options: { live, part, subject }, services: { hooks, leases, permission }, tool } = call
    const before = yield* beforeCall(hooks, live, part, call.hookedTool)
    prepare(call, before)
    if (repeatsItself(call)) yield* ask(call, doomLoopAsk(call.caller.name, call.input))
    if (before?.refusal !== undefined) return yield* before.refusal
    if (call.invalid !== undefined) return yield* call.invalid
    if (tool === undefined) return yield* refused("unknown_tool", part.tool)
    const found = authorised(yield* tool.authorise(call.input, call.context))
    call.options.call.plan = found.plan
    const asks = insisting(found.asks, tool, call.input, before)
    let changed: { readonly input: unknown } | undefined
    for (const each of yield* deniedFirst(asks, (one) => permission.decide(subject, caller, one))) {
      yield* ask(call, each, (input) => {
        changed = { input }
      })
    }
    if (changed !== undefined) yield* authoriseChanged(call, tool, changed)
    yield* endAsks(call, false)
    call.options.call.change("permit")
    yield* failpoint("intent_before_commit")
    yield* call.become(begunAs(call.current, tool, call.input, call.now(), leases.epoch(live.info.rootID)))
    yield* failpoint("intent_after_commit")
    return tool
  })

/** The call started, and its effect is unknown. */
const lost = refused(
  "interrupted",
  "The call was interrupted, outcome unknown: the process that ran it ended, or was frozen and lost the session, before the result was stored. Check what it did before you repeat it."
)

/** The same, while Skein cannot tell whether it has ended. */
const lostOutOfReach = refused(
  "interrupted",
  "The call was interrupted, outcome unknown: the process that ran it is out of reach, on another machine or in another container, and its command may still run there. Check what it did, and whether it still does something, before you repeat it."
)

/**
 * Whether the tool accepts these arguments: they come from the database, where another version may have stored them.
 */
const isReadable = (tool: AnyTool, input: unknown): boolean =>
  Either.isRight(Schema.validateEither(tool.parameters)(input))

/** The result of such a call, if it can be found, or that it may be made, perhaps again. */
const recovered = (
  tool: AnyTool,
  input: unknown,
  context: ToolContext,
  unknown: ToolError,
  isUnbegun: boolean
): Effect.Effect<ToolResult | Parked | "again", ToolError> => {
  if (!isReadable(tool, input)) return Effect.fail(unknown)
  if (isUnbegun) return Effect.succeed("again")
  if (tool.recover !== undefined) return tool.recover(input, context)
  return tool.effect === "safe" ? Effect.succeed("again") : Effect.fail(unknown)
}

/** Finds the outcome of the call, or makes it if it has not begun, or if repeating it does no harm. */
const recoverCall = (
  call: CallRecord,
  tool: AnyTool,
  present: ToolContext
): Begun => {
  const { current, options: { live: { info } }, services: { leases } } = call
  const isUnbegun = current.intent?.begun === false
  const unknown = leases.hasOrphanProcesses(info.rootID) ? lostOutOfReach : lost
  return Effect.flatMap(recovered(tool, call.input, present, unknown, isUnbegun), (found): Begun => {
    if (found !== "again") return Effect.succeed(found)
    if (current.intent === undefined) return Effect.zipRight(call.become(current), again(call, tool, present))
    const { attempt, begun: _, ...intent } = current.intent
    const next = { ...intent, attempt: isUnbegun ? attempt : attempt + 1, epoch: leases.epoch(info.rootID) }
    return Effect.zipRight(call.become({ ...current, intent: next }), again(call, tool, present))
  })
}

/**
 * Makes a call again that was permitted in another process. What its tool found out then is not known, so it is authorised
 * again: the answer that a person gave to the same question counts.
 */
const again = (call: CallRecord, tool: AnyTool, present: ToolContext): Begun =>
  Effect.gen(function*() {
    const { asks, plan } = authorised(yield* tool.authorise(call.input, present))
    for (const each of asks) yield* ask(call, each)
    yield* endAsks(call, false)
    return yield* tool.execute(call.input, present, plan)
  })

/** If only a fiber inside the call was interrupted, that is a failure of the call and does not stop the turn. */
const asFailure = <E>(cause: Cause.Cause<E>): Cause.Cause<E | ToolError> =>
  Cause.isInterruptedOnly(cause) ? Cause.fail(refused("interrupted", missingResult)) : cause

/** The effect of a permitted call, with the current rules: once it has a place, while its process holds the tree. */
const begin = (call: CallRecord, tool: AnyTool): Begun => {
  const { context, options: { call: state, live, subject }, services: { leases, permission } } = call
  const renewed = Effect.zipRight(
    // What waits for others needs no place. An effect cannot be undone, so it begins only while the lease of the tree is certain.
    Effect.zipRight(state.enter(tool.waits ? "startWaiting" : "start"), leases.renew(live.info.rootID)),
    subject.now ?? Effect.succeed(subject)
  )
  return Effect.flatMap(renewed, (holds): Begun => {
    // A process that leaves its tree tells the next one which calls have not begun.
    const { barrier } = live.pause
    if (barrier !== undefined) {
      state.change("hold")
      return Effect.zipRight(
        barrier,
        Effect.suspend(() => {
          state.change("release")
          return begin(call, tool)
        })
      )
    }
    state.change("begin")
    // A ceiling may have been lowered while the call waited for a person, or for its place.
    const present = {
      ...context,
      readsOnly: readsOnly(holds),
      mode: holds.mode,
      editing: editingOf(permission.atHome(holds)),
      deniesSome: deniesSome(holds),
      readAction: permission.readAction(holds)
    }
    return call.wasBegun && state.isResumed
      ? recoverCall(call, tool, present)
      : tool.execute(call.input, present, state.plan)
  })
}

/** Runs the tool. */
const executeCall = (call: CallRecord, tool: AnyTool) => {
  const { options: { call: state } } = call
  return Effect.matchCauseEffect(Effect.locally(begin(call, tool), currentCall, call), {
    onFailure: (cause) => Effect.zipRight(state.enter("end"), Effect.failCause(asFailure(cause))),
    onSuccess: (result): Effect.Effect<Made> =>
      result instanceof Parked ? Effect.succeed({ tool, result }) : Effect.as(state.enter("end"), { tool, result })
  })
}

const isTurnEnd = (error: PermissionDenied): boolean =>
  error.endsTurn || (error.permission === "doom_loop" && error.by !== "rejected")

/** Stores the result of a call that was made. */
const settleResult = (call: CallRecord, { result, tool }: Done) =>
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
  return call.fail({ tag: "interrupted", message }, cutOff?.metadata, false, true).pipe(
    Effect.catchAll(logUnstored("The end of a call could not be stored"))
  )
}

type Ended = Exit.Exit<Done, ToolError | PermissionDenied | HookRefused | StorageError>

/** Stores how a call ended: what went wrong becomes its result. */
const settle = (call: CallRecord, exit: Ended) =>
  Effect.zipRight(endAsks(call, true), Effect.flatMap(exit, (made) => settleResult(call, made))).pipe(
    Effect.catchTags({
      ToolError: (error) => settleError(call, error),
      PermissionDenied: (error) => settleDenial(call, error),
      HookRefused: (error) => settleRefusal(call, error)
    }),
    Effect.catchAllDefect((defect) => settleDefect(call, defect))
  )

/** Stores how the call ended, and holds its slot for that; what stops it is its end as well. */
const end = (call: CallRecord, exit: Ended) =>
  Effect.onInterrupt(
    Effect.interruptible(Effect.zipRight(call.options.call.enter("end"), settle(call, exit))),
    () => settleStop(call)
  )

type Services = Hooks | Journal | Leases | SessionStorage | SessionTable | Spill

/** What a call comes to, or what is left of it while it is parked. */
type Ending = Effect.Effect<Called | Rest<Called, StorageError, Services>, StorageError, Services>

/** Begins what a call waits for. From there on nothing can come between it and the wait. */
const park = (
  call: CallRecord,
  { begin: beginning }: Parked,
  tool: AnyTool,
  restore: Restore
): Ending =>
  Effect.matchCauseEffect(Effect.zipRight(restore(Effect.void), beginning), {
    onFailure: (cause): Ending => end(call, Exit.failCause(asFailure(cause))),
    onSuccess: ({ onReady, result }): Ending => {
      call.options.call.change("park")
      const rest = Effect.flatMap(
        Effect.exit(Effect.interruptible(result)),
        (exit) =>
          end(
            call,
            Exit.mapBoth(Exit.mapErrorCause(exit, asFailure), {
              onFailure: (error) => error,
              onSuccess: (found) => ({ tool, result: found })
            })
          )
      )
      return call.options.mayRest ? Effect.succeed(new Rest(onReady, rest)) : rest
    }
  })

/** Authorises and makes the call; returns the result with the tool. */
const made = (call: CallRecord) =>
  Effect.suspend(() => {
    const perform = (tool: AnyTool) => executeCall(call, tool)
    if (!call.wasBegun) return Effect.flatMap(authoriseCall(call), perform)
    return call.tool === undefined ? Effect.fail(lost) : perform(call.tool)
  })

/**
 * Makes a call and ends it in any case, for a region that cannot be interrupted. Fails only if storage does: everything else
 * that goes wrong becomes its result. A thousand calls may wait to be made, so what follows is put together only then.
 */
export const toolCall = (call: CallRecord, restore: Restore): Ending =>
  Effect.flatMap(Effect.exit(restore(made(call))), (exit): Ending => {
    if (Exit.isSuccess(exit) && exit.value.result instanceof Parked) {
      return park(call, exit.value.result, exit.value.tool, restore)
    }
    return Effect.onInterrupt(restore(settle(call, exit as Ended)), () => settleStop(call))
  })
