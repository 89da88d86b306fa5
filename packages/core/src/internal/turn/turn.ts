/** The loop: inbox, subtasks, model, calls, and again, until nothing is left to answer. */
import type { AssistantMessage, UserMessage } from "@skein/domain/Message"
import { formatRef } from "@skein/domain/Model"
import { since, type Usage } from "@skein/domain/Usage"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { ModelError } from "../../Provider.ts"
import { failedToStore, isGone, logUnstored } from "../../StorageError.ts"
import type { BudgetExhausted, Turn, TurnEnd } from "../../Turn.ts"
import { cutOff as cutOffBy, exhausted, warning } from "../budget/requests.ts"
import { turnWorks } from "../budget/reservations.ts"
import { subjectOf } from "../calls/offer.ts"
import { keepFiles, toolCalls } from "../calls/toolCalls.ts"
import { closeTurn } from "../conversation/closeTurn.ts"
import { outputForm } from "../conversation/outputForm.ts"
import { answerAt, saidFrom } from "../conversation/saidNow.ts"
import { sayToModel } from "../conversation/sayToModel.ts"
import { makeStructuredOutput, type StructuredOutput } from "../conversation/structuredOutput.ts"
import type { LiveMessage } from "../live/History.ts"
import { type Live, sessionAttributes, tellStatus, usageAttributes } from "../live/Live.ts"
import { leaveAuto } from "../live/mode.ts"
import { checkPlace } from "../live/places.ts"
import { SessionTable } from "../live/SessionTable.ts"
import { type Step, type StepServices, stepServices } from "../model/Step.ts"
import * as prompts from "../prompts.ts"
import { type Ended, isTraced, traced } from "../traced.ts"
import { announced } from "./announcedCall.ts"
import { checkAnswer } from "./checkAnswer.ts"
import { modelStep } from "./modelStep.ts"
import { resumeTurn } from "./resumeTurn.ts"
import { hasSubtasks, runSubtasks } from "./runSubtasks.ts"
import { takeInbox } from "./takeInbox.ts"

/** How many consecutive answers may be cut off inside a call. */
const cutOffLimit = 3

/** How many consecutive answers may pause. */
const pauseLimit = 10

/** How often in a turn a model gets the hint that it wrote a call as text. After that, the text is its answer. */
const announcementLimit = 2

const lastUser = (messages: ReadonlyArray<LiveMessage>): UserMessage | undefined => {
  const found = messages.findLast((message) => message.info.role === "user")
  return found?.info.role === "user" ? found.info : undefined
}

const isAnswer = (message: LiveMessage): message is LiveMessage & { info: AssistantMessage } =>
  message.info.role === "assistant"

const ended = (live: Live, end: TurnEnd, before: Usage, structuredOutput?: StructuredOutput): Effect.Effect<Turn> => {
  const { messages = [] } = live
  const at = messages.findLastIndex(isAnswer)
  const message = messages[at]
  if (message === undefined || !isAnswer(message)) {
    return Effect.dieMessage(`${live.info.id} ended a turn without an answer`)
  }
  return Effect.succeed({
    sessionID: live.info.id,
    info: message.info,
    parts: [...message.parts],
    text: answerAt(messages, at),
    end,
    ...(structuredOutput?.answer === undefined ? {} : { output: structuredOutput.answer.value }),
    usage: since(before, live.info.usage.subtree)
  })
}

const cutOffAgain = (step: Step) =>
  new ModelError({
    reason: "bad_response",
    retryable: false,
    message: `${formatRef(step.model)} ran into its output limit in the middle of a call ${cutOffLimit} times in a row.`
  })

const pausedAgain = ({ model }: Step) =>
  new ModelError({
    reason: "bad_response",
    retryable: false,
    message: `${formatRef(model)} paused ${pauseLimit + 1} times in a row, and did not finish its answer.`
  })

