/** The loop: inbox, subtasks, model, calls, and again, until nothing is left to answer. */
import type { AssistantMessage, UserMessage } from "@skein/domain/Message"
import { formatRef } from "@skein/domain/Model"
import { since, type Usage } from "@skein/domain/Usage"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { Agent } from "../../Agent.ts"
import { ModelError } from "../../Provider.ts"
import { failedToStore, isGone, logUnstored } from "../../StorageError.ts"
import type { Turn, TurnEnd } from "../../Turn.ts"
import { cutOff as cutOffBy, exhausted, warning } from "../budget/requests.ts"
import { turnWorks } from "../budget/reservations.ts"
import { keepFiles } from "../calls/keepStep.ts"
import { subjectOf } from "../calls/offer.ts"
import { toolCalls } from "../calls/toolCalls.ts"
import { closeTurn } from "../conversation/closeTurn.ts"
import { outputForm } from "../conversation/outputForm.ts"
import { answerAt, saidFrom } from "../conversation/saidNow.ts"
import { sayToModel } from "../conversation/sayToModel.ts"
import { makeStructuredOutput, type StructuredOutput } from "../conversation/structuredOutput.ts"
import type { LiveMessage } from "../live/History.ts"
import { type Live, sessionAttributes, setStatus, usageAttributes } from "../live/Live.ts"
import { leaveAuto } from "../live/mode.ts"
import { checkPlace } from "../live/places.ts"
import { SessionTable } from "../live/SessionTable.ts"
import type { Step } from "../model/Step.ts"
import * as prompts from "../prompts.ts"
import { type Ended, traced } from "../traced.ts"
import { announced } from "./announcedCall.ts"
import { checkAnswer } from "./checkAnswer.ts"
import { modelStep } from "./modelStep.ts"
import { resumeTurn } from "./resumeTurn.ts"
import { runSubtasks } from "./runSubtasks.ts"
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

const turnOf = (live: Live, end: TurnEnd, before: Usage, structuredOutput?: StructuredOutput): Effect.Effect<Turn> => {
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
const outputOfTurn = Effect.fnUntraced(function*(live: Live) {
  // An agent that must conclude answers in plain text.
  if (live.assignment.isConcluding) return undefined
  const form = live.assignment.form ??
    (yield* outputForm(yield* Effect.flatMap(Agent, (agents) => agents.get(live.info.agent))))
  return form === undefined ? undefined : makeStructuredOutput(form)
})

/** Ends the turn if a budget is exhausted, and warns the model about one that nearly is. */
const applyBudgets = Effect.fnUntraced(function*(live: Live, user: UserMessage, from: number) {
  const end = exhausted(live.budget, () => saidFrom(live.messages ?? [], from))
  if (end !== undefined) return yield* end
  const news = warning(live.budget)
  if (news !== undefined) yield* sayToModel(live, user, news)
})

/** Counts the working time of a turn, for the session and for those above it. */
const counted = <A, E, R>(turn: Effect.Effect<A, E, R>, live: Live): Effect.Effect<A, E, R> =>
  Effect.acquireUseRelease(
    Effect.sync(() => turnWorks(live.budget, true)),
    () => turn,
    () => Effect.sync(() => turnWorks(live.budget, false))
  )

/** One turn: from the inbox to an answer with nothing left to answer. */
export const runTurn = Effect.fnUntraced(
  function*(live: Live) {
    const table = yield* SessionTable
    const known = live.messages !== undefined
    // An interrupted turn is resumed first, whatever started the loop. A task that must conclude does not resume it.
    const { hasOpenTurn } = live
    const resumes = hasOpenTurn && !live.assignment.isConcluding
    const messages = yield* table.history(live)
    yield* leaveAuto(live)
    if (!resumes && (hasOpenTurn || !known)) yield* closeTurn(live)
    const before = live.info.usage.subtree
    live.tasks.beginTurn()
    // People may have changed files since the last turn.
    if (!resumes && live.parent === undefined) yield* keepFiles(live)
    const resumed = resumes
      ? yield* Effect.zipRight(checkPlace(live), resumeTurn(live, yield* outputOfTurn(live)))
      : undefined
    if (resumed?.end !== undefined && !live.inbox.hasMore) return yield* turnOf(live, resumed.end, before)
    const from = resumed?.from ?? messages.length
    let cutOff = 0
    let announcements = 0
    let pauses = 0
    let asked: StructuredOutput | undefined
    let answering: string | undefined
    let structuredOutput: StructuredOutput | undefined
    for (let count = resumed?.steps ?? 0;; count++) {
      yield* live.pause.between(live.info.id)
      // Only then: a prompt that stays in the inbox would begin the next turn.
      const taken = yield* Effect.zipLeft(takeInbox(live, resumed === undefined && count === 0), checkPlace(live))
      asked = taken.structuredOutput ?? asked
      if (answering !== live.info.agent) structuredOutput = asked ?? (yield* outputOfTurn(live))
      answering = live.info.agent
      const user = lastUser(messages)
      if (user === undefined) return yield* Effect.dieMessage(`${live.info.id} has nothing to answer`)
      yield* setStatus(live, { type: "busy", step: count })
      const subject = yield* subjectOf(live)
      if (yield* runSubtasks(live, taken.messages, subject)) return yield* turnOf(live, "denied", before)
      yield* applyBudgets(live, lastUser(messages) ?? user, from)
      const step = yield* traced(
        "Step",
        () => ({ "gen_ai.operation.name": "chat", ...sessionAttributes(live), "skein.step": count }),
        modelStep(live, lastUser(messages) ?? user, subject, count, structuredOutput),
        (exit) => Exit.isSuccess(exit) ? endOfStep(exit.value) : undefined
      )
      const ended = step.calls.length > 0 && (yield* toolCalls(live, step, yield* subjectOf(live), structuredOutput))
      if (ended) return yield* turnOf(live, "denied", before)
      if (structuredOutput !== undefined) {
        if (yield* checkAnswer(live, user, step, structuredOutput)) {
          return yield* turnOf(live, "completed", before, structuredOutput)
        }
        continue
      }
      if (step.last) return yield* turnOf(live, "steps", before)
      cutOff = step.finish === "length" && step.calls.length > 0 ? cutOff + 1 : 0
      if (cutOff === cutOffLimit) {
        return yield* step.cutBy === undefined
          ? cutOffAgain(step)
          : cutOffBy(live.budget, step.cutBy, saidFrom(live.messages ?? [], from))
      }
      // The rest of the budget may be enough to finish; if not, the next request fails.
      if (step.cutBy !== undefined && step.calls.length === 0) {
        yield* sayToModel(live, lastUser(messages) ?? user, prompts.carryOn)
        continue
      }
      pauses = step.finish === "pause" && step.calls.length === 0 ? pauses + 1 : 0
      if (pauses > pauseLimit) return yield* pausedAgain(step)
      if (pauses > 0) {
        yield* sayToModel(live, lastUser(messages) ?? user, prompts.goOn)
        continue
      }
      const tool = announcements < announcementLimit ? announced(step) : undefined
      if (tool !== undefined) {
        announcements++
        yield* sayToModel(live, lastUser(messages) ?? user, prompts.announced(tool))
        continue
      }
      if (step.calls.length === 0 && !live.inbox.hasMore) return yield* turnOf(live, "completed", before)
    }
  },
  (turn, live) => Effect.onExit(turn, (exit) => Exit.isSuccess(exit) ? Effect.void : breakOff(live, exit)),
  counted
)
