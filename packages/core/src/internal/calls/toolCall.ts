/** One tool call from the model's words to its result: validation, permission, intent, effect. */
import type { RunID } from "@skein/domain/Id"
import type { ErrorInfo } from "@skein/domain/Message"
import type { ToolPart, ToolState } from "@skein/domain/Part"
import { none } from "@skein/domain/Usage"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import { failpoint } from "../../Failpoints.ts"
import type { Call } from "../../Governor.ts"
import { Hooks } from "../../Hooks.ts"
import { Journal } from "../../Journal.ts"
import type { Entry } from "../../JournalEntry.ts"
import { Leases } from "../../Leases.ts"
import { Permission, type Subject } from "../../Permission.ts"
import type { PermissionDenied } from "../../PermissionError.ts"
import { cut } from "../../Spill.ts"
import type { StorageError } from "../../StorageError.ts"
import {
  type AnyTool,
  type PermissionAsk,
  type ToolContext,
  type ToolError,
  type ToolResult,
  Tools
} from "../../Tool.ts"
import { missingResult } from "../conversation/makePrompt.ts"
import type { Wanted } from "../conversation/structuredOutput.ts"
import { charge } from "../live/charge.ts"
import type { Live } from "../live/Live.ts"
import { logUnstored } from "../logUnstored.ts"
import { readsOnly } from "../permission/verdict.ts"
import { afterCall, beforeCall, insisting, withContexts, withInput } from "../sessionHooks/callHooks.ts"
import { changesFiles } from "../summary/sessionFacts.ts"
import { notRun } from "../turn/closeTurn.ts"
import type { Step } from "../turn/modelStep.ts"
import { wellFormed } from "../wellFormed.ts"
import { askedOf, checkCall, refused } from "./checkCall.ts"
import { type CurrentCall, currentCall, makePlace } from "./currentCall.ts"
import { isDoomLoop } from "./doomLoop.ts"
import { callerOf } from "./offer.ts"
import { lostResult, recovered } from "./recoverCall.ts"
import { begunAs, toolOf } from "./startCalls.ts"
import { disposeOf, takeNews } from "./toldRuns.ts"

/** What became of a call, as far as the turn is concerned. */
interface Called {
  /** Whether the call ends the turn: a person rejected it, or it completes a loop. */
  readonly endsTurn: boolean
}

/** Whether arguments are still such as the tool takes: they come from the database, where another version may have put them. */
const isReadable = (tool: AnyTool, input: unknown): boolean =>
  Either.isRight(Schema.validateEither(tool.parameters)(input))

/** What is said of a call that cannot be made again, since its arguments cannot be read. */
const unreadable = Effect.fail(refused("interrupted", lostResult))

/** Asks whether an agent that repeats itself may go on. */
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

/** How a failure is told that no task has an outcome for. */
const executionFailed = (message: string): string =>
  message.trim() === "" ? "Tool execution failed" : `Tool execution failed: ${message}`

const isTurnEnd = (error: PermissionDenied): boolean =>
  error.endsTurn || (error.permission === "doom_loop" && error.by !== "rejected")

