/** Asks a hidden agent one question, outside the conversation of a session. */
import type { AgentInfo } from "@skein/domain/AgentInfo"
import { Ids } from "@skein/domain/Id"
import { formatRef, type ModelRef, parseRef } from "@skein/domain/Model"
import { add, none, type Reserved } from "@skein/domain/Usage"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { Agent } from "../../Agent.ts"
import { Config } from "../../Config.ts"
import { Governor } from "../../Governor.ts"
import { Journal } from "../../Journal.ts"
import { countUsage } from "../../Metrics.ts"
import {
  type LanguageModel,
  ModelError,
  type ModelEvent,
  type ModelRequest,
  Provider,
  type RequestOrigin
} from "../../Provider.ts"
import { logUnstored } from "../../StorageError.ts"
import { rateOf } from "../budget/BudgetNode.ts"
import { exhausted, unpriced } from "../budget/requests.ts"
import { isBlank } from "../conversation/makePrompt.ts"
import { promptFor } from "../conversation/promptFor.ts"
import { tokensOfText } from "../conversation/requestSize.ts"
import { charge } from "../live/charge.ts"
import { type Live, sessionAttributes, usageAttributes } from "../live/Live.ts"
import { traced } from "../traced.ts"
import { TryUse } from "./AnswerRecord.ts"
import { candidates, concrete, modelsOf, yieldsToPerson } from "./candidates.ts"
import { modelCall, nothingSaid } from "./modelCall.ts"
import { makeRequestBudget } from "./requestBudget.ts"

/** How much of an answer is kept, in characters: answers of hidden agents are short. */
const longest = 16_000

/** The maximum tokens of an answer under a budget, including reasoning. */
const longestAnswer = { title: 1_024, summary: 4_096, compaction: 16_384 } as const

/** A question to the hidden agent whose name is its purpose. */
export interface HiddenQuestion {
  readonly purpose: Exclude<RequestOrigin["purpose"], "turn">
  readonly text: string
  /** Whether somebody waits for the answer: if not, it is asked once, after the requests that others wait for. */
  readonly urgent: boolean
}

/**
 * The models to try: those of the hidden agent, else the small model, else those of the session. Compacting a whole
 * conversation is not a small job.
 */
export const modelsFor = Effect.fnUntraced(function*(live: Live, agent: AgentInfo) {
  const models = yield* modelsOf(live, agent)
  if (models.length > 0) return yield* Effect.forEach(models, (ref) => concrete(live, ref))
  const { settings } = yield* Config
  const small = settings.small_model === undefined ? undefined : parseRef(settings.small_model)
  const isSmall = small !== undefined && agent.name !== "compaction" && !(yield* yieldsToPerson(live, "small_model"))
  if (isSmall) return [yield* concrete(live, small)]
  const agents = yield* Agent
  return yield* candidates(live, agents.all.find(({ name }) => name === live.info.agent) ?? agent)
})

const requestOf = (
  live: Live,
  { purpose, text }: HiddenQuestion,
  agent: AgentInfo,
  prompt: string | undefined
): ModelRequest => ({
  messages: [
    ...prompt === undefined || isBlank(prompt) ? [] : [{ role: "system" as const, content: prompt }],
    { role: "user", content: [{ type: "text", text }] }
  ],
  tools: [],
  toolChoice: "none",
  ...(agent.temperature === undefined ? {} : { temperature: agent.temperature }),
  ...(agent.topP === undefined ? {} : { topP: agent.topP }),
  ...(agent.variant === undefined ? {} : { variant: agent.variant }),
  origin: {
    sessionID: live.info.id,
    rootID: live.info.rootID,
    path: [purpose],
    step: 0,
    directory: live.info.directory,
    purpose
  }
})

/**
 * Books the tries of one question: that one is out is stored with the session before it is sent, and its use when it has ended.
 * They are no steps of the session, and do not change its date.
 */
