/** One answer of one model, stored as it comes: as parts of a message, and as an error where it breaks off. */
import { Ids } from "@skein/domain/Id"
import type { AssistantMessage, ErrorInfo, FinishReason, UserMessage } from "@skein/domain/Message"
import { formatRef, type ModelRef } from "@skein/domain/Model"
import type { Part, ToolPart } from "@skein/domain/Part"
import { costOf, none, noTokens, type Usage } from "@skein/domain/Usage"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Runtime from "effect/Runtime"
import { Bus } from "../../Bus.ts"
import { Config } from "../../Config.ts"
import { Journal } from "../../Journal.ts"
import { type LanguageModel, ModelError, type ModelRequest } from "../../Provider.ts"
import type { Write } from "../../SessionStorage.ts"
import { StorageError } from "../../StorageError.ts"
import { charge, type Live, type LiveMessage, putMessage, putPart } from "./live.ts"
import { type Attempt, modelCall } from "./modelCall.ts"
import { StepBuffer, type Written } from "./stepBuffer.ts"

/** How often parts that grow are stored, in milliseconds. */
const flushEvery = 200

/** What a model answered. */
export interface Answer {
  readonly message: LiveMessage
  readonly calls: ReadonlyArray<ToolPart>
  readonly finish: FinishReason
}

const nothingSaid = (model: ModelRef, finish: FinishReason) =>
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

const usageOf = (model: LanguageModel, buffer: StepBuffer): Usage => ({
  ...none,
  tokens: buffer.tokens ?? noTokens,
  cost: buffer.tokens === undefined ? "unknown" : costOf(buffer.tokens, model.info.price),
  steps: 1,
  toolCalls: buffer.calls.length
})

const errorOf = (exit: Exit.Exit<unknown, { readonly _tag: string; readonly message: string }>): ErrorInfo => {
  if (Exit.isSuccess(exit)) return { tag: "none", message: "" }
  if (Cause.isInterruptedOnly(exit.cause)) {
    return { tag: "interrupted", message: "Stopped before the answer was complete." }
  }
  const failure = Cause.squash(exit.cause)
  if (failure instanceof ModelError) return { tag: failure.reason, message: failure.message }
  if (failure instanceof StorageError) return { tag: failure._tag, message: failure.message }
  return { tag: "defect", message: failure instanceof Error ? failure.message : String(failure) }
}

/** Asks one model and stores what it says: the message at once, growing text now and then, and everything at the end. */
export const askModel = Effect.fnUntraced(function*(
  live: Live,
  user: UserMessage,
  model: LanguageModel,
  request: ModelRequest,
  limit: ErrorInfo | undefined
) {
  const ids = yield* Ids
  const journal = yield* Journal
  const bus = yield* Bus
  const { settings } = yield* Config
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
  const message = putMessage(live, begun)
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

  const store = (parts: ReadonlyArray<Part>, extra: ReadonlyArray<Write> = [], info?: AssistantMessage) =>
    Effect.suspend(() => {
      const now = clock.unsafeCurrentTimeMillis()
      for (const part of parts) putPart(message, part)
      if (info !== undefined) putMessage(live, info)
      const writes: Array<Write> = [
        ...(info === undefined ? [] : [{ _tag: "Message", info } as const]),
        ...parts.map((part): Write => ({ _tag: "Part", part })),
        ...extra
      ]
      const events = parts.map((part) => journal.event(source, "message.part.updated", { part }, now))
      if (info !== undefined) events.push(journal.event(source, "message.updated", { info }, now))
      return writes.length === 0 ? Effect.void : journal.commit(writes, events)
    }).pipe(Effect.uninterruptible)

  // Most steps have no text that takes long: the fiber that stores it in between is started by the first piece of it.
  let flushing: Fiber.RuntimeFiber<never> | undefined
  const flush = Effect.forever(
    unstored.await.pipe(
      Effect.zipRight(unstored.close),
      Effect.zipRight(Effect.sleep(flushEvery)),
      Effect.zipRight(Effect.catchAll(
        Effect.suspend(() => store(buffer.takeChanged())),
        // The end of the step stores the same again, and fails where that is not possible.
        (error) => Effect.logDebug("Growing text could not be stored", error.message)
      ))
    )
  )
  const stopFlushing = Effect.suspend(() => flushing === undefined ? Effect.void : Fiber.interrupt(flushing))

  const failed = (attempt: Attempt) =>
    Effect.suspend(() => {
      const now = clock.unsafeCurrentTimeMillis()
      const { delay, error } = attempt
      buffer.restart()
      live.status = { type: "retry", attempt: attempt.attempt, message: error.message, next: now + delay }
      journal.tell(journal.event(source, "session.status", { status: live.status }, now))
      const part: Part = {
        ...base(now),
        type: "retry",
        attempt: attempt.attempt,
        error: { tag: error.reason, message: error.message },
        next: now + delay
      }
      return store([part])
    })

  const end = (parts: ReadonlyArray<Written>, rest: Partial<AssistantMessage>, extra: ReadonlyArray<Part>) =>
    Effect.suspend(() => {
      const now = clock.unsafeCurrentTimeMillis()
      const removed = buffer.leftovers()
      for (const id of removed) {
        const at = message.parts.findIndex((part) => part.id === id)
        if (at >= 0) message.parts.splice(at, 1)
      }
      const used = rest.usage
      return store(
        [...parts, ...extra],
        [
          ...removed.map((id): Write => ({ _tag: "RemovePart", id, sessionID: live.info.id })),
          ...(used === undefined ? [] : charge(live, used, now))
        ],
        { ...begun, ...rest, time: { ...begun.time, completed: now } }
      )
    })

  const asking = modelCall({
    model,
    request,
    deadlines: settings.deadlines,
    retry: settings.retry,
    emit: (event) => {
      live.connected.unsafeOpen()
      buffer.emit(event)
    },
    check: Effect.suspend(() =>
      buffer.parts.some((part) => part.type === "tool" || (part.type === "text" && part.text !== ""))
        ? Effect.void
        : Effect.fail(nothingSaid(model.info, buffer.finish ?? "other"))
    ),
    failed,
    resumed: Effect.sync(() => {
      live.status = working
      journal.tell(journal.event(source, "session.status", { status: working }, clock.unsafeCurrentTimeMillis()))
    })
  })

  return yield* Effect.gen(function*() {
    yield* store([{ ...base(started), type: "step-start" }], [], begun)
    yield* Effect.ensuring(asking, stopFlushing)
    buffer.close()
    const usage = usageOf(model, buffer)
    const finish = buffer.finish ?? "other"
    const closing: Part = { ...base(clock.unsafeCurrentTimeMillis()), type: "step-finish", usage, finish }
    yield* end(buffer.parts, { finish, usage, ...(limit === undefined ? {} : { error: limit }) }, [closing])
    return { message, calls: buffer.calls, finish } satisfies Answer
  }).pipe(
    Effect.onExit((exit) => {
      if (Exit.isSuccess(exit)) return Effect.void
      buffer.close()
      const error = errorOf(exit)
      const said = buffer.parts.filter((part) => part.type !== "tool")
      const finish = buffer.finish === undefined ? {} : { finish: buffer.finish }
      // Calls of an answer that broke off are not kept: they were never started.
      return end(said, { ...finish, error }, []).pipe(
        Effect.catchAll((lost) => Effect.logError("The end of a failed step could not be stored", lost.message))
      )
    })
  )
})