/** Runs one call to its end. It never fails but by storage: what goes wrong becomes the call's result. */
export const toolCall = Effect.fnUntraced(function*(options: {
  readonly live: Live
  readonly step: Step
  readonly part: ToolPart
  readonly subject: Subject
  readonly call: Call
  /** The places of the calls that are at work at once; undefined where there are enough. */
  readonly places: Effect.Semaphore | undefined
  /** Whether the runtime makes the call for the user: a part of the user's prompt asked for it. */
  readonly byUser: boolean
  /** Whether a crash cut off the turn: a call that is stored as running was begun by a process that is no more. */
  readonly resumes?: boolean
  /** The answer that this turn is to give, and the tool that takes it. */
  readonly wanted: Wanted | undefined
}) {
  const { byUser, call, live, part, places, resumes = false, step, subject, wanted } = options
  const tools = yield* Tools
  const permission = yield* Permission
  const journal = yield* Journal
  const hooks = yield* Hooks
  const leases = yield* Leases
  const clock = yield* Clock.clockWith(Effect.succeed)
  const now = () => clock.unsafeCurrentTimeMillis()
  const known = toolOf(tools, part.tool, wanted)
  let current = part
  let cutOff: ToolError | undefined
  /** What is known of a call that has ended, and is not yet told. */
  let reached: string | undefined
  /** What hooks before the call have the model read below its result. */
  let contexts: ReadonlyArray<string> = []
  /** Runs of whose outcome the result tells. */
  const told = new Set<RunID>()

  const become = (next: ToolPart, also: ReadonlyArray<Entry> = []) =>
    Effect.suspend(() => {
      current = next
      live.clock.alive()
      live.history.putPart(step.message, current)
      return journal.commit([{ _tag: "Part", part: current }, ...also], live.info)
    }).pipe(Effect.uninterruptible)

  const close = (state: ToolState, blocked = false) =>
    Effect.suspend(() => {
      const news = takeNews(live, told, now())
      const charged = blocked ? charge(live, { ...none, blockedToolCalls: 1 }, now()) : []
      return become({ ...current, state: wellFormed(state) }, [...news.writes, ...charged]).pipe(
        Effect.tapError(() => news.putBack),
        Effect.zipRight(disposeOf(live, told))
      )
    }).pipe(Effect.uninterruptible)

  const started = () => (current.state.status === "running" ? current.state.time.start : now())

  const fail = (input: unknown, error: ErrorInfo, metadata?: Readonly<Record<string, unknown>>, blocked = false) =>
    close(
      {
        status: "error",
        input,
        error,
        ...(metadata === undefined ? {} : { metadata }),
        time: { start: started(), end: now() }
      },
      blocked
    )

  // The model did not make this call, so a failure without an outcome of the task says that it is one.
  const said = (message: string) => byUser ? executionFailed(message) : message

  // A call that began with its answer was checked then.
  let input = part.state.status === "running" ? Either.right(part.state.input) : checkCall(part, step, known)
  let given = Either.getOrElse(input, () => askedOf(part))
  const isAnswer = wanted !== undefined && known === wanted.tool
  const caller = known ?? { name: part.tool, permission: part.tool }
  // The answer of a turn is no call that anything happens with.
  const hooked = isAnswer ? undefined : known

  const whileAsking = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    Effect.acquireUseRelease(
      Effect.sync(() => live.clock.beginAsking()),
      () => effect,
      () => Effect.sync(() => live.clock.endAsking())
    )

  const ask = (each: PermissionAsk, changed?: (input: unknown) => void) =>
    Effect.flatMap(permission.decide(subject, caller, each), (action) => {
      if (action === "allow") return Effect.void
      const asking = { partID: part.id, resumes, about: { input: given, callID: part.callID } }
      const authorise = permission.authorise(
        subject,
        caller,
        each,
        changed === undefined ? asking : { ...asking, changed }
      )
      return action === "ask" ? call.waiting(whileAsking(authorise)) : authorise
    })

  const context: ToolContext = {
    ...callerOf(live, step.model, byUser),
    messageID: part.messageID,
    partID: part.id,
    callID: part.callID,
    readsOnly: readsOnly(subject),
    tells: (runs) =>
      Effect.sync(() => {
        for (const run of runs) told.add(run)
      }),
    ifCutOff: (end) =>
      Effect.sync(() => {
        cutOff = end
      }),
    report: (update) =>
      Effect.sync(() => {
        if (current.state.status !== "running") return
        current = { ...current, state: { ...current.state, ...wellFormed(update) } }
        live.history.putPart(step.message, current)
        journal.report(live.info, current, now())
      })
  }

  /** What is known of the call where it was cut off. */
  const ended = () => {
    if (current.state.status === "pending" || live.history.isUnbegun(part.id)) return notRun
    return known?.effect === "safe" ? "The call was interrupted before it ended." : missingResult
  }

  const readAgain = (made: ToolPart) => {
    input = checkCall(made, step, known)
    given = Either.getOrElse(input, () => askedOf(made))
  }

  /** A hook has consented to the call with other arguments: what rules deny stays denied. */
  const allowedAs = (tool: AnyTool, changed: { readonly input: unknown }) =>
    Effect.gen(function*() {
      readAgain(withInput(part, changed.input))
      if (Either.isLeft(input)) return yield* input.left
      for (const each of yield* tool.authorise(given, context)) yield* ask({ ...each, consented: true })
    })

  const begin = Effect.gen(function*() {
    const before = yield* beforeCall(hooks, live, part, hooked)
    contexts = before?.contexts ?? []
    if (before !== undefined && before.part !== part) readAgain(before.part)
    // Calls that cannot be parsed may loop as well. The session loop counts cut-off calls and answers by itself.
    if (step.finish !== "length" && !isAnswer && isDoomLoop(live, live.messages ?? [], part, given)) {
      yield* ask(doomLoopAsk(caller.name, given))
    }
    if (before?.refusal !== undefined) return yield* before.refusal
    if (Either.isLeft(input)) return yield* input.left
    if (known === undefined) return yield* refused("unknown_tool", part.tool)
    const asks = yield* known.authorise(given, context)
    let changed: { readonly input: unknown } | undefined
    for (const each of insisting(asks, known, given, before)) {
      yield* ask(each, (by) => {
        changed = { input: by }
      })
    }
    if (changed !== undefined) yield* allowedAs(known, changed)
    live.history.markUnbegun(part.id)
    yield* failpoint("intent_before_commit")
    yield* become(begunAs(current, known, given, now(), leases.epoch(live.info.rootID)))
    yield* failpoint("intent_after_commit")
    return known
  })

  /** A call that another process had begun: what became of it, or the call anew where that does no harm. */
  const goOn = (tool: AnyTool, present: ToolContext) =>
    Effect.flatMap(isReadable(tool, given) ? recovered(tool, given, present) : unreadable, (found) => {
      if (found !== "again") return Effect.succeed(found)
      const { intent } = current
      const next = intent === undefined
        ? current
        : { ...current, intent: { ...intent, attempt: intent.attempt + 1, epoch: leases.epoch(live.info.rootID) } }
      return Effect.zipRight(become(next), tool.execute(given, present))
    })

  const run = Effect.gen(function*() {
    const wasBegun = part.state.status === "running"
    if (wasBegun && known === undefined) return yield* refused("interrupted", lostResult)
    const tool = wasBegun && known !== undefined ? known : yield* begin
    const place = makePlace(places)
    const mine: CurrentCall = {
      caller: context,
      whileAsking,
      waiting: (effect) => call.waiting(tool.waits ? effect : place.waiting(effect))
    }
    // Nothing of it happens before it is its turn, and a fiber of its own that was cut off is no stop of the turn.
    const executing = Effect.zipRight(
      // What cannot be undone begins only while the tree is held for certain.
      leases.renew(live.info.rootID),
      Effect.flatMap(
        subject.now ?? Effect.succeed(subject),
        (holds): Effect.Effect<ToolResult, ToolError | StorageError> => {
          live.history.markBegun(part.id)
          // A ceiling may have come down while the call waited for a person, or for its turn.
          const present = { ...context, readsOnly: readsOnly(holds) }
          return wasBegun && resumes ? goOn(tool, present) : tool.execute(given, present)
        }
      )
    )
    const effect = Effect.catchAllCause(
      Effect.locally(executing, currentCall, mine),
      (cause) =>
        Cause.isInterruptedOnly(cause) ? Effect.fail(refused("interrupted", missingResult)) : Effect.failCause(cause)
    )
    const result: ToolResult = yield* tool.waits ? call.waiting(effect) : place.work(effect)
    reached = "The call was made. It was stopped while a hook looked at its result, which is not known."
    const read = yield* afterCall(hooks, live, hooked, given, result.output, part)
    const output = yield* cut(live.info.id, `${part.id}.txt`, withContexts(read.output, contexts))
    yield* failpoint(tool.name === "task" ? "child_done_before_parent_result" : "exit_before_result_commit")
    yield* close({
      status: "completed",
      input: given,
      output,
      title: result.title,
      metadata: read.endsTurn === undefined ? result.metadata : { ...result.metadata, endsTurn: true },
      ...(result.attachments === undefined ? {} : { attachments: result.attachments }),
      time: { start: started(), end: now() }
    })
    if (changesFiles(tool)) live.root.summary.countChange()
    return { endsTurn: read.endsTurn === true } satisfies Called
  })

  /** Stores a failure as the hooks after the call have worded it. */
  const failWith = ({ message, tag }: ErrorInfo, metadata?: Readonly<Record<string, unknown>>) =>
    Effect.suspend(() => {
      reached = message
      return afterCall(hooks, live, hooked, given, message, { callID: part.callID, failed: true }).pipe(
        Effect.catchAll(({ endsTurn, message: output }) =>
          Effect.succeed({ output, ...(endsTurn === undefined ? {} : { endsTurn }) })
        ),
        Effect.flatMap(({ endsTurn = false, output }) =>
          Effect.as(
            fail(
              given,
              { tag, message: withContexts(output, contexts) },
              endsTurn ? { ...metadata, endsTurn } : metadata
            ),
            { endsTurn } satisfies Called
          )
        )
      )
    })

  return yield* run.pipe(
    Effect.catchTags({
      ToolError: (error) =>
        failWith(
          { tag: error.kind, message: error.kind === "task" ? error.message : said(error.message) },
          error.metadata
        ),
      // The call was not made, so no hook after it hears of it.
      PermissionDenied: (error) =>
        Effect.as(
          fail(
            given,
            { tag: "permission", message: said(error.message) },
            {
              permission: error.permission,
              by: error.by,
              ...(isTurnEnd(error) ? { endsTurn: true } : {})
            },
            true
          ),
          { endsTurn: isTurnEnd(error) }
        ),
      HookRefused: (error) =>
        Effect.as(
          fail(
            given,
            { tag: "hook", message: said(error.message) },
            { hook: error.hook, ...(error.endsTurn === undefined ? {} : { endsTurn: true }) },
            error.event === "PreToolUse"
          ),
          { endsTurn: error.endsTurn === true }
        )
    }),
    Effect.catchAllDefect((defect) =>
      failWith({
        tag: "defect",
        message: executionFailed(defect instanceof Error ? defect.message : String(defect))
      })
    ),
    Effect.onInterrupt(() => {
      // What the call would have told is told in another way.
      if (cutOff === undefined) told.clear()
      return current.state.status === "completed" || current.state.status === "error"
        ? Effect.void
        : fail(
          given,
          {
            tag: "interrupted",
            message: cutOff?.message ?? said(reached ?? ended())
          },
          cutOff?.metadata
        ).pipe(Effect.catchAll(logUnstored("The end of a call could not be stored")))
    })
  )
})