const makeBooking = Effect.fnUntraced(function*(
  live: Live,
  { info }: LanguageModel,
  purpose: HiddenQuestion["purpose"],
  answer: () => string
) {
  const journal = yield* Journal
  const clock = yield* Effect.clock
  const id = (yield* Ids).unsafeMake("prt", clock.unsafeCurrentTimeMillis())
  const tries = new TryUse()
  const rate = rateOf(live.budget, formatRef(info))
  const others = () => (live.info.asking ?? []).filter((each) => each.id !== id)
  const booking = {
    used: none,
    begin: (reserved: Reserved) =>
      Effect.suspend(() => {
        tries.begin(reserved)
        live.request.own.add(id)
        return journal.commit([live.record.annotate({ asking: [...others(), { id, purpose, reserved }] })])
      }),
    hear: (event: ModelEvent) => tries.hear(event),
    end: (status?: number) =>
      Effect.suspend(() => {
        const left = others()
        if (left.length === (live.info.asking ?? []).length) return Effect.void
        live.request.own.delete(id)
        const over = live.record.annotate({ asking: left.length === 0 ? undefined : left })
        const use = tries.end(() => tokensOfText(answer(), rate), status)
        if (use === undefined) return journal.commit([over])
        const paid = { ...none, ...use }
        booking.used = add(booking.used, paid)
        countUsage(info, paid)
        return journal.commit(charge(live, paid, clock.unsafeCurrentTimeMillis(), true))
      })
  }
  return booking
})

/** Asks one model. */
const askOne = Effect.fnUntraced(function*(
  live: Live,
  { purpose, urgent }: HiddenQuestion,
  request: ModelRequest,
  ref: ModelRef
) {
  const provider = yield* Provider
  const governor = yield* Governor
  const { settings } = yield* Config
  const model = yield* provider.resolve(ref)
  const refusal = unpriced(live.budget, model.info) ?? exhausted(live.budget, () => "")
  if (refusal !== undefined) return yield* refusal
  let answer = ""
  const booking = yield* makeBooking(live, model, purpose, () => answer)
  const requestBudget = makeRequestBudget({
    live,
    journal: yield* Journal,
    model,
    said: () => "",
    inLoop: purpose === "compaction",
    steps: 0,
    most: longestAnswer[purpose]
  })
  const clock = yield* Effect.clock
  const asking = Effect.uninterruptibleMask((restore) =>
    Effect.gen(() =>
      modelCall({
        model,
        gate: governor.requests(model),
        clock,
        restore,
        take: () => requestBudget.take(request),
        origin: request.origin,
        settings,
        retry: urgent ? settings.retry : { ...settings.retry, attempts: 1 },
        urgent,
        begin: (asked) => Effect.suspend(() => booking.begin(requestBudget.reserved(asked))),
        emit: (event) => {
          booking.hear(event)
          if (event.type === "text-delta" && answer.length < longest) answer += event.delta
        },
        check: () => answer.trim() === "" ? nothingSaid(model.info, "stop") : undefined,
        failed: ({ error }) =>
          Effect.map(booking.end(error.status), () => {
            answer = ""
            requestBudget.settle()
          })
      })
    )
  )
  yield* traced(
    "Step",
    () => ({
      "gen_ai.operation.name": "chat",
      "gen_ai.provider.name": ref.providerID,
      "gen_ai.request.model": ref.modelID,
      ...sessionAttributes(live),
      "skein.purpose": purpose
    }),
    asking.pipe(
      Effect.onExit((exit) => {
        const error = Exit.isFailure(exit) ? Cause.squash(exit.cause) : undefined
        return Effect.catchAll(
          booking.end(error instanceof ModelError ? error.status : undefined),
          logUnstored("What a hidden agent used could not be stored")
        )
      }),
      Effect.ensuring(Effect.sync(() => requestBudget.settle()))
    ),
    (exit) =>
      Exit.isSuccess(exit)
        ? { outcome: "completed", failed: false, attributes: usageAttributes(booking.used) }
        : undefined
  )
  return answer.slice(0, longest).toWellFormed().trim()
})

/** Asks, and returns the text of the answer: well-formed, trimmed, and never empty. Interruption closes the request. */
export const askHidden = Effect.fnUntraced(function*(live: Live, question: HiddenQuestion) {
  const agents = yield* Agent
  const agent = yield* agents.get(question.purpose)
  const refs = yield* modelsFor(live, agent)
  const request = requestOf(live, question, agent, yield* promptFor(live, agent))
  return yield* Effect.firstSuccessOf(refs.map((ref) => askOne(live, question, request, ref)))
})
