/** One answer of one model, stored as it comes: as parts of a message, and as an error where it breaks off. */
import { Ids } from "@skein/domain/Id"
import type { AssistantMessage, ErrorInfo, FinishReason, UserMessage } from "@skein/domain/Message"
import { formatRef, type ModelRef } from "@skein/domain/Model"
import type { Part, ToolPart } from "@skein/domain/Part"
import type { SessionStatus } from "@skein/domain/SessionInfo"
import { add, costOf, none, noTokens, type Tokens, type Usage } from "@skein/domain/Usage"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Runtime from "effect/Runtime"
import { Bus } from "../../Bus.ts"
import { Config } from "../../Config.ts"
import { Failpoints } from "../../Failpoints.ts"
import { Governor } from "../../Governor.ts"
import { Journal } from "../../Journal.ts"
import type { Entry } from "../../JournalEntry.ts"
import { countUsage } from "../../Metrics.ts"
import { isContent, type LanguageModel, ModelError, type ModelRequest } from "../../Provider.ts"
import { BudgetExhausted } from "../../SessionError.ts"
import { StorageError } from "../../StorageError.ts"
import { charge } from "../live/charge.ts"
import type { LiveMessage } from "../live/History.ts"
import type { Live } from "../live/Live.ts"
import { logUnstored } from "../logUnstored.ts"
import { type Attempt, modelCall } from "./modelCall.ts"
import { pointsOf } from "./modelPoints.ts"
import type { Purse } from "./purse.ts"
import { StepBuffer } from "./stepBuffer.ts"

/** How often parts that grow are stored, in milliseconds. */
const flushEvery = 200

/** What a model answered. */
export interface Answer {
  readonly message: LiveMessage
  readonly calls: ReadonlyArray<ToolPart>
  readonly finish: FinishReason
  /** The budget that cut it off; undefined where none did. */
  readonly cutBy: ReturnType<Purse["settle"]>
}

/** A model ended its answer without having said anything. */
export const nothingSaid = (model: ModelRef, finish: FinishReason) =>
  finish === "content-filter"
    ? new ModelError({
      reason: "invalid_request",
      retryable: false,
      finish,
      message: `${formatRef(model)} refused to answer: its content filter ended the answer.`
    })
    : new ModelError({
      reason: "empty_response",
      retryable: true,
      finish,
      message: `${formatRef(model)} ended without text or tool calls (finish reason: ${finish}).`
    })

/** Whether a model had nothing to say. At the last step of a limit that is its end, and no failure. */
const isSilence = (error: { readonly _tag: string }): error is ModelError =>
  error instanceof ModelError && error.reason === "empty_response" && error.finish !== "content-filter"

/** Whether an answer was cut off before it said anything: what the model thought took all that it might say. */
export const isCutEmpty = (error: unknown): error is ModelError =>
  error instanceof ModelError && error.reason === "empty_response" && error.finish === "length"

const usageOf = ({ info }: LanguageModel, tokens: Tokens | undefined, toolCalls: number): Usage => ({
  ...none,
  tokens: tokens ?? noTokens,
  cost: tokens === undefined ? "unknown" : costOf(tokens, info.price),
  steps: 1,
  toolCalls
})

const errorOf = (exit: Exit.Exit<unknown, { readonly _tag: string; readonly message: string }>): ErrorInfo => {
  if (Exit.isSuccess(exit)) return { tag: "none", message: "" }
  if (Cause.isInterruptedOnly(exit.cause)) {
    return { tag: "interrupted", message: "Stopped before the answer was complete." }
  }
  const failure = Cause.squash(exit.cause)
  if (failure instanceof ModelError) return { tag: failure.reason, message: failure.message }
  if (failure instanceof StorageError || failure instanceof BudgetExhausted) {
    return { tag: failure._tag, message: failure.message }
  }
  return { tag: "defect", message: failure instanceof Error ? failure.message : String(failure) }
}

/** What a model is asked, and what is done with its calls. */
interface Question<E, R> {
  readonly user: UserMessage
  readonly model: LanguageModel
  readonly request: ModelRequest
  readonly purse: Purse
  /** The limit that this answer is the last within. */
  readonly limit: ErrorInfo | undefined
  /** Begins those calls of the answer that can begin with it; gives all of them. */
  readonly start: (
    calls: ReadonlyArray<ToolPart>,
    finish: FinishReason
  ) => Effect.Effect<ReadonlyArray<ToolPart>, E, R>
}