const endOfStep = ({ finish, message, model }: Step): Ended => ({
  outcome: "completed",
  failed: false,
  attributes: {
    "gen_ai.provider.name": model.providerID,
    "gen_ai.request.model": model.modelID,
    "gen_ai.response.finish_reasons": [finish],
    ...(message.info.role === "assistant" ? usageAttributes(message.info.usage) : {}),
    "skein.message.id": message.info.id,
    "skein.retries": message.parts.filter((part) => part.type === "retry").length
  }
})

/** Closes an unfinished turn. If that cannot be stored, memory is no longer trusted and the session is read again. */
const breakOff = Effect.fnUntraced(
  function*(live: Live, exit: Exit.Exit<unknown, { readonly _tag: string }>) {
    const table = yield* SessionTable
    // If the database is gone, the answer exists only in memory.
    if (isGone(exit)) return
    if (failedToStore(exit)) live.history.forget()
    yield* table.history(live)
    yield* closeTurn(live)
  },
  (effect, live) =>
    Effect.catchAll(effect, (error) => {
      // The next prompt of the session closes it.
      live.history.forget()
      return logUnstored("A turn could not be closed")(error)
    })
)

/** The structured output of a turn whose prompt asks for none: that of its task's caller, or of its agent. */
function* outputOfTurn(live: Live, { agents, restore }: StepServices) {
  // An agent that must conclude answers in plain text.
  if (live.assignment.isConcluding) return undefined
  const form = live.assignment.form ?? (yield* restore(Effect.flatMap(agents.get(live.info.agent), outputForm)))
  return form === undefined ? undefined : makeStructuredOutput(form)
}

/** Decides what to tell the model after a step that ends nothing yet, and counts such steps in a row. */
class Persistence {
  #cutOff = 0
  #pauses = 0
  #announcements = 0

