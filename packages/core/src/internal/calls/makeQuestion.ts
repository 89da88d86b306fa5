/** The service of questions: the open ones, published on the bus when they open and close. */
import type { QuestionReply, QuestionRequest } from "@skein/domain/Event"
import type { PartID, SessionID } from "@skein/domain/Id"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { none as noFiber } from "effect/FiberId"
import * as FiberRef from "effect/FiberRef"
import * as Option from "effect/Option"
import { Answerer, nobody, notWaiting, Unanswered } from "../../Answerer.ts"
import { Journal } from "../../Journal.ts"
import { whileAsked } from "../../Metrics.ts"
import { SessionStorage } from "../../SessionStorage.ts"
import { logUnstored } from "../../StorageError.ts"
import type { ToolContext } from "../../Tool.ts"
import type { EventSource } from "../../Write.ts"
import { askedIn, askEvents } from "../permission/askedBefore.ts"
import { currentCall } from "./CallRecord.ts"

/** How long a question may wait. */
const timeLimit = Duration.hours(24)

interface Pending {
  readonly request: QuestionRequest
  readonly source: EventSource
  readonly ended: Deferred.Deferred<ReadonlyArray<string>, Unanswered>
  /** Whether it is stored: until then it is not listed. */
  isStored: boolean
  /** Whether its end is being stored. */
  isEnding: boolean
}

const unanswered = {
  dismissed: new Unanswered({ reason: "dismissed", message: "The user does not want to answer this." }),
  expired: new Unanswered({ reason: "expired", message: "Nobody answered within 24 hours." })
}

type Asked = Pick<QuestionRequest, "question" | "options" | "multiple">

const wordsOf = ({ multiple, options, question }: Asked) => JSON.stringify([question, options, multiple])

/** The answers that a process which has ended got to the same question of this call; undefined if it is to be asked. */
const answeredBefore = Effect.fnUntraced(function*({ partID, rootID }: ToolContext, asked: Asked) {
  if ((yield* FiberRef.get(currentCall))?.options.call.isResumed !== true) return undefined
  const events = (yield* askEvents(rootID)).flatMap((event) =>
    (event.type === "question.asked" || event.type === "question.replied") && event.properties.id === partID
      ? [event]
      : []
  )
  const at = events.findIndex(({ properties, type }) =>
    type === "question.asked" && wordsOf(properties) === wordsOf(asked)
  )
  if (at < 0) return undefined
  const replies = events.slice(at).flatMap(({ properties, type }) => type === "question.replied" ? [properties] : [])
  const end = replies.find(({ reply }) => reply !== "withdrawn")
  return end?.reply === "dismissed" ? yield* unanswered.dismissed : end?.answers
})

/** Waits for the answers while a question is open. */
const answersOf = <E>({ ended }: Pending, withdraw: Effect.Effect<unknown, E>) =>
  Deferred.await(ended).pipe(
    Effect.timeoutOption(timeLimit),
    Effect.flatMap(Option.match({
      onSome: Effect.succeed,
      onNone: () => Effect.zipRight(withdraw, unanswered.expired)
    }))
  )

const opened = (
  { depth, partID, path, rootID, sessionID }: ToolContext,
  asked: Asked & Pick<QuestionRequest, "since">
): Pending => ({
  request: { ...asked, id: partID, sessionID, rootID, path },
  source: { id: sessionID, rootID, depth },
  ended: Deferred.unsafeMake(noFiber),
  isStored: false,
  isEnding: false
})

/** Makes the service. */
export const makeQuestion = Effect.gen(function*() {
  const journal = yield* Journal
  const answerer = yield* Answerer
  const storage = yield* SessionStorage
  const canAsk = (rootID: SessionID) => answerer.of(rootID) === "person"
  const pending = new Map<PartID, Pending>()

  const publishReply = ({ request, source }: Pending, reply: QuestionReply, answers: ReadonlyArray<string>) =>
    journal.commit([journal.fact(source, "question.replied", { id: request.id, reply, answers })])

  /** Ends an open question. */
  const withdraw = (each: Pending) =>
    Effect.suspend(() => {
      if (each.isEnding || !pending.delete(each.request.id)) return Effect.void
      return publishReply(each, "withdrawn", [])
    })

  const wait = (each: Pending, restore: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>) =>
    restore(answersOf(each, withdraw(each))).pipe(
      // Readers that show the question must learn that it is closed.
      Effect.onInterrupt(() =>
        Effect.catchAll(
          withdraw(each),
          logUnstored("The end of a question could not be stored")
        )
      )
    )

  const ask = Effect.fn("Question.ask")(function*(
    call: ToolContext,
    asked: Asked
  ) {
    const { mode, partID, rootID, sessionID } = call
    // They count, even if Skein cannot ask anyone any more.
    const answers = yield* Effect.provideService(answeredBefore(call, asked), SessionStorage, storage)
    if (answers !== undefined) return answers
    if (mode === "auto" || !canAsk(rootID)) return yield* nobody
    const each = opened(call, { ...asked, ...(yield* askedIn(storage, sessionID, rootID)) })
    const current = yield* FiberRef.get(currentCall)
    // Readers that see a question also see its end, whenever the call is interrupted.
    const waiting = Effect.uninterruptibleMask((restore) =>
      Effect.gen(function*() {
        pending.set(partID, each)
        yield* journal.commit([journal.fact(each.source, "question.asked", each.request)])
        each.isStored = true
        return yield* wait(each, restore)
      })
    ).pipe(Effect.ensuring(Effect.sync(() => pending.delete(partID))))
    const counted = whileAsked("question", waiting)
    return yield* current === undefined ? counted : current.options.call.waiting("people", counted)
  })

  const end = Effect.fnUntraced(function*(
    id: PartID,
    reply: QuestionReply,
    answers: ReadonlyArray<string>
  ) {
    const found = pending.get(id)
    if (found === undefined || found.isEnding) return yield* notWaiting(id)
    found.isEnding = true
    // If its end cannot be stored, the question stays open and can be answered again.
    yield* Effect.onError(publishReply(found, reply, answers), () => Effect.sync(() => void (found.isEnding = false)))
    pending.delete(id)
    if (reply === "answered") yield* Deferred.succeed(found.ended, answers)
    else yield* Deferred.fail(found.ended, unanswered.dismissed)
  }, Effect.uninterruptible)

  return {
    canAsk,
    ask,
    reply: (id: PartID, answers: readonly [string, ...ReadonlyArray<string>]) => end(id, "answered", answers),
    dismiss: (id: PartID) => end(id, "dismissed", []),
    pending: (rootID?: SessionID) =>
      Effect.sync(() =>
        [...pending.values()].flatMap(({ isEnding, isStored, request }) =>
          isStored && !isEnding && (rootID === undefined || request.rootID === rootID) ? [request] : []
        )
      )
  }
})