/** What is stored of an answer at once. */
interface Change {
  readonly parts: ReadonlyArray<Part>
  readonly extra?: ReadonlyArray<Entry>
  /** The message, where this is its end. */
  readonly info?: AssistantMessage
}

/**
 * Asks one model and stores what it says: text that grows now and then, and everything at the end. Until there is something
 * to store, or to tell, the message is in memory alone: most steps are one commit.
 */
export const askModel = Effect.fnUntraced(function*<E extends { readonly _tag: string; readonly message: string }, R>(
  live: Live,
  { limit, model, purse, request, start, user }: Question<E, R>
) {
  const ids = yield* Ids
  const journal = yield* Journal
  const bus = yield* Bus
  const governor = yield* Governor
  const { settings } = yield* Config
  const points = yield* Failpoints
  const comeBy = pointsOf(points)
  const clock = yield* Effect.clock
  const source = live.info
  const working = live.status
  const started = clock.unsafeCurrentTimeMillis()
  const runtime = yield* Effect.runtime<never>()
  const unstored = Effect.unsafeMakeLatch()

  const begun: AssistantMessage = {
    id: ids.unsafeMake("msg", started),
    sessionID: live.info.id,
    role: "assistant",
    parentID: user.id,
    agent: live.info.agent,
    providerID: model.info.providerID,
    modelID: model.info.modelID,
    path: { cwd: live.info.directory, root: live.info.directory },
    usage: none,
    time: { created: started }
  }
  const message = live.history.putMessage(begun)
  const buffer = new StepBuffer({
    source,
    messageID: begun.id,
    ids,
    clock,
    journal,
    heard: () => bus.heard({ sessionID: live.info.id, rootID: live.info.rootID }),
    grown: () => {
      flushing ??= Runtime.runFork(runtime)(flush, { scope: live.scope })
      unstored.unsafeOpen()
    }
  })
  const base = (now: number) => ({ id: ids.unsafeMake("prt", now), sessionID: live.info.id, messageID: begun.id })
  const opening: Part = { ...base(started), type: "step-start" }
  live.history.putPart(message, opening)
  let isOpen = false
  /** Whether the end of the answer is stored: a stop after that takes nothing of it back. */
  let isComplete = false
  /** What was used so far, also for answers that came to nothing. */
  let used = none
  let isCounted = false

  const count = (usage: Usage, now: number): ReadonlyArray<Entry> => {
    used = add(used, usage)
    countUsage(model.info, usage)
    return charge(live, usage, now)
  }
  /** An answer that comes to nothing counts where the model said what it took; of its calls none is made. */
  const countLost = (now: number): ReadonlyArray<Entry> =>
    isCounted || buffer.tokens === undefined ? [] : count(usageOf(model, buffer.tokens, 0), now)

  // One commit after the other: what is told of a part is told in the order in which it was said.
  let isStoring = false
  const isStored = Effect.unsafeMakeLatch(true)

  const store = (what: (now: number) => Change): Effect.Effect<void, StorageError> =>
    Effect.suspend(() => {
      if (isStoring) return Effect.zipRight(isStored.await, store(what))
      const now = clock.unsafeCurrentTimeMillis()
      const { extra = [], info, parts } = what(now)
      for (const part of parts) live.history.putPart(message, part)
      if (info !== undefined) live.history.putMessage(info)
      const messageEntry = (each: AssistantMessage): Entry => ({ _tag: "Message", info: each })
      const all = isOpen ? parts : [opening, ...parts]
      const writes: ReadonlyArray<Entry> = [
        ...(isOpen ? [] : [messageEntry(begun)]),
        ...all.map((part): Entry => ({ _tag: "Part", part })),
        ...(info === undefined ? [] : [messageEntry(info)]),
        ...extra
      ]
      if (writes.length === 0) return Effect.void
      isStoring = true
      isStored.unsafeClose()
      buffer.hold()
      return journal.commit(writes, live.info).pipe(
        Effect.map(() => {
          isOpen = true
          isComplete = info !== undefined
          buffer.toldOf(parts)
        }),
        Effect.ensuring(Effect.sync(() => {
          isStoring = false
          isStored.unsafeOpen()
          if (isOpen) buffer.release()
        }))
      )
    }).pipe(Effect.uninterruptible)

  // What is told of a message must be stored before.
  const open = Effect.suspend(() => buffer.waits ? store(() => ({ parts: [] })) : Effect.void)

  // The end of the step stores the same again, and fails where that is not possible.
  const forgiven = Effect.catchAll((error: StorageError) =>
    Effect.logDebug("Growing text could not be stored", error.message)
  )

  const storeChanged = Effect.zipRight(open, store(() => ({ parts: buffer.takeChanged() })))

  // Most steps have no text that takes long: the fiber that stores it in between is started by the first piece of it.
  let flushing: Fiber.RuntimeFiber<never> | undefined
  const flush = Effect.forever(
    unstored.await.pipe(
      Effect.zipRight(unstored.close),
      Effect.zipRight(forgiven(open)),
      Effect.zipRight(Effect.sleep(flushEvery)),
      Effect.zipRight(forgiven(storeChanged))
    )
  )
  const stopFlushing = Effect.suspend(() => flushing === undefined ? Effect.void : Fiber.interrupt(flushing))

  const tellStatus = (status: SessionStatus, now: number) => {
    live.report(status)
    journal.tell(source, "session.status", { status }, now)
  }

  const failed = ({ attempt, delay, error }: Attempt) =>
    store((now) => {
      const next = now + delay
      const extra = countLost(now)
      const emptied = buffer.restart()
      tellStatus({ type: "retry", attempt, message: error.message, next }, now)
      const part: Part = {
        ...base(now),
        type: "retry",
        attempt,
        error: { tag: error.reason, message: error.message },
        next
      }
      return { parts: isOpen ? [...emptied, part] : [part], extra }
    }).pipe(Effect.zipRight(Effect.sync(() => {
      purse.settle(isCutEmpty(error))
    })))

  const end = (of: (now: number) => Change & { readonly rest: Partial<AssistantMessage> }) =>
    store((now) => {
      const removed = buffer.leftovers()
      for (const id of removed) live.history.removePart(message, id)
      const { extra = [], parts, rest } = of(now)
      return {
        parts,
        extra: [...removed.map((id): Entry => ({ _tag: "RemovePart", id, sessionID: live.info.id })), ...extra],
        info: { ...begun, ...rest, usage: used, time: { ...begun.time, completed: now } }
      }
    })

  const asking = modelCall({
    model,
    gate: governor.requests(model),
    take: purse.take(request),
    origin: request.origin,
    deadlines: settings.deadlines,
    bounds: settings.limits.answer,
    retry: settings.retry,
    urgent: true,
    emit: (event) => {
      live.connected.unsafeOpen()
      if (isContent(event)) live.clock.alive()
      buffer.emit(event)
      comeBy(event)
    },
    check: Effect.suspend(() =>
      buffer.parts.some((part) => part.type === "tool" || (part.type === "text" && part.text !== ""))
        ? Effect.void
        : Effect.fail(nothingSaid(model.info, buffer.finish ?? "other"))
    ),
    failed,
    queued: (position) => Effect.sync(() => tellStatus({ type: "queued", position }, clock.unsafeCurrentTimeMillis())),
    resumed: Effect.sync(() => tellStatus(working, clock.unsafeCurrentTimeMillis()))
  })

  return yield* Effect.gen(function*() {
    points.hit("before_provider")
    yield* Effect.ensuring(
      limit === undefined ? asking : Effect.catchIf(asking, isSilence, () => Effect.void),
      stopFlushing
    )
    yield* open
    buffer.close()
    const finish = buffer.finish ?? "other"
    const calls = yield* start(buffer.calls, finish)
    const begunCalls = calls.filter(({ state }) => state.status !== "pending")
    if (begunCalls.length > 0) points.hit("intent_before_commit")
    yield* end((now) => {
      const extra = count(usageOf(model, buffer.tokens, buffer.calls.length), now)
      isCounted = true
      const closing: Part = { ...base(now), type: "step-finish", usage: used, finish }
      const rest = { finish, ...(limit === undefined ? {} : { error: limit }) }
      return { parts: [...buffer.parts, closing, ...begunCalls], extra, rest }
    })
    if (begunCalls.length > 0) points.hit("intent_after_commit")
    return { message, calls, finish, cutBy: purse.settle(finish === "length") } satisfies Answer
  }).pipe(
    Effect.onExit((exit) => {
      if (Exit.isSuccess(exit) || isComplete) return Effect.void
      buffer.close()
      const finish = buffer.finish === undefined ? {} : { finish: buffer.finish }
      // Calls of an answer that broke off are not kept: they were never started.
      return end((now) => ({
        parts: buffer.parts.filter((part) => part.type !== "tool"),
        extra: countLost(now),
        rest: { ...finish, error: errorOf(exit) }
      })).pipe(
        Effect.catchAll(logUnstored("The end of a failed step could not be stored"))
      )
    })
  )
})