  /** What to tell the model; undefined if there is nothing to tell, and an error if it was told often enough. */
  next(live: Live, step: Step, from: number): string | ModelError | BudgetExhausted | undefined {
    const { calls, cutBy, finish } = step
    this.#cutOff = finish === "length" && calls.length > 0 ? this.#cutOff + 1 : 0
    if (this.#cutOff === cutOffLimit) {
      return cutBy === undefined
        ? cutOffAgain(step)
        : cutOffBy(live.budget, cutBy, saidFrom(live.messages ?? [], from))
    }
    // The rest of the budget may be enough to finish; if not, the next request fails.
    if (cutBy !== undefined && calls.length === 0) return prompts.carryOn
    this.#pauses = finish === "pause" && calls.length === 0 ? this.#pauses + 1 : 0
    if (this.#pauses > pauseLimit) return pausedAgain(step)
    if (this.#pauses > 0) return prompts.goOn
    const tool = this.#announcements < announcementLimit ? announced(step) : undefined
    if (tool === undefined) return undefined
    this.#announcements++
    return prompts.announced(tool)
  }
}

/** The steps of a turn: what the inbox and the budgets say, an answer of the model, and its calls, until nothing is left. */
function* turnOf(live: Live, services: StepServices) {
  const { clock, journal, restore } = services
  const table = yield* SessionTable
  const spanned = yield* isTraced
  const known = live.messages !== undefined
  // An interrupted turn is resumed first, whatever started the loop. A task that must conclude does not resume it.
  const { hasOpenTurn } = live
  const resumes = hasOpenTurn && !live.assignment.isConcluding
  const messages = yield* restore(table.history(live))
  yield* restore(leaveAuto(live))
  if (!resumes && (hasOpenTurn || !known)) yield* closeTurn(live)
  const before = live.info.usage.subtree
  live.tasks.beginTurn()
  // People may have changed files since the last turn.
  if (!resumes && live.parent === undefined) yield* restore(keepFiles(live))
  const resumed = resumes
    ? yield* restore(Effect.zipRight(checkPlace(live), resumeTurn(live, yield* outputOfTurn(live, services))))
    : undefined
  if (resumed?.end !== undefined && !live.inbox.hasMore) return yield* ended(live, resumed.end, before)
  const from = resumed?.from ?? messages.length
  const persistence = new Persistence()
  let asked: StructuredOutput | undefined
  let answering: string | undefined
  let structuredOutput: StructuredOutput | undefined
  for (let count = resumed?.steps ?? 0;; count++) {
    if (live.pause.isOn) yield* restore(Effect.zipRight(journal.paid(live.info), live.pause.between(live.info.id)))
    // Before the turn is stored: what has an open turn and does nothing was interrupted.
    tellStatus(journal, live, { type: "busy", step: count }, clock.unsafeCurrentTimeMillis())
    // Only then: a prompt that stays in the inbox would begin the next turn.
    const taken = yield* takeInbox(live, resumed === undefined && count === 0)
    yield* restore(checkPlace(live))
    asked = taken.structuredOutput ?? asked
    if (answering !== live.info.agent) structuredOutput = asked ?? (yield* outputOfTurn(live, services))
    answering = live.info.agent
    const first = lastUser(messages)
    if (first === undefined) return yield* Effect.dieMessage(`${live.info.id} has nothing to answer`)
    const subject = yield* subjectOf(live)
    if (hasSubtasks(taken.messages) && (yield* restore(runSubtasks(live, taken.messages, subject)))) {
      return yield* ended(live, "denied", before)
    }
    const exhaustion = exhausted(live.budget, () => saidFrom(live.messages ?? [], from))
    if (exhaustion !== undefined) return yield* exhaustion
    const user = () => lastUser(messages) ?? first
    const news = warning(live.budget)
    if (news !== undefined) yield* sayToModel(live, user(), news)
    const making = () => modelStep(live, services, user(), subject, count, structuredOutput)
    const step = spanned
      ? yield* traced(
        "Step",
        () => ({ "gen_ai.operation.name": "chat", ...sessionAttributes(live), "skein.step": count }),
        Effect.gen(making),
        (exit) => Exit.isSuccess(exit) ? endOfStep(exit.value) : undefined
      )
      : yield* making()
    const isDenied = step.calls.length > 0
      && (yield* restore(
        Effect.flatMap(subjectOf(live), (present) => toolCalls(live, step, present, structuredOutput))
      ))
    if (isDenied) return yield* ended(live, "denied", before)
    if (structuredOutput !== undefined) {
      if (yield* restore(checkAnswer(live, first, step, structuredOutput))) {
        return yield* ended(live, "completed", before, structuredOutput)
      }
      continue
    }
    if (step.last) return yield* ended(live, "steps", before)
    const next = persistence.next(live, step, from)
    if (typeof next === "string") yield* sayToModel(live, user(), next)
    else if (next !== undefined) return yield* next
    else if (step.calls.length === 0 && !live.inbox.hasMore) return yield* ended(live, "completed", before)
  }
}

/**
 * One turn: from the inbox to an answer with nothing left to answer. The time at work of the session, and of those above it,
 * runs meanwhile.
 */
export const runTurn = (live: Live) =>
  Effect.uninterruptibleMask((restore) => {
    turnWorks(live.budget, true)
    return Effect.matchCauseEffect(
      Effect.flatMap(stepServices(restore), (services) =>
        Effect.flatMap(
          Effect.exit(Effect.gen(() => turnOf(live, services))),
          // Without its results, a turn has not ended as it did.
          (exit) => Effect.zipRight(services.journal.paid(live.info), exit)
        )),
      {
        onFailure: (cause) =>
          Effect.flatMap(breakOff(live, Exit.failCause(cause)), () => {
            turnWorks(live.budget, false)
            return Effect.failCause(cause)
          }),
        onSuccess: (turn) => {
          turnWorks(live.budget, false)
          return Effect.succeed(turn)
        }
      }
    )
  })
